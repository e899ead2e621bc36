// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension DeviationSet {
    /// What is wrong with a token for as long as it lives, beside what was seen of its form.
    ///
    /// - Parameters:
    ///   - claims: The payload.
    ///   - account: The account that signed, where it is known.
    package init(of claims: TokenClaims, account: TrustedAccount?) {
        self = []
        if claims.expiresAt - claims.issuedAt != 3600 { self.insert(.lifetimeNotOneHour) }
        guard let authorization = claims.authorization else { return }
        if authorization.hasIgnored { self.insert(.tokenWithUnknownClaim) }
        guard let account else { return }
        if account.isForDevices, authorization.hasWildcard { self.insert(.wildcardInDeviceToken) }
        if !account.usableClaims.isSuperset(of: authorization.kinds) { self.insert(.claimThatOpensNothing) }
    }

    /// What is wrong with using a token now.
    ///
    /// - Parameters:
    ///   - issuedAt: Its `iat`.
    ///   - expiresAt: Its `exp`.
    ///   - now: The time of the use in Unix seconds.
    init(usingTokenFrom issuedAt: Int64, until expiresAt: Int64, at now: Int64) {
        self = []
        if now - issuedAt < 60 { self.insert(.tokenNotBackdated) }
        if (1..<300).contains(expiresAt - now) { self.insert(.tokenNearExpiry) }
    }
}

extension ExaminedToken {
    /// What departs from the documentation when the token is used.
    ///
    /// - Parameter now: The time of the use.
    /// - Returns: What was found when the token was examined, and what its times say now.
    public func deviations(at now: Date) -> DeviationSet {
        var found = self.lastingDeviations
        found.formUnion(
            DeviationSet(
                usingTokenFrom: self.issuedAt, until: self.expiresAt,
                at: Int64(now.timeIntervalSince1970.rounded(.down))))
        return found
    }
}

extension TokenExaminer.Examination {
    /// What departs from the documentation when the token is used now.
    func deviations(at now: Date) -> DeviationSet {
        var found = self.deviations
        found.formUnion(
            DeviationSet(
                usingTokenFrom: self.claims.issuedAt, until: self.claims.expiresAt,
                at: Int64(now.timeIntervalSince1970.rounded(.down))))
        return found
    }
}

extension Role {
    /// Whether tokens of the role are for phones and browsers of drivers, customers and recipients.
    public var isForDevices: Bool {
        [.consumer, .driver, .deliveryConsumer, .deliveryUntrustedDriver, .deliveryTrustedDriver].contains(self)
    }

    /// The claims that open a method to the role; all where the role is not known.
    fileprivate var usableClaims: ClaimKinds {
        switch self {
        case .onDemandAdmin, .deliveryAdmin: []
        case .consumer, .driver, .server: .onDemand
        case .deliveryServer, .deliveryFleetReader: [.deliveryVehicle, .tasks, .tracking]
        case .deliveryTrustedDriver: [.deliveryVehicle, .tasks]
        case .deliveryUntrustedDriver: .deliveryVehicle
        case .deliveryConsumer: .tracking
        default: .all
        }
    }
}

extension TrustedAccount {
    /// Whether tokens of the account are for phones and browsers: it has roles, and all of them are for those.
    public var isForDevices: Bool { !self.roles.isEmpty && self.roles.allSatisfy(\.isForDevices) }

    /// The claims that open a method to one of the account's roles; all where it may do more than those permit.
    fileprivate var usableClaims: ClaimKinds {
        let isOfRoles = self.granted?.isSubset(of: self.roles.flatMap(\.permissions)) ?? true
        guard isOfRoles, !self.roles.isEmpty else { return .all }
        return self.roles.reduce(into: ClaimKinds()) { $0.formUnion($1.usableClaims) }
    }
}

/// The claims of a token, as far as roles differ in what they do with them.
private struct ClaimKinds: OptionSet {
    static let onDemand = Self(rawValue: 1)
    static let deliveryVehicle = Self(rawValue: 2)
    static let tasks = Self(rawValue: 4)
    static let tracking = Self(rawValue: 8)
    static let all: Self = [.onDemand, .deliveryVehicle, .tasks, .tracking]

    let rawValue: UInt8
}

extension AuthorizationClaims {
    /// What is claimed.
    fileprivate var kinds: ClaimKinds {
        var kinds = ClaimKinds()
        if self.vehicle != nil || self.trip != nil { kinds.insert(.onDemand) }
        if self.deliveryVehicle != nil { kinds.insert(.deliveryVehicle) }
        if self.task != nil || self.taskList != nil { kinds.insert(.tasks) }
        if self.tracking != nil { kinds.insert(.tracking) }
        return kinds
    }

    /// Whether a claim reaches everything of its kind.
    fileprivate var hasWildcard: Bool {
        self.vehicle == .any || self.trip == .any || self.deliveryVehicle == .any || self.task == .any
            || self.taskList == .any || self.tracking == .any
    }
}
