// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The settings that a service's configuration file may have.
package struct ConfigurationSchema: Sendable {
    /// The command that reads the file, such as `serve tokens`.
    package let command: String
    /// Every setting, in the order of the reference.
    package let options: [ConfigurationOption]

    /// Describes a configuration file.
    package init(command: String, options: [ConfigurationOption]) {
        self.command = command
        self.options = options
    }

    /// The variables that begin as those of a section do, and are for no setting in it; a misspelt one is among them.
    ///
    /// - Parameter environment: The environment, of which nothing but the names is looked at.
    /// - Returns: The names, in order; variables of other programs are left out, as far as they can be told.
    package func unknownVariables(in environment: [String: String]) -> [String] {
        let sections = Set(self.options.filter { $0.depth > 1 }.compactMap { $0.key(after: [String]()) })
            .map { ConfigurationOption.variable($0) + "_" }
        return environment.keys.filter { name in
            sections.contains { name.hasPrefix($0) } && !self.options.contains { $0.isNamed(by: name) }
        }.sorted()
    }

    /// The setting that a path leads to; `nil` where there is none.
    func option(at path: some Collection<String>) -> ConfigurationOption? {
        self.options.first { $0.depth == path.count && $0.begins(with: path) }
    }

    /// Whether a path leads to a setting, or some way towards one.
    func leadsSomewhere(_ path: some Collection<String>) -> Bool {
        self.options.contains { $0.begins(with: path) }
    }

    /// Whether a path leads to a section whose name the operator chooses.
    func isNamedSection(_ path: some Collection<String>) -> Bool {
        self.options.contains { $0.isInNamedSection(path) }
    }

    /// The keys that may follow a path, in order.
    func keys(after path: some Collection<String>) -> [String] {
        Set(self.options.compactMap { $0.key(after: path) }).sorted()
    }
}
