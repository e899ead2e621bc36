// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

/// The permission matrix as the specification prints it, beside the table that decides.
///
/// The rows are written out by hand from the published tables and scripts; nothing here is derived from the rules.
@Suite struct AccessMatrixTests {
    struct Row: Sendable {
        let method: FleetMethod
        let fields: [String]
        /// One letter for each column: `y` allowed, `n` denied.
        let cells: String

        init(_ method: FleetMethod, _ fields: [String], _ cells: String) {
            self.method = method
            self.fields = fields
            self.cells = cells
        }

        init(_ method: FleetMethod, _ cells: String) {
            self.init(method, [], cells)
        }
    }

    /// Columns: consumer, driver, server, fleet reader; each token names exactly what the request addresses.
    static let onDemand: [Row] = [
        Row(.createVehicle, "nnyn"),
        Row(.getVehicle, "nyyy"),
        Row(.updateVehicle, ["last_location"], "nyyn"),
        Row(.updateVehicle, ["vehicle_state", "lastLocation", "deviceSettings"], "nyyn"),
        Row(.updateVehicle, ["vehicle_state"], "nyyn"),
        Row(.updateVehicle, ["current_route_segment", "eta_to_first_waypoint"], "nyyn"),
        Row(.updateVehicle, ["last_location.supplemental_location"], "nyyn"),
        Row(.updateVehicle, ["last_location", "route"], "nyyn"),
        Row(.updateVehicle, ["maximum_capacity"], "nnyn"),
        Row(.updateVehicle, ["last_location", "attributes"], "nnyn"),
        Row(.updateVehicle, ["no_such_field"], "nnyn"),
        Row(.updateVehicleAttributes, "nnyn"),
        Row(.deleteVehicle, "nnyn"),
        Row(.listVehicles, "nnyy"),
        Row(.searchVehicles, "ynyy"),
        Row(.createTrip, "nnyn"),
        Row(.createTrip, ["vehicle_waypoints"], "nnyn"),
        Row(.getTrip, "yyyy"),
        Row(.updateTrip, ["dropoff_point"], "nyyn"),
        Row(.updateTrip, ["vehicle_id"], "nnyn"),
        Row(.updateTrip, ["dropoffPoint", "vehicleId"], "nnyn"),
        Row(.updateTrip, ["vehicle_waypoints"], "nnyn"),
        Row(.updateTrip, ["dropoff_point", "vehicleWaypoints.location"], "nnyn"),
        Row(.updateTrip, ["trip_status"], "nnyn"),
        Row(.updateTrip, ["tripStatus", "vehicleId"], "nnyn"),
        Row(.searchTrips, "nyyy"),
        Row(.deleteTrip, "nnyn"),
        Row(.reportBillableTrip, "nnyn"),
    ]

    /// Columns: consumer by tracking id, consumer by task, untrusted driver, trusted driver (vehicle and task),
    /// delivery fleet reader, delivery server, fleet reader.
    static let scheduled: [Row] = [
        Row(.createDeliveryVehicle, "nnnynyn"),
        Row(.getDeliveryVehicle, "nnyyyyy"),
        Row(.updateDeliveryVehicle, ["last_location"], "nnyynyn"),
        Row(.updateDeliveryVehicle, ["remaining_vehicle_journey_segments"], "nnnynyn"),
        Row(.updateDeliveryVehicle, ["last_location", "remainingVehicleJourneySegments"], "nnnynyn"),
        Row(.updateDeliveryVehicle, ["attributes"], "nnnynyn"),
        Row(.listDeliveryVehicles, "nnnnyyy"),
        Row(.deleteDeliveryVehicle, "nnnnnyn"),
        Row(.createTask, "nnnynyn"),
        Row(.batchCreateTasks, "nnnnnnn"),
        Row(.getTask, "nnnnyyy"),
        Row(.updateTask, ["task_outcome"], "nnnynyn"),
        Row(.listTasks, "nnnnyyy"),
        Row(.deleteTask, "nnnnnyn"),
        Row(.getTaskTrackingInfo, "ynnnyyy"),
    ]

    private static func isAllowed(_ request: AccessRequest, _ type: TokenType) throws -> Bool {
        let account = TrustedAccount(email: "signer@acme", role: type.role, provider: request.provider)
        var claims = TokenClaims(account: account.email, issuedAt: 0, expiresAt: 3600, authorization: nil)
        claims.authorization = try type.claims
        return try Self.isAllowed(request, claims, account)
    }

