// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// Lists page by page, on both stores.
@Suite struct ListTests {
    private static func withVehicles(
        _ kind: StoreKind, _ ids: [String], _ body: (EngineFixture) async throws -> Void
    ) async throws {
        try await kind.withStore { store in
            let fixture = EngineFixture(store: store)
            for id in ids { try await fixture.createVehicle(id) }
            try await body(fixture)
        }
    }

    private static func list(
        _ fixture: EngineFixture, _ change: (inout ListVehicles.Request) -> Void = { _ in }
    ) async throws -> ListVehicles.Response {
        var request = ListVehicles.Request.with { $0.parent = "providers/acme" }
        change(&request)
        return try await fixture.engine.perform(ListVehicles.self, request, token: serverToken)
    }

    private static func ids(_ response: ListVehicles.Response) -> [String] {
        response.vehicles.map { String($0.name.split(separator: "/")[3]) }
    }

    @Test(arguments: StoreKind.allCases)
    func `pages hold every vehicle once, in the order of ids, and tell how many there are`(
        kind: StoreKind
    ) async throws {
        // The order is that of the bytes of UTF-8: upper case first, and the scalars beyond the first plane last.
        let ids = ["a", "B", "b-10", "b-9", "é", "\u{FFFD}", "\u{1F697}"]
        try await Self.withVehicles(kind, ids.shuffled()) { fixture in
            var seen: [String] = []
            var token = ""
            repeat {
                let page = try await Self.list(fixture) {
                    $0.pageSize = 2
                    $0.pageToken = token
                }
                #expect(page.totalSize == 7)
                seen += Self.ids(page)
                token = page.nextPageToken
            } while !token.isEmpty
            #expect(seen == ["B", "a", "b-10", "b-9", "é", "\u{FFFD}", "\u{1F697}"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a page that is just full is the last one`(kind: StoreKind) async throws {
        try await Self.withVehicles(kind, ["a", "b"]) { fixture in
            let page = try await Self.list(fixture) { $0.pageSize = 2 }
            #expect(Self.ids(page) == ["a", "b"])
            #expect(page.nextPageToken.isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `writes between two pages move nothing else`(kind: StoreKind) async throws {
        try await Self.withVehicles(kind, ["b", "c", "d", "e", "f"]) { fixture in
            let first = try await Self.list(fixture) { $0.pageSize = 2 }
            #expect(Self.ids(first) == ["b", "c"])
            // One before the page's end is created, and one gone, and the very one that the token names.
            try await fixture.createVehicle("a")
            for id in ["b", "c", "e"] {
                _ = try await fixture.engine.perform(
                    DeleteVehicle.self, .with { $0.name = "providers/acme/vehicles/\(id)" }, token: serverToken)
            }
            let second = try await Self.list(fixture) {
                $0.pageSize = 2
                $0.pageToken = first.nextPageToken
            }
            #expect(Self.ids(second) == ["d", "f"])
            #expect(second.nextPageToken.isEmpty)
        }
    }

    @Test func `a token is refused with another query, and taken with another size and header`() async throws {
        try await Self.withVehicles(.memory, ["a", "b", "c"]) { fixture in
            let token = try await Self.list(fixture) { $0.pageSize = 1 }.nextPageToken
            #expect(!token.isEmpty)
            func outcome(_ change: @escaping (inout ListVehicles.Request) -> Void) async -> EngineError.Code? {
                await code {
                    try await Self.list(fixture) {
                        $0.pageToken = token
                        change(&$0)
                    }
                }
            }
            #expect(await outcome { $0.pageSize = 5 } == nil)
            #expect(await outcome { $0.header.regionCode = "US" } == nil)
            #expect(await outcome { $0.filter = "attributes.a = 1" } == .invalidArgument)
            #expect(await outcome { $0.onTripOnly = true } == .invalidArgument)
            #expect(await outcome { $0.pageToken = "x" + token.dropFirst() } == .invalidArgument)
            for bad in ["*", "AAAA", String(repeating: "A", count: 5000)] {
                #expect(await outcome { $0.pageToken = bad } == .invalidArgument)
            }
            // The other list of vehicles has the same parameters.
            let other = await code {
                try await fixture.engine.perform(
                    ListDeliveryVehicles.self,
                    .with {
                        $0.parent = "providers/acme"
                        $0.pageToken = token
                    }, token: deliveryToken)
            }
            #expect(other == .invalidArgument)
        }
    }

    @Test func `a page holds a hundred unless asked, a thousand at most, and never a negative number`() async throws {
        let store = MemoryStore()
        try await store.write { transaction in
            for number in 0..<1100 { try transaction.put(Vehicle.sample, TestID.id("v\(number)"), of: TestID.acme) }
        }
        let fixture = EngineFixture(store: store)
        #expect(try await Self.list(fixture).vehicles.count == 100)
        #expect(try await Self.list(fixture) { $0.pageSize = 5000 }.vehicles.count == 1000)
        #expect(await code { try await Self.list(fixture) { $0.pageSize = -1 } } == .invalidArgument)
    }

    @Test(arguments: StoreKind.allCases)
    func `a page ends before it is too long for clients, and holds one resource at least`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            let world = DeliveryWorld(store: store)
            let lengths = [("a", 1_400_000), ("b", 1_400_000), ("c", 1_400_000), ("d", 4_000_000), ("e", 1), ("f", 1)]
            for (id, length) in lengths {
                try await world.createVehicle(id)
                try await world.updateVehicle(id, ["current_route_segment"]) {
                    $0.currentRouteSegment = Data(count: length)
                }
            }
            var pages: [String] = []
            var token = ""
            repeat {
                let page = try await world.engine.perform(
                    ListDeliveryVehicles.self,
                    .with {
                        $0.parent = "providers/acme"
                        $0.pageToken = token
                    }, token: deliveryToken)
                #expect(page.totalSize == 6)
                pages.append(String(page.deliveryVehicles.compactMap(\.name.last)))
                token = page.nextPageToken
            } while !token.isEmpty
            #expect(pages == ["ab", "c", "d", "ef"])
        }
    }

