// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Logging

/// What a service logs, and how.
public struct LogSettings: Hashable, Sendable {
    /// The least that is logged.
    public var level: Logger.Level
    /// Whether log lines are JSON.
    public var isJSON: Bool

    /// Sets what is logged; leave out what should keep its default.
    public init(level: Logger.Level = .info, isJSON: Bool = false) {
        self.level = level
        self.isJSON = isJSON
    }

    /// Reads the section `log`, which has ``ConfigurationOption/log``.
    package init(in values: ConfigurationValues) throws(ConfigurationError) {
        self.init(
            level: Logger.Level(rawValue: try values.required("log.level")) ?? .info,
            isJSON: try values.required("log.format") == "json")
    }
}