    private static func isAllowed(
        _ request: AccessRequest, _ claims: TokenClaims, _ account: TrustedAccount
    ) throws -> Bool {
        let explanation = Self.explanation(of: request, claims, account)
        do throws(TokenRefusal) {
            try request.authorize(try ExaminedTokens.token(claims: claims, account: account))
            #expect(explanation.isAllowed)
            return true
        } catch {
            #expect(error.status == .permissionDenied)
            // Of an account without a role, what explains a call says that it is not known.
            let isKnown = account.role != nil || account.granted != nil
            #expect(explanation.refusal == (isKnown ? error : nil) && !explanation.isAllowed)
            return false
        }
    }

    private static func explanation(
        of request: AccessRequest, _ claims: TokenClaims, _ account: TrustedAccount
    ) -> TokenExplanation {
        TokenExaminer().explain(
            ExaminedTokens.text(of: claims), request: request,
            keys: FakeKeys(list: [FakeKey(id: "k", account: account, byte: 1)]), now: .init(timeIntervalSince1970: 300))
    }

    private func check(_ row: Row, types: [TokenType], request: AccessRequest) throws {
        for (type, cell) in zip(types, row.cells) {
            #expect(
                try Self.isAllowed(request, type) == (cell == "y"), "\(row.method.name) \(row.fields) with \(type)")
        }
        #expect(types.count == row.cells.count)
    }

    @Test func `every on-demand cell is as published`() throws {
        let provider = try ProviderID(checking: "acme")
        let vehicle = try VehicleID(checking: "veh-3")
        let trip = try TripID(checking: "trip-7")
        for row in Self.onDemand {
            let request = AccessRequest(
                method: row.method, provider: provider, vehicle: vehicle, trip: trip, vehicleOfTrip: vehicle,
                maskedFields: row.fields
            )
            try self.check(row, types: [.consumer(trip), .driver(vehicle), .server, .fleetReader], request: request)
        }
    }

    @Test func `every scheduled cell is as published`() throws {
        let provider = try ProviderID(checking: "acme")
        let van = try DeliveryVehicleID(checking: "dv-12")
        let task = try TaskID(checking: "task-21")
        let tracking = try TrackingID(checking: "shp-881")
        for row in Self.scheduled {
            let request = AccessRequest(
                method: row.method, provider: provider, deliveryVehicle: van, tasks: [task], tracking: tracking,
                maskedFields: row.fields
            )
            let types: [TokenType] = [
                .deliveryConsumer(tracking), .deliveryConsumerTask(task), .deliveryUntrustedDriver(van),
                .deliveryTrustedDriver(van, task: task), .deliveryFleetReader, .deliveryServer, .fleetReader,
            ]
            try self.check(row, types: types, request: request)
        }
    }

    @Test func `a token for something else is denied wherever an id is compared`() throws {
        let provider = try ProviderID(checking: "acme")
        let other = AccessRequest(
            method: .getVehicle, provider: provider, vehicle: VehicleID("x"), trip: TripID("x"),
            vehicleOfTrip: VehicleID("x"), deliveryVehicle: DeliveryVehicleID("x"), tasks: [try TaskID(checking: "x")],
            tracking: TrackingID("x")
        )
        let narrow: [TokenType] = [
            .consumer(try TripID(checking: "trip-7")), .driver(try VehicleID(checking: "veh-3")),
            .deliveryConsumer(try TrackingID(checking: "shp-881")),
            .deliveryUntrustedDriver(try DeliveryVehicleID(checking: "dv-12")),
            .deliveryTrustedDriver(try DeliveryVehicleID(checking: "dv-12"), task: TaskID("task-21")),
        ]
        for method in FleetMethod.allCases {
            var request = other
            request.method = method
            for type in narrow { #expect(try !Self.isAllowed(request, type), "\(method.name) with \(type)") }
        }
    }

    @Test func `a driver reaches a trip only through the vehicle it is assigned to`() throws {
        var request = AccessRequest(
            method: .getTrip, provider: try ProviderID(checking: "acme"), trip: TripID("trip-7"))
        let driver = TokenType.driver(try VehicleID(checking: "veh-3"))
        #expect(try !Self.isAllowed(request, driver))
        request.vehicleOfTrip = VehicleID("other")
        #expect(try !Self.isAllowed(request, driver))
        request.vehicleOfTrip = VehicleID("veh-3")
        #expect(try Self.isAllowed(request, driver))
    }

    @Test func `a batch needs a token that lists every task`() throws {
        let tasks = try ["a", "b"].map { try TaskID(checking: $0) }
        let request = AccessRequest(
            method: .batchCreateTasks, provider: try ProviderID(checking: "acme"), tasks: tasks)
        #expect(try Self.isAllowed(request, .batchTaskCreation(.any)))
        #expect(try Self.isAllowed(request, .batchTaskCreation(.only(tasks))))
        #expect(try !Self.isAllowed(request, .batchTaskCreation(.only([tasks[0]]))))
    }

    @Test func `the fix of a claim that reaches too little fits what the call addresses`() throws {
        let task = try AuthorizationClaims(taskList: .only([TaskID(checking: "a")]))
        let vehicle = try AuthorizationClaims(vehicle: .only(VehicleID(checking: "a")))
        func fix(_ claims: AuthorizationClaims, _ method: FleetMethod, _ names: String...) throws -> String? {
            let requests = try names.map { name in
                AccessRequest(method: method, resource: try ResourceName(checking: "providers/acme\(name)"))
            }
            var request = try #require(requests.first)
            request.tasks = requests.flatMap(\.tasks)
            do throws(TokenRefusal) {
                try request.checkCoverage(of: claims, role: nil)
                return nil
            } catch {
                return error.fix
            }
        }
        #expect(try fix(task, .batchCreateTasks, "/tasks/a") == nil)
        let list = "Mint a token whose taskids lists every task of the batch."
        #expect(try fix(task, .batchCreateTasks, "/tasks/a", "/tasks/b") == list)
        #expect(try fix(vehicle, .listVehicles, "") == "Mint a token for the wildcard.")
        #expect(try fix(vehicle, .getVehicle, "/vehicles/b") == "Mint a token for that very id.")
    }

    @Test func `a token for one task opens no call for that one and another`() throws {
        let (own, other) = (try TaskID(checking: "own"), try TaskID(checking: "other"))
        let van = try DeliveryVehicleID(checking: "dv-12")
        let type = TokenType.deliveryTrustedDriver(van, task: own)
        for (tasks, isAllowed) in [([own], true), ([own, other], false), ([other, own], false), ([], false)] {
            let request = AccessRequest(
                method: .updateTask, provider: try ProviderID(checking: "acme"), tasks: tasks,
                maskedFields: ["task_outcome"])
            #expect(try Self.isAllowed(request, type) == isAllowed, "\(tasks)")
        }
    }

    @Test func `an admin account needs no claims, any other does`() throws {
        let provider = try ProviderID(checking: "acme")
        let request = AccessRequest(
            method: .updateVehicle, provider: provider, vehicle: VehicleID("veh-3"), maskedFields: ["attributes"])
        let scheduled = AccessRequest(method: .getTask, provider: provider, tasks: [try TaskID(checking: "t")])
        for role in Role.known {
            let account = TrustedAccount(email: "signer@acme", role: role, provider: provider)
            let claims = TokenClaims(account: account.email, issuedAt: 0, expiresAt: 3600, authorization: nil)
            #expect(try Self.isAllowed(request, claims, account) == (role == .onDemandAdmin), "\(role)")
            #expect(try Self.isAllowed(scheduled, claims, account) == (role == .deliveryAdmin), "\(role)")
        }
    }

    @Test func `an account with permissions of its own needs no role`() throws {
        let provider = try ProviderID(checking: "acme")
        let account = TrustedAccount(email: "signer@acme", provider: provider, granted: [.vehiclesGet])
        var claims = TokenClaims(account: account.email, issuedAt: 0, expiresAt: 3600, authorization: nil)
        claims.authorization = try TokenType.server.claims
        var request = AccessRequest(method: .getVehicle, provider: provider, vehicle: VehicleID("veh-3"))
        #expect(try Self.isAllowed(request, claims, account))
        request.method = .deleteVehicle
        #expect(try !Self.isAllowed(request, claims, account))
        #expect(
            Self.explanation(of: request, claims, account).refusal?.message
                == "The account lacks fleetengine.vehicles.delete for DeleteVehicle.")
        let nobody = TrustedAccount(email: "signer@acme", provider: provider)
        #expect(try !Self.isAllowed(request, claims, nobody))
        #expect(
            throws: TokenRefusal.permissionDenied(
                .roleUnknown, "The account that signed the token holds no Fleet Engine role.",
                fix: "Register the account with a role.")
        ) { try request.authorize(try ExaminedTokens.token(claims: claims, account: nobody)) }
        // What is granted counts, and not what the role would permit.
        let limited = TrustedAccount(email: "signer@acme", role: .server, provider: provider, granted: [.vehiclesGet])
        #expect(try !Self.isAllowed(request, claims, limited))
        request.method = .getVehicle
        #expect(try Self.isAllowed(request, claims, limited))
    }

    /// Whether claims reach what a server's call addresses.
    private func isCovered(_ request: AccessRequest, _ claims: AuthorizationClaims) -> Bool {
        (try? request.checkCoverage(of: claims, role: .server)) != nil
    }

    @Test func `a list takes the wildcard, and no single id will do`() throws {
        let provider = try ProviderID(checking: "acme")
        let one = try AuthorizationClaims(
            vehicle: .only(VehicleID(checking: "v")), deliveryVehicle: .only(DeliveryVehicleID(checking: "d")),
            task: .only(TaskID(checking: "t")))
        let all = try AuthorizationClaims(vehicle: .any, deliveryVehicle: .any, task: .any)
        for method in [FleetMethod.listVehicles, .listDeliveryVehicles, .listTasks] {
            let request = AccessRequest(
                method: method, provider: provider, vehicle: VehicleID("v"), deliveryVehicle: DeliveryVehicleID("d"),
                tasks: [try TaskID(checking: "t")])
            #expect(!self.isCovered(request, one), "\(method.name)")
            #expect(self.isCovered(request, all), "\(method.name)")
        }
    }

    @Test func `a wildcard for vehicles reaches a trip that has none`() throws {
        let request = AccessRequest(
            method: .getTrip, resource: try ResourceName(checking: "providers/acme/trips/trip-7"))
        #expect(self.isCovered(request, try AuthorizationClaims(vehicle: .any)))
        #expect(!self.isCovered(request, try AuthorizationClaims(vehicle: .only(VehicleID(checking: "veh-3")))))
    }

    @Test func `the order of a vehicle's stops takes a claim on the vehicle that the trip gets, not on the one it had`()
        throws
    {
        var request = AccessRequest(
            method: .updateTrip, resource: try ResourceName(checking: "providers/acme/trips/trip-7"),
            maskedFields: ["vehicle_waypoints"])
        request.vehicleOfTrip = VehicleID("old")
        let (old, new) = try (
            AuthorizationClaims(vehicle: .only(VehicleID(checking: "old"))),
            AuthorizationClaims(vehicle: .only(VehicleID(checking: "new")))
        )
        #expect(self.isCovered(request, old) && !self.isCovered(request, new))
        request.nextVehicleOfTrip = VehicleID("new")
        #expect(self.isCovered(request, new) && !self.isCovered(request, old))
    }

    @Test func `an order of stops is left out of an update of a trip only where no vehicle is known`() throws {
        var request = AccessRequest(
            method: .updateTrip, resource: try ResourceName(checking: "providers/acme/trips/trip-7"),
            maskedFields: ["dropoff_point", "vehicle_waypoints", "vehicleWaypoints"])
        #expect(request.withoutOrder?.maskedFields == ["dropoff_point"])
        #expect(request.withoutOrder?.trip == request.trip)
        for change: (inout AccessRequest) -> Void in [
            { $0.method = .createTrip }, { $0.vehicleOfTrip = VehicleID("v") },
            { $0.nextVehicleOfTrip = VehicleID("v") },
            { $0.maskedFields = ["dropoff_point"] },
        ] {
            var other = request
            change(&other)
            #expect(other.withoutOrder == nil)
        }
        request.maskedFields = ["vehicleWaypoints"]
        #expect(request.withoutOrder?.maskedFields == [])
    }

    @Test func `a search for vehicles asks for the trip's id only of a token that has one`() throws {
        let vehicle = try AuthorizationClaims(vehicle: .any)
        let trip = try AuthorizationClaims(trip: .only(TripID(checking: "trip-7")))
        var request = AccessRequest(method: .searchVehicles, resource: try ResourceName(checking: "providers/acme"))
        #expect(self.isCovered(request, vehicle) && self.isCovered(request, trip))
        request.trip = TripID("trip-7")
        #expect(self.isCovered(request, vehicle) && self.isCovered(request, trip))
        request.trip = TripID("other")
        #expect(self.isCovered(request, vehicle) && !self.isCovered(request, trip))
    }

    @Test func `every row of a call has to free an account from claims, and an admin of trips reports them too`() throws
    {
        let provider = try ProviderID(checking: "acme")
        var account = TrustedAccount(
            email: "signer@acme", provider: provider,
            granted: [.tripsUpdate, .tripsAllowAllActions, .vehiclesUpdate, .billableTripsReport])
        let claims = TokenClaims(account: account.email, issuedAt: 0, expiresAt: 3600, authorization: nil)
        let trip = try ResourceName(checking: "providers/acme/trips/trip-7")
        let order = AccessRequest(
            method: .updateTrip, resource: trip, maskedFields: ["dropoff_point", "vehicle_waypoints"])
        #expect(try !Self.isAllowed(order, claims, account))
        let update = AccessRequest(method: .updateTrip, resource: trip, maskedFields: ["dropoff_point"])
        let report = AccessRequest(method: .reportBillableTrip, resource: trip)
        #expect(try Self.isAllowed(update, claims, account) && Self.isAllowed(report, claims, account))
        account.granted?.insert(.vehiclesAllowAllActions)
        #expect(try Self.isAllowed(order, claims, account))
    }

    /// What a role's update of a vehicle is refused with for its mask.
    private func refusal(of role: Role, mask: [String]) throws -> TokenRefusal? {
        let request = AccessRequest(
            method: .updateVehicle, resource: try ResourceName(checking: "providers/acme/vehicles/veh-3"),
            maskedFields: mask)
        do throws(TokenRefusal) {
            try request.checkPermission(of: role)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            (["lastLocation", " vehicleState"], #"" vehicleState""#), (["vehicle_state", ""], "\"\""),
            (["vehicleStat", "vehicleState.x"], #""vehicleStat""#), (["a\n\u{202E}"], #""a\u000a\u202e""#),
            (["a", "b", "last_location", "c"], #""a" and "b" and "c""#),
            (["a", "b", "c", "attributes", "e"], #""a" and "b" and "c" and 2 more"#),
            ([String(repeating: "a", count: 65)], "\"\(String(repeating: "a", count: 64))…\""),
        ] as [([String], String)])
    func `an update is refused with the paths that take what the role lacks`(mask: [String], named: String) throws {
        let refusal = try self.refusal(of: .driver, mask: mask)
        #expect(refusal?.reason == .roleLacksPermission)
        #expect(
            refusal?.message
                == "The role driver lacks fleetengine.vehicles.update for UpdateVehicle with \(named).")
        #expect(refusal?.fix.hasPrefix("Check how the fields are spelt, or call the method with a token ") == true)
    }

    @Test func `a role that may not write any field is told nothing of how it is spelt`() throws {
        #expect(try self.refusal(of: .driver, mask: ["lastLocation"]) == nil)
        for (mask, named) in [([], ""), (["attributes"], #" with "attributes""#)] {
            let refusal = try self.refusal(of: .consumer, mask: mask)
            #expect(refusal?.message.hasSuffix(" for UpdateVehicle\(named).") == true)
            #expect(refusal?.fix.hasPrefix("Call the method with a token ") == true)
        }
    }

    @Test func `the words of every condition name the wildcard, which meets it`() {
        for row in AccessRule.matrix where row.claim != .none {
            #expect(row.claim.requirement.contains("wildcard"), "\(row.method.name)")
        }
        #expect(AccessRule.Claim.tripSearchedFor.requirement.hasPrefix("tripid, where the token has one, must be"))
    }

    @Test func `an account of another provider is denied everything`() throws {
        let account = TrustedAccount(email: "signer@rival", role: .server, provider: ProviderID("rival"))
        let claims = TokenClaims(
            account: account.email, issuedAt: 0, expiresAt: 3600, authorization: try TokenType.server.claims)
        for method in FleetMethod.allCases {
            let request = AccessRequest(
                method: method, provider: try ProviderID(checking: "acme"), vehicle: VehicleID("v"), trip: TripID("t"))
            #expect(try !Self.isAllowed(request, claims, account))
        }
    }

    @Test func `every method has a row, and every permission of a row is granted to some role`() {
        let granted = Role.known.reduce(into: Set<Permission>()) { $0.formUnion($1.permissions) }
        for method in FleetMethod.allCases {
            let rows = AccessRule.matrix.filter { $0.method == method }
            #expect(!rows.isEmpty, "\(method.name)")
            for row in rows { #expect(row.permissions.isSubset(of: granted)) }
        }
    }
}

/// Makes verified tokens the only way there is: by examining one.
enum ExaminedTokens {
    static func token(claims: TokenClaims, account: TrustedAccount) throws(TokenRefusal) -> ExaminedToken {
        let keys = FakeKeys(list: [FakeKey(id: "k", account: account, byte: 1)])
        return try TokenExaminer().examine(self.text(of: claims), keys: keys, now: .init(timeIntervalSince1970: 300))
    }

    /// A token that the key `k` signed.
    static func text(of claims: TokenClaims) -> String {
        func part(_ bytes: some Collection<UInt8>) -> String {
            String(decoding: Base64URL.encode(bytes), as: UTF8.self)
        }
        return "\(part(#"{"alg":"RS256","kid":"k"}"#.utf8)).\(part(claims.payload)).\(part([1]))"
    }
}
