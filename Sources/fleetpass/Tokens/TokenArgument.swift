// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokens
import Foundation

/// A token on the command line, or `-` to read it from standard input.
struct TokenArgument: ParsableArguments {
    @Argument(help: "The token, or - to read it from standard input, which keeps it out of the process list.")
    var token: String

    /// The most that is read from standard input, in bytes; longer input is refused as a token would be.
    private static let maximumInput = 1 << 20

    /// The token without what a file has round it: a byte order mark, white space.
    ///
    /// - Throws: ``CommandFailure`` where standard input holds no token, and where a file's path stands for the token.
    func read() throws -> String {
        guard self.token == "-" else {
            guard !FileManager.default.fileExists(atPath: self.token) else {
                throw CommandFailure(
                    status: .usage, message: "\(self.token) is a path; to read the token from a file, pass - < FILE.")
            }
            return Self.token(in: self.token.utf8)
        }
        let text = Self.token(in: try Console.input(atMost: Self.maximumInput))
        guard !text.isEmpty else {
            throw CommandFailure(status: .usage, message: "standard input holds no token.")
        }
        return text
    }

    static func token(in text: some Collection<UInt8>) -> String {
        String(decoding: text.withoutByteOrderMark, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
