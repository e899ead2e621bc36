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
        guard let credential = BearerScheme.credential(in: value) else { return nil }
        guard !BearerScheme.isDivided(credential) else {
            throw self.malformed(
                "The Authorization value holds more than one word after Bearer.", fix: "Send one token after it.")
        }
        return String(credential)
    }

    /// A refusal of credentials that cannot be read as one token.
    static func malformed(_ message: String, fix: String) -> EngineError {
        EngineError(.unauthenticated(.tokenMalformed, message, fix: fix))
    }
}
