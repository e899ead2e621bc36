// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Reads the bearer token that a call carries.
enum BearerToken {
    /// Reads the one value of the `Authorization` header or metadata.
    ///
    /// - Parameter values: Every value that was sent.
    /// - Returns: The token, not yet verified; `nil` when there is none or another kind of credential.
    /// - Throws: ``EngineError`` with `UNAUTHENTICATED` when there is more than one token.
    static func read(_ values: [String]) throws(EngineError) -> String? {
        guard let value = values.first else { return nil }
        guard values.count == 1 else {
            throw self.malformed("The call carries \(values.count) Authorization values.", fix: "Send exactly one.")
        }
        // By bytes: a token is too long to look for the borders of its characters at each call.
        let words = value.utf8.split(separator: UInt8(ascii: " ")).map(Substring.init)
        guard let scheme = words.first, scheme.lowercased() == "bearer", words.count > 1 else { return nil }
        guard words.count == 2 else {
            throw self.malformed(
                "The Authorization value holds \(words.count - 1) words after Bearer.", fix: "Send one token after it.")
        }
        return String(words[1])
    }

    /// A refusal of credentials that cannot be read as one token.
    static func malformed(_ message: String, fix: String) -> EngineError {
        EngineError(.unauthenticated(.tokenMalformed, message, fix: fix))
    }
}
