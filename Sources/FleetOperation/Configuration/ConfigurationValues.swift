// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Foundation

/// The settings of a configuration file, checked, with the environment's on top.
package struct ConfigurationValues: Sendable {
    private let schema: ConfigurationSchema
    private var values: [String: String] = [:]
    /// The sections with names of the operator's, those without a setting among them.
    private var sections: Set<String> = []

    /// Reads a configuration.
    ///
    /// - Parameters:
    ///   - schema: The settings that there are.
    ///   - yaml: The file's text.
    ///   - environment: The environment; its `FLEETPASS_…` variables go before the file.
    /// - Throws: ``ConfigurationError`` that names the line or the variable.
    package init(_ schema: ConfigurationSchema, yaml: String, environment: [String: String]) throws(ConfigurationError)
    {
        self.schema = schema
        let root: YAMLNode?
        do throws(YAMLProblem) {
            root = try YAMLNode(yaml)
        } catch {
            let place = error.place.map { "Line \($0.line)" } ?? "The configuration cannot be read"
            throw ConfigurationError("\(place): \(error.words).")
        }
        if let root { try self.add(root, at: []) }
        let fixed = schema.options.map(\.path).filter { !$0.contains("*") }
        let paths = Set(fixed).union(self.siblings)
        try self.refuseStrays(in: Set(environment.keys).subtracting(paths.map(ConfigurationOption.variable)))
        for path in paths.sorted() {
            let variable = ConfigurationOption.variable(path)
            if environment[variable] != nil,
                let other = paths.first(where: { $0 != path && ConfigurationOption.variable($0) == variable })
            {
                throw ConfigurationError(
                    "The variable \(variable.prefix(100)) is for \(path) and for \(other); give the sections names that do "
                        + "not differ by case, - and _ alone, or set them in the file.")
            }
            guard let value = environment[variable], let option = self.option(path) else { continue }
            if let problem = option.problem(of: value) {
                throw ConfigurationError("The variable \(variable) \(problem).")
            }
            self.values[path] = value
        }
    }

    /// The value of a setting, or what holds without; `nil` where nothing does.
    package subscript(path: String) -> String? {
        self.values[path] ?? self.option(path)?.standard
    }

    /// The names that are chosen below a section, in order.
    package func names(in section: String) -> [String] {
        let names = self.sections.filter { $0.hasPrefix("\(section).") }
            .compactMap { $0.dropFirst(section.count + 1).split(separator: ".").first.map(String.init) }
        return Set(names).sorted()
    }

    /// Every setting of the named sections that are there.
    private var siblings: [String] {
        self.schema.options.map(\.path).filter { $0.contains("*") }.flatMap { path in
            let parts = path.split(separator: "*").map { $0.trimmingPrefix(".") }
            let section = String(parts[0].dropLast())
            return self.names(in: section).map { "\(section).\($0).\(parts[1])" }
        }
    }

    /// Refuses a variable for a named section that the file does not have, as nothing would come of it.
    private func refuseStrays(in variables: Set<String>) throws(ConfigurationError) {
        for option in self.schema.options where option.path.contains("*") {
            guard let stray = variables.filter({ option.isNamed(by: $0) }).min() else { continue }
            throw ConfigurationError(
                "The variable \(stray.prefix(100)) is for \(option.path.replacing("*", with: "NAME")), and the file "
                    + "has no section of that name; write it there, or remove the variable.")
        }
    }

    private func option(_ path: String) -> ConfigurationOption? {
        self.schema.option(at: path.split(separator: ".").map(String.init))
    }

    private mutating func add(_ node: YAMLNode, at path: [String]) throws(ConfigurationError) {
        let name = path.joined(separator: ".")
        let shown = name.isEmpty ? "the configuration" : name
        let option = self.schema.option(at: path)
        // One that is left empty is there all the same, with what holds without its settings.
        if self.schema.isNamedSection(path) { self.sections.insert(name) }
        switch node.content {
        case .mapping(let pairs) where option == nil:
            for (key, value) in pairs {
                try self.add(value, named: key, at: path)
            }
        case .scalar(let text, _):
            guard let option else {
                // A section without anything in it.
                guard text.isEmpty else { throw node.error("\(shown) takes settings of its own.") }
                return
            }
            if let problem = option.problem(of: text) { throw node.error("\(name) \(problem).") }
            self.values[name] = text
        default:
            throw node.error("\(shown) must be a single value or settings.")
        }
    }

    private mutating func add(_ value: YAMLNode, named key: YAMLNode, at path: [String]) throws(ConfigurationError) {
        guard case .scalar(let name, _) = key.content, !name.isEmpty, !name.contains(".") else {
            throw key.error("a setting's name must be a word.")
        }
        let inner = path + [name]
        guard self.schema.leadsSomewhere(inner) else {
            throw key.error(
                "there is no setting \(inner.joined(separator: ".").prefix(100)); there are "
                    + "\(self.schema.keys(after: path).joined(separator: ", ")).")
        }
        try self.add(value, at: inner)
    }
}

extension ConfigurationValues {
    /// The value of a setting that must be there.
    ///
    /// - Throws: ``ConfigurationError`` where it is not.
    package func required(_ path: String) throws(ConfigurationError) -> String {
        guard let value = self[path] else {
            throw ConfigurationError(
                "The setting \(path) is missing; add it to the file, or set the variable "
                    + "\(ConfigurationOption.variable(path)).")
        }
        return value
    }

    /// A number that must be there.
    package func number(_ path: String) throws(ConfigurationError) -> Int { Int(try self.required(path)) ?? 0 }

    /// A setting's words with commas between, without the white space around them; empty where it is not there.
    package func list(_ path: String) -> [String] {
        (self[path] ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
            .filter { !$0.isEmpty }
    }

    /// The ranges of addresses of a setting, with commas between.
    ///
    /// - Throws: ``ConfigurationError`` for what is no range.
    package func ranges(_ path: String) throws(ConfigurationError) -> [AddressRange] {
        var ranges: [AddressRange] = []
        for range in self.list(path) { ranges.append(try AddressRange(range)) }
        return ranges
    }

    /// The path of a setting, from the folder that relative ones start at; `nil` where it is not there.
    package func file(_ path: String, in folder: URL) -> String? {
        self[path].map { Self.absolute($0, in: folder) }
    }

    /// The paths of a setting, with commas between.
    package func files(_ path: String, in folder: URL) -> [String] {
        self.list(path).map { Self.absolute($0, in: folder) }
    }

    /// A path that may be relative to a folder; its URL need not end with a slash.
    package static func absolute(_ path: String, in folder: URL) -> String {
        let folder = URL(filePath: folder.path(percentEncoded: false), directoryHint: .isDirectory)
        return URL(filePath: path, relativeTo: folder).path(percentEncoded: false)
    }
}
