// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CLibPQ

/// Where a database is and who enters it: what a URL or a list of keywords says.
///
/// What it leaves open comes from where PostgreSQL's own programs take it: the `PG…` environment variables and the
/// password file. Its description never holds the password.
package struct PostgreSQLAddress: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// What libpq takes for the beginning of a URL.
    private static let schemes = ["postgresql://", "postgres://"]

    let text: String
    private let keywords: [String: String]

    /// Reads an address.
    ///
    /// - Parameter text: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, or keywords as in `host=/run/pg dbname=fleet`.
    /// - Throws: ``PostgreSQLError`` with ``PostgreSQLError/Code/invalidAddress``; it repeats nothing of the address.
    package init(_ text: String) throws(PostgreSQLError) {
        // What is empty, libpq would complete to some database of the environment's.
        guard !text.allSatisfy(\.isWhitespace) else { throw Self.malformed }
        var problem: UnsafeMutablePointer<CChar>?
        defer { PQfreemem(problem) }
        // libpq's words may repeat the address with its password.
        guard let options = PQconninfoParse(text, &problem) else { throw Self.malformed }
        defer { PQconninfoFree(options) }
        let keywords = Self.values(of: options)
        let ports = (keywords["port"] ?? "").split(separator: ",")
        guard !Self.endsPasswordEarly(text), ports.allSatisfy(Self.isPort) else { throw Self.malformed }
        self.text = text
        self.keywords = keywords
    }

    /// Whether a text is meant as an address of a database rather than as a file's path; not each is a good one.
    package static func isAddress(_ text: String) -> Bool {
        // One that is badly written may hold a password as well, which nobody is to be shown as a file's name.
        let text = text.drop(while: \.isWhitespace).lowercased()
        return text.contains("://") || text.contains(#/password\s*=/#) || text.hasPrefix("postgres:/")
            || text.hasPrefix("postgresql:/") || Self.beginsWithPassword(text) || Self.hasKeyword(text)
    }

    /// Whether a text reads as the user and password of a URL whose beginning went wrong.
    private static func beginsWithPassword(_ text: String) -> Bool {
        guard text.hasPrefix("postgre"), let at = text.lastIndex(of: "@") else { return false }
        return text[..<at].contains(":")
    }

    /// Whether one of a text's words is a keyword that libpq knows before a `=`, whatever the others are.
    private static func hasKeyword(_ text: String) -> Bool {
        text.matches(of: #/(?:^|\s)(\w+)\s*=/#).contains { match in
            guard let options = PQconninfoParse("\(match.output.1)=''", nil) else { return false }
            PQconninfoFree(options)
            return true
        }
    }

    /// The address without its password and options, but for the service that names the host in its place.
    package var description: String {
        let user = self.keywords["user"].map { "\($0)@" } ?? ""
        let service = self.host == nil ? self.keywords["service"].map { "?service=\($0)" } : nil
        return "postgresql://\(user)\(self.hosts)/\(self.keywords["dbname"] ?? "")\(service ?? "")"
    }

    /// The hosts; `nil` where a service, the environment or libpq is to name one.
    private var host: String? { self.keywords["host"] ?? self.keywords["hostaddr"] }

    /// Each host with its port, as a URL names them; a single port is that of all.
    private var hosts: String {
        let hosts = Self.list(self.host ?? "")
        let ports = Self.list(self.keywords["port"] ?? "")
        return hosts.enumerated().map { index, host in
            let port = ports.count == 1 ? ports[0] : index < ports.count ? ports[index] : ""
            // An address of IPv6, and not a socket's path, which may have a colon as well.
            let name = host.contains(":") && !host.hasPrefix("/") && !host.hasPrefix("@") ? "[\(host)]" : "\(host)"
            return port.isEmpty ? name : "\(name):\(port)"
        }.joined(separator: ",")
    }

    /// The same as the description.
    package var debugDescription: String { self.description }

    /// Nothing but the description.
    package var customMirror: Mirror { Mirror(self, children: ["address": self.description]) }

    /// How long libpq is to wait for each host, in whole seconds, as its option `connect_timeout`.
    ///
    /// - Parameter limit: What the hosts share where neither the address nor the environment says how long.
    /// - Returns: The option's value.
    func connectTimeout(sharing limit: Duration) -> String {
        let defaults = PQconndefaults()
        defer { PQconninfoFree(defaults) }
        let keywords = (defaults.map(Self.values) ?? [:]).merging(self.keywords) { $1 }
        // With zero and less, libpq would wait for ever; what is no number it refuses.
        if let stated = keywords["connect_timeout"], Int(stated).map({ $0 > 0 }) ?? true { return stated }
        let hosts = keywords["hostaddr"] ?? keywords["host"] ?? ""
        // Less than two seconds, libpq takes for two.
        return "\(max(2, limit.components.seconds / Int64(Self.list(hosts).count)))"
    }

    private static var malformed: PostgreSQLError {
        PostgreSQLError(
            code: .invalidAddress,
            message: "The address of the PostgreSQL database is malformed; "
                + "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with %XX for special characters.")
    }

    /// Whether a URL has an `@` after its user and password, and before its options, or one in what reads as options.
    ///
    /// libpq ends user and password at the first `@`, and finds neither where a `/` comes before: such a character in a
    /// password has part of it taken for a host, a port or a database, which are shown. It does so past a `?`, too.
    private static func endsPasswordEarly(_ text: String) -> Bool {
        let (at, slash, mark) = (UInt8(ascii: "@"), UInt8(ascii: "/"), UInt8(ascii: "?"))
        guard let scheme = Self.schemes.first(where: { text.utf8.starts(with: $0.utf8) }) else { return false }
        var rest = text.utf8.dropFirst(scheme.utf8.count)
        if let end = rest.firstIndex(where: { $0 == at || $0 == slash }), rest[end] == at {
            if rest[..<end].drop(while: { $0 != mark }).contains(UInt8(ascii: "=")) { return true }
            rest = rest[end...].dropFirst()
        }
        return rest.prefix { $0 != mark }.contains(at)
    }

    /// Whether a text is a port, which may have blanks around it.
    private static func isPort(_ text: Substring) -> Bool {
        let words = text.split(whereSeparator: \.isWhitespace)
        return words.count == 1 && words.allSatisfy { (1...65_535).contains(Int($0) ?? 0) }
    }

    /// The parts of a keyword's value, of which each host has one; an empty one stands for what is usual.
    private static func list(_ value: String) -> [Substring] {
        value.split(separator: ",", omittingEmptySubsequences: false)
    }

    static func values(of options: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return values
    }
}