    // MARK: - Criteria

    private static let world: [String: @Sendable (inout Vehicle) -> Void] = [
        "idle": { $0.attributes = [.of("class", "van"), .of("seats", "7")] },
        "busy": { $0.attributes = [.of("class", "car")] },
        "offline": { $0.vehicleState = .offline },
        "taxi": { $0.vehicleType.category = .taxi },
        "large": { $0.maximumCapacity = 8 },
        "shared": { $0.supportedTripTypes = [.shared] },
        "fiji": { $0.lastLocation = .at(-18, 179.5) },
        "nowhere": { $0.clearLastLocation() },
        "raw": { $0.lastLocation = .with { $0.rawLocation = .at(50.2, 50.2) } },
        "fused": { $0.lastLocation = .with { $0.flpLocation = .at(50.4, 50.4) } },
    ]

    private typealias Change = @Sendable (inout ListVehicles.Request) -> Void

    private static let criteria: [(String, Change, [String])] = [
        ("state", { $0.vehicleState = .offline }, ["offline"]),
        ("on trip", { $0.onTripOnly = true }, ["busy"]),
        ("category", { $0.vehicleTypeCategories = [.taxi, .truck] }, ["taxi"]),
        ("capacity", { $0.minimumCapacity = 5 }, ["large"]),
        ("trip type", { $0.tripTypes = [.shared] }, ["shared"]),
        ("attribute", { $0.requiredAttributes = ["class:van"] }, ["idle"]),
        ("one of", { $0.requiredOneOfAttributes = ["class:van|class:car", "seats:7|seats:9"] }, ["idle"]),
        ("sets", { $0.requiredOneOfAttributeSets = ["class:van|seats:9", "class:car"] }, ["busy"]),
        ("filter", { $0.filter = "attributes.class = \"van\" OR attributes.class = \"car\"" }, ["busy", "idle"]),
        ("missing attribute", { $0.filter = "attributes.seats != \"9\"" }, ["idle"]),
        ("box", { $0.viewport = .of(-19, 179, -17, -179) }, ["fiji"]),
        ("readings alone", { $0.viewport = .of(50, 50, 51, 51) }, ["fused", "raw"]),
        (
            "all of them",
            {
                $0.viewport = .of(37, -123, 38, -122)
                $0.vehicleState = .online
                $0.filter = "attributes.class = \"car\""
            }, ["busy"]
        ),
    ]

