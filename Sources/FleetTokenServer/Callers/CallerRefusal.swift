// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A credential that was recognised and is not valid; none but those of the same issuer are asked then.
public struct CallerRefusal: Error, Sendable, CustomStringConvertible {
    /// Which check failed.
    public enum Reason: String, Hashable, Sendable {
        /// The credential cannot be read.
        case malformed
        /// It is of a kind that is never a caller's credential, such as a Fleet Engine token.
        case wrongKind
        /// Its algorithm is not one of those that are accepted.
        case algorithm
        /// No key, secret or certificate is known for it.
        case unknown
        /// The signature does not hold.
        case signature
        /// It is meant for somebody else.
        case audience
        /// It is past its end, or has none.
        case expired
        /// It is not valid yet.
        case notYetValid
        /// It does not say who it is for, or something else that is required.
        case incomplete
    }

    /// The kind of refusal, fit for a metric label.
    public var reason: Reason
    /// What failed, without the credential.
    public var message: String
    /// Reason and message on one line.
    public var description: String { "\(self.reason.rawValue): \(self.message)" }

    /// Makes a refusal.
    public init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}
