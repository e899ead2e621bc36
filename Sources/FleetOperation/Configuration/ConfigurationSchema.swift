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

    /// The setting that a path leads to; `nil` where there is none.
    func option(at path: some Collection<String>) -> ConfigurationOption? {
        self.options.first { $0.depth == path.count && $0.begins(with: path) }
    }

    /// Whether a path leads to a setting, or some way towards one.
    func leadsSomewhere(_ path: some Collection<String>) -> Bool {
        self.options.contains { $0.begins(with: path) }
    }

    /// The keys that may follow a path, in order.
    func keys(after path: some Collection<String>) -> [String] {
        Set(self.options.compactMap { $0.key(after: path) }).sorted()
    }
}
