// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A failure that ends the command with a message on stderr and an exit code of the contract.
struct CommandFailure: Error, CustomStringConvertible {
    /// The exit codes of the contract, beside 0.
    enum Status: Int32 {
        /// The thing asked for failed: a refused token, a failed check.
        case failed = 1
        /// The command line makes no sense.
        case usage = 2
        /// A needed service is unreachable.
        case unreachable = 69
        /// A file, folder, key or address cannot be used.
        case configuration = 78
    }

    let status: Status
    let message: String

    var description: String { self.message }

    /// Says what failed, and ends the program.
    func end() -> Never {
        Console.say("fleetpass: \(self.message)")
        exit(self.status.rawValue)
    }
}
