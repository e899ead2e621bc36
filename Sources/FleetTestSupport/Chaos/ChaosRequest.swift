// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient

/// A request that a ``ChaosTokenServer`` received, without anything secret: no values of header fields, no query.
public struct ChaosRequest: Hashable, Sendable {
    /// The verb.
    public let method: String
    /// The path as it came, percent-encoded.
    public let path: String
    /// Whose token it asks for, or `nil` when the path names nobody.
    public let subject: TokenSubject?
    /// The names of the header fields in lower case.
    public let headerNames: Set<String>
    /// What was done with it; `status(404)` when it asks for nobody's token.
    public let step: ChaosStep
}
