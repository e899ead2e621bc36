// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension TokenClaims {
    /// Reads a payload that nothing vouches for, so that a client can compare it with what it asked for.
    ///
    /// Only who holds the key can say that the claims are true; never grant anything on them.
    ///
    /// - Parameter payload: The decoded payload of a ``CompactJWS``.
    /// - Throws: ``TokenRefusal`` for the first rule of form that does not hold.
    package init(unverified payload: [UInt8]) throws(TokenRefusal) {
        var recorder = CheckRecorder(mode: .stopAtRefusal)
        var payload = TokenPayload(payload)
        self = try Self.read(&payload, recording: &recorder)
    }
}
