// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension DeviationSet {
    /// What is wrong with a token for as long as it lives, beside what was seen of its form.
    ///
    /// - Parameters:
    ///   - claims: The payload.
    ///   - role: The role of the account that signed, where it is known.
    init(of claims: TokenClaims, role: Role?) {
        self = []
        if claims.expiresAt - claims.issuedAt != 3600 { self.insert(.lifetimeNotOneHour) }
        guard let authorization = claims.authorization else { return }
        if !authorization.additional.isEmpty { self.insert(.tokenWithUnknownClaim) }
        guard let role else { return }
        if role.isForDevices, authorization.hasWildcard { self.insert(.wildcardInDeviceToken) }
        if role.ignoresSome(of: authorization) { self.insert(.claimThatOpensNothing) }
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

    /// Whether some of the claims open no method to the role.
    fileprivate func ignoresSome(of claims: AuthorizationClaims) -> Bool {
        let isOnDemand = claims.vehicle != nil || claims.trip != nil
        let isOfTasks = claims.task != nil || claims.taskList != nil
        let isDelivery = isOfTasks || claims.deliveryVehicle != nil || claims.tracking != nil
        return switch self {
        case .onDemandAdmin, .deliveryAdmin: true
        case .consumer, .driver, .server: isDelivery
        case .deliveryServer, .deliveryFleetReader: isOnDemand
        case .deliveryTrustedDriver: isOnDemand || claims.tracking != nil
        case .deliveryUntrustedDriver: isOnDemand || isOfTasks || claims.tracking != nil
        case .deliveryConsumer: isOnDemand || isOfTasks || claims.deliveryVehicle != nil
        default: false
        }
    }
}

extension AuthorizationClaims {
    /// Whether a claim reaches everything of its kind.
    fileprivate var hasWildcard: Bool {
        self.vehicle == .any || self.trip == .any || self.deliveryVehicle == .any || self.task == .any
            || self.taskList == .any || self.tracking == .any
    }
}
