// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A finished token in compact form: a secret that shows only its fingerprint.
///
/// Printing, dumping, interpolating or mirroring it gives ``fingerprint``; the text itself is read through
/// ``compactSerialization`` on purpose, to be sent and for nothing else.
public struct FleetToken: Hashable, Sendable {
    /// The compact JWS, to be sent in an `Authorization` header over TLS and never logged.
    public let compactSerialization: String

    /// Wraps a compact JWS; nothing is checked.
    public init(_ compactSerialization: String) {
        self.compactSerialization = compactSerialization
    }

    /// The first 8 bytes of the text's SHA-256 in hexadecimal, which is safe to log.
    public var fingerprint: String {
        String(self.compactSerialization.utf8.sha256Hex.prefix(16))
    }

    /// The value of the `Authorization` header, `Bearer` and the token.
    public var authorizationHeader: String { "Bearer \(self.compactSerialization)" }
}

extension FleetToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The fingerprint, never the token.
    public var description: String { "FleetToken(\(self.fingerprint))" }
    /// The fingerprint, never the token.
    public var debugDescription: String { self.description }
    /// A mirror that shows the fingerprint only.
    public var customMirror: Mirror { Mirror(self, children: ["fingerprint": self.fingerprint]) }
}