    @Test(arguments: StoreKind.allCases)
    func `each criterion finds what it names`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let fixture = EngineFixture(store: store)
            for (id, change) in Self.world {
                var vehicle = Vehicle.sample
                change(&vehicle)
                try await fixture.createVehicle(id, vehicle)
            }
            var trip = Trip.sample
            trip.vehicleID = "busy"
            try await fixture.createTrip("trip-1", trip)
            for (name, change, found) in Self.criteria {
                let response = try await Self.list(fixture, change)
                #expect(Self.ids(response) == found, "\(name)")
                #expect(response.totalSize == Int64(found.count), "\(name)")
            }
            fixture.advance(by: 400)
            try await fixture.updateVehicle("taxi", ["last_location"]) { $0.lastLocation = .at(37, -122) }
            #expect(Self.ids(try await Self.list(fixture) { $0.maximumStaleness.seconds = 300 }) == ["taxi"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a filter finds any text that an attribute may have`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let fixture = EngineFixture(store: store)
            try await fixture.createVehicle("veh-1", .with(.sample) { $0.attributes = [.of("class", "a\0b")] })
            let cases: [(String, [String])] = [("a\0b", ["veh-1"]), ("a*", ["veh-1"]), ("a", []), ("a\0", [])]
            for (value, found) in cases {
                let list = try await Self.list(fixture) { $0.filter = "attributes.class = \"\(value)\"" }
                #expect(Self.ids(list) == found)
            }
        }
    }

    private static let malformed: [Change] = [
        { $0.vehicleTypeCategories = [.unknown] }, { $0.tripTypes = [.unknownTripType] }, { $0.minimumCapacity = -1 },
        { $0.maximumStaleness.seconds = 0 }, { $0.vehicleState = .UNRECOGNIZED(9) },
        { $0.requiredAttributes = ["class"] }, { $0.requiredAttributes = [""] },
        { $0.requiredOneOfAttributes = [""] }, { $0.requiredOneOfAttributes = ["|"] },
        { $0.requiredOneOfAttributeSets = [""] }, { $0.requiredOneOfAttributeSets = ["class:van||"] },
        {
            $0.requiredAttributes = ["class:van"]
            $0.filter = "attributes.class = \"van\""
        },
        { $0.filter = "state = ONLINE" }, { $0.viewport.low = .at(1, 1) }, { $0.viewport = .of(1, 1, 0, 2) },
        { $0.viewport = .of(0, 180, 1, -180) }, { $0.viewport = .of(0, 0, 91, 1) },
    ]

    @Test(arguments: malformed.indices)
    func `a criterion that cannot be is refused`(index: Int) async throws {
        #expect(await code { try await Self.list(EngineFixture(), Self.malformed[index]) } == .invalidArgument)
    }

    @Test(arguments: [
        ("state = OPEN", true), ("state = CLOSED", false), ("state != OPEN", false),
        ("taskOutcome = SUCCEEDED AND type = DELIVERY", true), ("task_outcome_time < \"2027-01-15T08:00:01Z\"", true),
        ("task_outcome_time <= 2027-01-15T08:00:00Z", true), ("task_outcome_time < 2027-01-15T08:00:00Z", false),
        ("task_outcome_time > \"2027-01-15T07:59:59.5Z\"", true), ("task_outcome_time >= 2027-01-15T08:00:00Z", true),
        ("task_outcome_time = 2027-01-15T08:00:00Z", true), ("delivery_vehicle_id != dv-1", false),
        ("tracking_id = \"shp*\"", true), ("name = \"providers/acme/tasks/task-1\"", true),
        ("attributes.size = \"\" OR state = CLOSED", true),
    ])
    func `tasks are filtered by their fields`(filter: String, isFound: Bool) async throws {
        let world = DeliveryWorld()
        try await world.createTask("task-1") { $0.attributes = [.with { $0.key = "size" }] }
        try await world.updateTask("task-1", ["task_outcome"]) { $0.taskOutcome = .succeeded }
        let response = try await world.engine.perform(
            ListTasks.self,
            .with {
                $0.parent = "providers/acme"
                $0.filter = filter
            }, token: deliveryToken)
        #expect(response.tasks.count == (isFound ? 1 : 0))
        #expect(response.totalSize == (isFound ? 1 : 0))
    }

    @Test(arguments: [
        "tracking_id = \"a\0b\"", "state = ARRIVED", "state > OPEN", "task_outcome_time < yesterday", "wheels = 4",
        "tracking_id < a", "state",
        "state =",
    ])
    func `a filter of tasks that cannot be is refused`(filter: String) {
        #expect(throws: EngineError.self) { try ResourceFilter(filter, fields: TaskFields.filterable) }
    }

    @Test(arguments: StoreKind.allCases)
    func `tasks are found by vehicle, tracking id and state, whichever index serves`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let world = DeliveryWorld(store: store)
            try await world.createVehicle("dv-1")
            for id in ["a", "b", "c"] { try await world.createTask(id, tracking: id == "c" ? "shp-2" : "shp-1") }
            try await world.plan("dv-1", [["a"], ["b"]])
            try await world.plan("dv-1", [["b"]])
            func ids(_ filter: String) async throws -> [String] { try await Self.tasks(world, filter) }
            #expect(try await ids("") == ["a", "b", "c"])
            #expect(try await ids("delivery_vehicle_id = dv-1") == ["a", "b"])
            #expect(try await ids("delivery_vehicle_id = dv-1 AND state = OPEN") == ["b"])
            #expect(try await ids("state = OPEN") == ["b", "c"])
            #expect(try await ids("state = CLOSED OR tracking_id = shp-2") == ["a", "c"])
            #expect(try await ids("NOT delivery_vehicle_id = dv-1") == ["c"])
        }
    }

    private static func tasks(_ world: DeliveryWorld, _ filter: String) async throws -> [String] {
        let response = try await world.engine.perform(
            ListTasks.self,
            .with {
                $0.parent = "providers/acme"
                $0.filter = filter
            }, token: deliveryToken)
        return response.tasks.map { String($0.name.split(separator: "/")[3]) }
    }

    @Test(arguments: StoreKind.allCases)
    func `tasks are found by their ids however an accent is spelled`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let world = DeliveryWorld(store: store)
            try await world.createVehicle("Caf\u{E9}")
            for id in ["a", "b"] { try await world.createTask(id, tracking: id == "a" ? "Caf\u{E9}" : "other") }
            try await world.plan("Caf\u{E9}", [["a"]])
            for id in ["Caf\u{E9}", "Cafe\u{301}"] {
                for field in ["tracking_id", "delivery_vehicle_id"] {
                    #expect(try await Self.tasks(world, "\(field) = \"\(id)\"") == ["a"])
                    #expect(try await Self.tasks(world, "\(field) = \"\(id)*\"") == ["a"])
                }
                #expect(try await Self.tasks(world, "tracking_id != \"\(id)\"") == ["b"])
            }
        }
    }
}

extension VehicleAttribute {
    fileprivate static func of(_ key: String, _ value: String) -> Self {
        .with {
            $0.key = key
            $0.value = value
        }
    }
}

extension Viewport {
    fileprivate static func of(_ south: Double, _ west: Double, _ north: Double, _ east: Double) -> Self {
        .with {
            $0.low = .at(south, west)
            $0.high = .at(north, east)
        }
    }
}
