// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// What the options of a command must be beside what their declarations say, for `validate` to check.
enum OptionRules {
    /// Whether a missing option is passed over, to see whether it is there in another spelling.
    @TaskLocal static var passOverMissing = false

    /// Refuses a command line that lacks an option.
    ///
    /// - Parameters:
    ///   - isGiven: Whether the options that go together are there.
    ///   - message: Which ones to give.
    /// - Throws: `ValidationError`.
    static func need(_ isGiven: Bool, _ message: String) throws {
        guard isGiven || Self.passOverMissing else { throw ValidationError(message) }
    }

    /// Refuses an empty path, which would stand for the folder that the command is run in.
    ///
    /// - Parameters:
    ///   - path: The path, if the option is given.
    ///   - option: The option, such as `--data`.
    ///   - advice: What to do, such as `name the data folder`.
    /// - Throws: `ValidationError`.
    static func check(path: String?, of option: String, _ advice: String) throws {
        guard path?.isEmpty != true else { throw ValidationError("\(option) is empty; \(advice).") }
    }
}
