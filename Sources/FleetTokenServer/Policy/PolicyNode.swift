// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import Yams

/// A node of a policy file that knows where it stands.
struct PolicyNode {
    /// The most bytes that a file may have.
    static let maximumBytes = 256 * 1024
    /// The most entries of any list.
    static let maximumEntries = 1000

    private let node: Node
    private let file: String

    private init(_ node: Node, file: String) {
        self.node = node
        self.file = file
    }

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - yaml: The file's text.
    ///   - file: Its name for messages.
    /// - Throws: ``TokenServerError`` with the line and column.
    init(yaml: String, file: String) throws(TokenServerError) {
        func invalid(_ place: String, _ problem: String) -> TokenServerError {
            TokenServerError(code: .invalidConfiguration, message: "\(file)\(place): \(problem)")
        }
        guard yaml.utf8.count <= Self.maximumBytes else {
            throw invalid("", "the file has more than \(Self.maximumBytes) bytes.")
        }
        // Anchors make small files expand to large ones.
        if let place = YAMLProblem.placeOfAnchor(in: yaml) {
            throw invalid(
                ":\(place.line):\(place.column)",
                "\"&\" begins an anchor, and anchors are not read; write the value out.")
        }
        do {
            guard let root = try Yams.compose(yaml: yaml) else { throw invalid("", "the file is empty.") }
            self.init(root, file: file)
        } catch let error as TokenServerError {
            throw error
        } catch let error as YamlError {
            switch error {
            case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
                .composer(_, let problem, let mark, _):
                throw invalid(":\(mark)", "the YAML cannot be read: \(problem).")
            case .duplicatedKeysInMapping(let keys, let context):
                throw invalid(":\(context.mark)", "the key \(keys.sorted().joined(separator: ", ")) stands twice.")
            default: throw invalid("", "the YAML cannot be read.")
            }
        } catch {
            throw invalid("", "the YAML cannot be read.")
        }
    }

    /// An error at this node.
    func error(_ problem: String) -> TokenServerError {
        let place = self.node.mark.map { ":\($0)" } ?? ""
        return TokenServerError(code: .invalidConfiguration, message: "\(self.file)\(place): \(problem)")
    }

    /// The values by key.
    ///
    /// - Parameters:
    ///   - keys: The keys that there are; any other is an error. `nil` lets all be.
    ///   - what: What the mapping is, for messages.
    /// - Returns: The values.
    /// - Throws: ``TokenServerError`` with the line and column.
    func mapping(_ keys: [String]?, of what: String) throws(TokenServerError) -> [String: PolicyNode] {
        guard case .mapping(let mapping) = self.node else {
            throw self.error("\(what) must be written as keys with values.")
        }
        guard mapping.count <= Self.maximumEntries else { throw self.error("\(what) has too many keys.") }
        var found: [String: PolicyNode] = [:]
        for (key, value) in mapping {
            let key = PolicyNode(key, file: self.file)
            let name = try key.string("a key")
            if let keys, !keys.contains(name) {
                throw key.error("\(what) has no key \"\(name.prefix(64))\"; there are \(keys.joined(separator: ", ")).")
            }
            found[name] = PolicyNode(value, file: self.file)
        }
        return found
    }

    /// The entries of a list.
    func list(_ what: String) throws(TokenServerError) -> [PolicyNode] {
        guard case .sequence(let sequence) = self.node else { throw self.error("\(what) must be a list.") }
        guard (1...Self.maximumEntries).contains(sequence.count) else {
            throw self.error("\(what) must have 1 to \(Self.maximumEntries) entries.")
        }
        return sequence.map { PolicyNode($0, file: self.file) }
    }

    /// The text of a value; numbers and words such as `yes` are the text that they are written with.
    func string(_ what: String) throws(TokenServerError) -> String {
        guard case .scalar(let scalar) = self.node else { throw self.error("\(what) must be one text.") }
        let isNull = scalar.style == .plain && ["", "~", "null", "Null", "NULL"].contains(scalar.string)
        guard !isNull, !scalar.string.isEmpty, scalar.string.utf8.count <= 2048 else {
            throw self.error("\(what) must not be empty, nor longer than 2048 bytes.")
        }
        return scalar.string
    }

    /// The texts of a value that is one text or a list of them.
    func strings(_ what: String) throws(TokenServerError) -> [String] {
        guard case .sequence = self.node else { return [try self.string(what)] }
        var texts: [String] = []
        for entry in try self.list(what) { texts.append(try entry.string("an entry of \(what)")) }
        return texts
    }

    /// Whether the value is one text.
    var isText: Bool {
        if case .scalar = self.node { true } else { false }
    }

    /// A time such as `500ms`, `2s` or `5m`.
    func duration(_ what: String, in range: ClosedRange<Duration>) throws(TokenServerError) -> Duration {
        let text = try self.string(what)
        let digits = text.prefix { ("0"..."9").contains($0) }
        let duration: Duration? =
            switch (Int64(digits).flatMap { $0 <= 86_400_000 ? $0 : nil }, text.dropFirst(digits.count)) {
            case (let number?, "ms"): .milliseconds(number)
            case (let number?, "s"): .seconds(number)
            case (let number?, "m"): .seconds(number * 60)
            default: nil
            }
        guard let duration, range.contains(duration) else {
            throw self.error("\(what) must be a time from \(range.lowerBound) to \(range.upperBound), such as 2s.")
        }
        return duration
    }
}
