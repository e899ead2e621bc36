// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

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

    /// Refuses arguments that no value can be read from: different bytes that are no text would be the same id.
    ///
    /// - Throws: ``CommandFailure`` with `usage`.
    static func checkText() throws(CommandFailure) {
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let bytes = CommandLine.unsafeArgv[index], String(validatingCString: bytes) == nil else { continue }
            throw CommandFailure(status: .usage, message: "the argument \(index) is not text in UTF-8.")
        }
    }

    /// Refuses a working folder whose path is no text: what is below it would be looked for, and made, elsewhere.
    ///
    /// - Throws: ``CommandFailure`` with `configuration`.
    static func checkWorkingFolder() throws(CommandFailure) {
        guard let path = getcwd(nil, 0) else { return }
        defer { free(path) }
        guard String(validatingCString: path) == nil else { return }
        throw CommandFailure(
            status: .configuration, message: "the working folder's path is not text in UTF-8; run this in another.")
    }

    /// Refuses arguments that are empty, as a shell makes them of a variable that is not set.
    ///
    /// - Parameter arguments: The command line, without the program's name, after rules of its options were checked.
    /// - Throws: ``CommandFailure`` with `usage` that names the option, where there is one.
    static func checkEmpty(_ arguments: some Collection<String>) throws(CommandFailure) {
        var option: String?
        for argument in arguments {
            // A request may have an empty mask.
            guard !argument.isEmpty || option == "--update-mask" else {
                throw CommandFailure(
                    status: .usage, message: "\(option ?? "an argument") is empty; give it a value.")
            }
            option = argument.hasPrefix("--") ? argument : nil
        }
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
