// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A way to depart from what the documentation of Fleet Engine says, which the service lets pass.
///
/// What the service refuses is no deviation but a ``TokenRefusal``. Each case has its entry in the table of
/// ``rule``, with its source.
public enum Deviation: UInt8, CaseIterable, Sendable {
    // The token, for as long as it lives.
    case tokenWithoutKeyID, tokenWithoutType, tokenWithScope, tokenWithUnknownClaim, lifetimeNotOneHour
    case wildcardInDeviceToken, claimThatOpensNothing
    // The token at the time of its use.
    case tokenNotBackdated, tokenNearExpiry
    // What a token is used for.
    case backendTokenInSDK, deviceLocationFromBackend
    // How often a vehicle reports.
    case reportTooOften, reportTooSeldom
    // What a request says.
    case headerWithoutRegion, onlineWithoutLocation, outputOnlyField, deprecatedField, listWithoutVehicleTypes

    /// The name in reports and warnings, such as `token-without-kid`.
    public var id: String { self.rule.id }
}

/// Several deviations, in a word of memory.
public struct DeviationSet: Hashable, Sendable, Sequence, ExpressibleByArrayLiteral {
    private var bits: UInt32 = 0

    /// Collects deviations.
    public init(_ deviations: some Sequence<Deviation>) {
        for deviation in deviations { self.insert(deviation) }
    }

    /// Collects deviations.
    public init(arrayLiteral deviations: Deviation...) {
        self.init(deviations)
    }

    /// Whether there is none.
    public var isEmpty: Bool { self.bits == 0 }

    /// Whether the deviation is among them.
    public func contains(_ deviation: Deviation) -> Bool { self.bits & 1 << deviation.rawValue != 0 }

    /// Adds a deviation.
    public mutating func insert(_ deviation: Deviation) { self.bits |= 1 << deviation.rawValue }

    /// Adds others.
    public mutating func formUnion(_ others: Self) { self.bits |= others.bits }

    /// The deviations in the order of their table.
    public func makeIterator() -> some IteratorProtocol<Deviation> {
        Deviation.allCases.lazy.filter(self.contains).makeIterator()
    }
}
