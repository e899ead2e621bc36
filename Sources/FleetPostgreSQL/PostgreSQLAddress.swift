// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CLibPQ

/// Where a database is and who enters it: what a URL or a list of keywords says.
///
/// What it leaves open comes from where PostgreSQL's own programs take it: the `PG…` environment variables and the
/// password file. Its description never holds the password.
public struct PostgreSQLAddress: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    let text: String
    private let keywords: [String: String]

    /// Reads an address.
    ///
    /// - Parameter text: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, or keywords as in `host=/run/pg dbname=fleet`.
    /// - Throws: ``PostgreSQLError`` with ``PostgreSQLError/Code/invalidAddress``.
    public init(_ text: String) throws(PostgreSQLError) {
        var problem: UnsafeMutablePointer<CChar>?
        defer { PQfreemem(problem) }
        guard let options = PQconninfoParse(text, &problem) else {
            // libpq's words may repeat the address with its password.
            throw PostgreSQLError(
                code: .invalidAddress,
                message: "The address of the PostgreSQL database is malformed; "
                    + "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with %XX for special characters.")
        }
        defer { PQconninfoFree(options) }
        self.text = text
        self.keywords = Self.values(of: options)
    }

    /// Whether a text is meant as an address of a database rather than as a file's path.
    public static func isAddress(_ text: String) -> Bool {
        text.hasPrefix("postgresql://") || text.hasPrefix("postgres://")
    }

    /// The address without its password and options.
    public var description: String {
        let user = self.keywords["user"].map { "\($0)@" } ?? ""
        let host = self.keywords["host"] ?? self.keywords["hostaddr"] ?? "localhost"
        let port = self.keywords["port"].map { ":\($0)" } ?? ""
        return "postgresql://\(user)\(host)\(port)/\(self.keywords["dbname"] ?? "")"
    }

    /// The address without its password and options.
    public var debugDescription: String { self.description }

    /// Nothing but the description.
    public var customMirror: Mirror { Mirror(self, children: ["address": self.description]) }

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
        let count = hosts.split(separator: ",", omittingEmptySubsequences: false).count
        // Less than two seconds, libpq takes for two.
        return "\(max(2, limit.components.seconds / Int64(count)))"
    }

    private static func values(of options: UnsafeMutablePointer<PQconninfoOption>) -> [String: String] {
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return values
    }
}
