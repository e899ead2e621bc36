// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension AccessRequest {
    /// Decides whether a token may make the call: provider, role, then claims.
    ///
    /// - Throws: ``TokenRefusal``, always with ``TokenRefusal/Status/permissionDenied``.
    public func authorize(_ token: ExaminedToken) throws(TokenRefusal) {
        guard token.account.isGranted else {
            throw .permissionDenied(
                .roleUnknown,
                "The account that signed the token holds no Fleet Engine role.",
                fix: "Register the account with a role."
            )
        }
        try self.checkProvider(of: token.account)
        let permissions = token.account.permissions
        let rows = self.rows
        try self.checkPermission(of: token.account.role, permitting: permissions, rows: rows)
        try self.checkCoverage(of: token.claims.authorization, permitting: permissions, rows: rows)
    }

    func checkProvider(of account: TrustedAccount?) throws(TokenRefusal) {
        guard account?.provider == self.provider else {
            throw .permissionDenied(
                .providerMismatch,
                "The account that signed the token belongs to another provider than the request's.",
                fix: "Use the provider id of the account's own project in the resource name."
            )
        }
    }

    /// Decides whether an account's role permits the call.
    ///
    /// - Throws: ``TokenRefusal`` with ``TokenRefusal/Reason/roleLacksPermission``.
    public func checkPermission(of role: Role) throws(TokenRefusal) {
        try self.checkPermission(of: role, permitting: role.permissions, rows: self.rows)
    }

    /// The rows of the matrix that the call must meet.
    var rows: [AccessRule] { AccessRule.rows(for: self.method, maskedFields: self.maskedFields) }

    func checkPermission(
        of role: Role?, permitting permissions: Set<Permission>, rows: [AccessRule]
    ) throws(TokenRefusal) {
        for row in rows where !row.permissions.isSubset(of: permissions) {
            throw self.refusal(by: row, of: role, permitting: permissions)
        }
    }

    /// The refusal of a call for one row of the matrix, with the paths of the mask that the row is for.
    private func refusal(
        by row: AccessRule, of role: Role?, permitting permissions: Set<Permission>
    ) -> TokenRefusal {
        let lacking = row.permissions.subtracting(permissions).map { "fleetengine.\($0.rawValue)" }.sorted()
        let paths = row.paths(of: self.maskedFields)
        var shown = paths.prefix(3).map { "\"\($0.shown(upTo: 64))\"" }
        if paths.count > shown.count { shown.append("\(paths.count - shown.count) more") }
        // A field that is spelt wrong is of the row of all others, and no stronger token helps it.
        let mayBeMisspelt =
            row.fields == .others && !paths.isEmpty
            && AccessRule.matrix.contains { $0.method == self.method && $0.permissions.isSubset(of: permissions) }
        return .permissionDenied(
            .roleLacksPermission,
            "\(role.map { "The role \($0)" } ?? "The account") lacks \(lacking.joined(separator: " and ")) for "
                + "\(self.method.name)\(shown.isEmpty ? "" : " with \(shown.joined(separator: " and "))").",
            fix: "\(mayBeMisspelt ? "Check how the fields are spelt, or call" : "Call") the method with a token signed "
                + "by an account whose role permits it; see the matrix."
        )
    }

    /// Decides whether the claims reach what the call addresses.
    ///
    /// A role that may take every action of a service (an admin's) needs no claims. The refusal's text is the same
    /// whether or not the resource exists.
    ///
    /// - Throws: ``TokenRefusal`` with ``TokenRefusal/Reason/claimsMissing`` or ``TokenRefusal/Reason/claimMismatch``.
    public func checkCoverage(of claims: AuthorizationClaims?, role: Role?) throws(TokenRefusal) {
        try self.checkCoverage(of: claims, permitting: role?.permissions ?? [], rows: self.rows)
    }

    func checkCoverage(
        of claims: AuthorizationClaims?, permitting permissions: Set<Permission>, rows: [AccessRule]
    ) throws(TokenRefusal) {
        if Self.needsNoClaims(permissions, rows: rows) { return }
        guard let present = claims, !present.isEmpty else { throw .claimsMissing(claims) }
        for row in rows where !self.isCovered(by: present, for: row.claim) {
            throw .permissionDenied(
                .claimMismatch,
                "The token's claims do not reach what \(self.method.name) addresses: \(row.claim.requirement).",
                fix: present.spellingFix(for: row.claim) ?? row.claim.fix
            )
        }
    }

    /// Whether an account with these permissions may make any call at all without claims.
    static func isAnyAllowedWithoutClaims(_ permissions: Set<Permission>) -> Bool {
        AccessRule.matrix.contains { row in
            row.permissions.isSubset(of: permissions) && Self.needsNoClaims(permissions, rows: [row])
        }
    }

    private static func needsNoClaims(_ permissions: Set<Permission>, rows: [AccessRule]) -> Bool {
        rows.allSatisfy { $0.freeingPermissions?.isSubset(of: permissions) ?? false }
    }

    private func isCovered(by claims: AuthorizationClaims, for claim: AccessRule.Claim) -> Bool {
        func covers<ID>(_ scope: Scope<ID>?, _ id: ID?) -> Bool {
            guard let scope, let id else { return false }
            return scope.covers(id)
        }
        return switch claim {
        case .none: true
        case .vehicle: covers(claims.vehicle, self.vehicle)
        case .everyVehicle: claims.vehicle == .any
        case .vehicleSearched: claims.vehicle == .any || covers(claims.vehicle, self.vehicle)
        case .trip: covers(claims.trip, self.trip)
        case .tripOrItsVehicle:
            // The wildcard reaches a trip that is assigned to no vehicle as well.
            covers(claims.trip, self.trip) || claims.vehicle == .any || covers(claims.vehicle, self.vehicleOfTrip)
        case .vehicleOfTrip:
            claims.vehicle == .any || covers(claims.vehicle, self.nextVehicleOfTrip ?? self.vehicleOfTrip)
        case .tripSearchedFor: self.trip.map { claims.trip?.covers($0) ?? true } ?? true
        case .deliveryVehicle: covers(claims.deliveryVehicle, self.deliveryVehicle)
        case .everyDeliveryVehicle: claims.deliveryVehicle == .any
        case .task: !self.tasks.isEmpty && self.tasks.allSatisfy { covers(claims.task, $0) }
        case .everyTask: claims.task == .any
        case .taskList: claims.taskList.map { $0.covers(self.tasks) } ?? false
        case .tracking: covers(claims.tracking, self.tracking)
        }
    }
}

