// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Yams

/// The settings of a configuration file, checked, with the environment's on top.
struct ConfigurationValues: Sendable {
    private var values: [String: String] = [:]

    /// Reads a configuration.
    ///
    /// - Parameters:
    ///   - yaml: The file's text.
    ///   - environment: The environment; its `FLEETPASS_…` variables go before the file.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration`` that names the line or the
    ///   variable.
    init(yaml: String, environment: [String: String]) throws(TokenServerError) {
        let root: Node?
        do {
            root = try Yams.compose(yaml: yaml)
        } catch let error as YamlError {
            throw Self.invalid("The configuration is not YAML: \(Self.problem(of: error)).")
        } catch {
            throw Self.invalid("The configuration is not YAML.")
        }
        if let root { try self.add(root, at: []) }
        let fixed = ConfigurationOption.all.map(\.path).filter { !$0.contains("*") }
        for path in Set(fixed).union(self.siblings) {
            let variable = ConfigurationOption.variable(path)
            guard let value = environment[variable], let option = Self.option(path) else { continue }
            if let problem = option.problem(of: value) { throw Self.invalid("The variable \(variable) \(problem).") }
            self.values[path] = value
        }
    }

    /// The value of a setting, or what holds without; `nil` where nothing does.
    subscript(path: String) -> String? {
        self.values[path] ?? Self.option(path)?.standard
    }

    /// The names that are chosen below a section, in order.
    func names(in section: String) -> [String] {
        let names = self.values.keys.filter { $0.hasPrefix("\(section).") }
            .compactMap { $0.dropFirst(section.count + 1).split(separator: ".").first.map(String.init) }
        return Set(names).sorted()
    }

    /// Every setting of the named sections that are there.
    private var siblings: [String] {
        ConfigurationOption.all.map(\.path).filter { $0.contains("*") }.flatMap { path in
            let parts = path.split(separator: "*").map { $0.trimmingPrefix(".") }
            let section = String(parts[0].dropLast())
            return self.names(in: section).map { "\(section).\($0).\(parts[1])" }
        }
    }

    private static func option(_ path: String) -> ConfigurationOption? {
        ConfigurationOption.at(path.split(separator: ".").map(String.init))
    }

    private mutating func add(_ node: Node, at path: [String]) throws(TokenServerError) {
        let name = path.joined(separator: ".")
        let line = node.mark.map { "Line \($0.line): " } ?? ""
        let option = ConfigurationOption.at(path)
        switch node {
        case .mapping(let mapping) where option == nil:
            for (key, value) in mapping {
                try self.add(value, named: key, at: path)
            }
        case .scalar(let scalar):
            guard let option else {
                // A section without anything in it.
                guard scalar.string.isEmpty else { throw Self.invalid("\(line)\(name) takes settings of its own.") }
                return
            }
            if let problem = option.problem(of: scalar.string) { throw Self.invalid("\(line)\(name) \(problem).") }
            self.values[name] = scalar.string
        default:
            throw Self.invalid(
                "\(line)\(name.isEmpty ? "the configuration" : name) must be a single value or settings.")
        }
    }

    private mutating func add(_ value: Node, named key: Node, at path: [String]) throws(TokenServerError) {
        let line = key.mark.map { "Line \($0.line): " } ?? ""
        guard let name = key.scalar?.string, !name.contains(".") else {
            throw Self.invalid("\(line)a setting's name must be a word.")
        }
        let inner = path + [name]
        guard ConfigurationOption.all.contains(where: { $0.begins(with: inner) }) else {
            let known = Set(ConfigurationOption.all.compactMap { $0.key(after: path) })
            throw Self.invalid(
                "\(line)there is no setting \(inner.joined(separator: ".").prefix(100)); there are "
                    + "\(known.sorted().joined(separator: ", ")).")
        }
        try self.add(value, at: inner)
    }

    /// Where the text is wrong; not the text, which may hold anything.
    private static func problem(of error: YamlError) -> String {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            "line \(mark.line), \(problem)"
        case .duplicatedKeysInMapping(let duplicates, _):
            "these keys stand twice: \(duplicates.map { $0.prefix(64) }.joined(separator: ", "))"
        default: "it cannot be read"
        }
    }

    static func invalid(_ message: String) -> TokenServerError {
        TokenServerError(code: .invalidConfiguration, message: message)
    }
}
