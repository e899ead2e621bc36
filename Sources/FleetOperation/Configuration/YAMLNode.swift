// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Yams

/// A node of a file of YAML that knows where it stands.
package struct YAMLNode {
    /// What a node can be.
    package enum Content {
        /// One text; a plain one, without quotes, may stand for a number, a truth value or nothing.
        case scalar(String, isPlain: Bool)
        /// Values in order.
        case list([YAMLNode])
        /// Keys with values, in order.
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    /// The most entries of any list.
    private static let maximumEntries = 1000

    private let node: Node
    private let file: String?

    private init(_ node: Node, file: String?) {
        self.node = node
        self.file = file
    }

    /// Reads a text of which errors are told by the line alone.
    ///
    /// - Parameter yaml: The file's text; `nil` is made of one without anything in it.
    /// - Throws: ``YAMLProblem``.
    package init?(_ yaml: String) throws(YAMLProblem) {
        guard let root = try YAMLFile.compose(yaml) else { return nil }
        self.init(root, file: nil)
    }

    /// Reads a file that must have something in it.
    ///
    /// - Parameters:
    ///   - yaml: The file's text.
    ///   - file: Its name for messages.
    /// - Throws: ``ConfigurationError`` with the line and column.
    package init(yaml: String, file: String) throws(ConfigurationError) {
        let root: Node?
        do throws(YAMLProblem) {
            root = try YAMLFile.compose(yaml)
        } catch {
            let place = error.place.map { ":\($0.line):\($0.column)" } ?? ""
            throw ConfigurationError("\(file)\(place): \(error.words).")
        }
        guard let root else { throw ConfigurationError("\(file): the file is empty.") }
        self.init(root, file: file)
    }

    /// An error at this node.
    package func error(_ problem: String) -> ConfigurationError {
        guard let mark = self.node.mark else {
            return ConfigurationError("\(self.file.map { "\($0): " } ?? "")\(problem)")
        }
        return ConfigurationError("\(self.file.map { "\($0):\(mark)" } ?? "Line \(mark.line)"): \(problem)")
    }

    /// What the node is.
    package var content: Content {
        switch self.node {
        case .scalar(let scalar): .scalar(scalar.string, isPlain: scalar.style == .plain)
        case .sequence(let nodes): .list(nodes.map { YAMLNode($0, file: self.file) })
        case .mapping(let pairs):
            .mapping(pairs.map { (YAMLNode($0.key, file: self.file), YAMLNode($0.value, file: self.file)) })
        // There is no anchor that it could name.
        case .alias: .scalar("", isPlain: true)
        }
    }

    /// The values by key.
    ///
    /// - Parameters:
    ///   - keys: The keys that there are; any other is an error. `nil` lets all be.
    ///   - what: What the mapping is, for messages.
    /// - Returns: The values.
    /// - Throws: ``ConfigurationError`` with the line and column.
    package func mapping(_ keys: [String]?, of what: String) throws(ConfigurationError) -> [String: YAMLNode] {
        guard case .mapping(let mapping) = self.node else {
            throw self.error("\(what) must be written as keys with values.")
        }
        guard mapping.count <= Self.maximumEntries else { throw self.error("\(what) has too many keys.") }
        var found: [String: YAMLNode] = [:]
        for (key, value) in mapping {
            let key = YAMLNode(key, file: self.file)
            let name = try key.string("a key")
            if let keys, !keys.contains(name) {
                throw key.error("\(what) has no key \"\(name.prefix(64))\"; there are \(keys.joined(separator: ", ")).")
            }
            found[name] = YAMLNode(value, file: self.file)
        }
        return found
    }

    /// The entries of a list.
    package func list(_ what: String) throws(ConfigurationError) -> [YAMLNode] {
        guard case .sequence(let sequence) = self.node else { throw self.error("\(what) must be a list.") }
        guard (1...Self.maximumEntries).contains(sequence.count) else {
            throw self.error("\(what) must have 1 to \(Self.maximumEntries) entries.")
        }
        return sequence.map { YAMLNode($0, file: self.file) }
    }

    /// The text of a value; numbers and words such as `yes` are the text that they are written with.
    package func string(_ what: String) throws(ConfigurationError) -> String {
        guard case .scalar(let scalar) = self.node else { throw self.error("\(what) must be one text.") }
        let isNull = scalar.style == .plain && ["", "~", "null", "Null", "NULL"].contains(scalar.string)
        guard !isNull, !scalar.string.isEmpty, scalar.string.utf8.count <= 2048 else {
            throw self.error("\(what) must not be empty, nor longer than 2048 bytes.")
        }
        return scalar.string
    }

    /// The texts of a value that is one text or a list of them.
    package func strings(_ what: String) throws(ConfigurationError) -> [String] {
        guard case .sequence = self.node else { return [try self.string(what)] }
        var texts: [String] = []
        for entry in try self.list(what) { texts.append(try entry.string("an entry of \(what)")) }
        return texts
    }

    /// Whether the value is one text.
    package var isText: Bool {
        if case .scalar = self.node { true } else { false }
    }

    /// A time such as `500ms`, `2s` or `5m`.
    package func duration(_ what: String, in range: ClosedRange<Duration>) throws(ConfigurationError) -> Duration {
        let text = try self.string(what)
        let duration = WrittenTime.read(text, in: [.milliseconds, .seconds, .minutes])
        guard let duration, range.contains(duration) else {
            throw self.error("\(what) must be a time from \(range.lowerBound) to \(range.upperBound), such as 2s.")
        }
        return duration
    }
}