extension AccessRule.Claim {
    /// What must hold, in words.
    public var requirement: String {
        switch self {
        case .none: "no claim is needed"
        case .vehicle: "vehicleid must be the vehicle's id or the wildcard"
        case .everyVehicle: "vehicleid must be the wildcard"
        case .vehicleSearched: "vehicleid must be the id of the vehicle searched by, or the wildcard"
        case .trip: "tripid must be the trip's id or the wildcard"
        case .tripOrItsVehicle:
            "tripid must be the trip's id or the wildcard, or vehicleid the vehicle that the trip is assigned to or "
                + "the wildcard"
        case .vehicleOfTrip:
            "vehicleid must be the vehicle that the trip is, or is to be, assigned to, or the wildcard"
        case .tripSearchedFor:
            "tripid, where the token has one, must be the id of the trip searched for, or the wildcard"
        case .deliveryVehicle: "deliveryvehicleid must be the delivery vehicle's id or the wildcard"
        case .everyDeliveryVehicle: "deliveryvehicleid must be the wildcard"
        case .task: "taskid must be the task's id or the wildcard"
        case .everyTask: "taskid must be the wildcard"
        case .taskList: "taskids must list every task of the batch, or be the wildcard alone"
        case .tracking: "trackingid must be the tracking id or the wildcard"
        }
    }

    /// How to mend a token that does not meet it.
    fileprivate var fix: String {
        switch self {
        case .everyVehicle, .everyDeliveryVehicle, .everyTask: "Mint a token for the wildcard."
        case .taskList: "Mint a token whose taskids lists every task of the batch."
        default: "Mint a token for that very id."
        }
    }
}

extension Permission {
    /// The permission that, held beside this one, frees the account from claims.
    var allActions: Permission? {
        switch self.rawValue.prefix(while: { $0 != "." }) {
        case "vehicles": .vehiclesAllowAllActions
        case "trips", "billabletrips": .tripsAllowAllActions
        case "deliveryvehicles": .deliveryVehiclesAllowAllActions
        case "tasks": .tasksAllowAllActions
        case "tasktrackinginfo": .taskTrackingInfoAllowAllActions
        default: nil
        }
    }
}
