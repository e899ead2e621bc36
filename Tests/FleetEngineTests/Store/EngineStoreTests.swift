// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetEngineAPI
import FleetTokens
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct EngineStoreTests {
    private struct Refused: Error {}

    @Test(arguments: StoreKind.allCases)
    func `what is put can be looked up`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let vehicle = Vehicle.at(1, 2, name: "first")
            let trip = Trip.with { $0.name = "a trip" }
            try await store.write { transaction in
                try transaction.put(vehicle, TestID.vehicle, of: TestID.acme)
                try transaction.put(trip, TestID.trip, of: TestID.acme)
            }
            let found = try await store.read { reader in
                (try reader.vehicle(TestID.vehicle, of: TestID.acme), try reader.trip(TestID.trip, of: TestID.acme))
            }
            #expect(found.0 == vehicle)
            #expect(found.1 == trip)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a later put replaces an earlier one`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            for name in ["first", "second"] {
                try await store.write { transaction in
                    try transaction.put(Vehicle.at(1, 2, name: name), TestID.vehicle, of: TestID.acme)
                    try transaction.put(Trip.with { $0.name = name }, TestID.trip, of: TestID.acme)
                }
            }
            let names = try await store.read { reader in
                [
                    try reader.vehicle(TestID.vehicle, of: TestID.acme)?.name,
                    try reader.trip(TestID.trip, of: TestID.acme)?.name,
                ]
            }
            #expect(names == ["second", "second"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a report is kept, alone and after another change of the same vehicle`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let now = Google_Protobuf_Timestamp(seconds: 1_800_000_000)
            try await store.write { try $0.put(Vehicle.at(1, 2), TestID.vehicle, of: TestID.acme) }
            for latitude in [3.0, 4] {
                let reported = Vehicle.at(latitude, 2)
                try await store.write { try $0.report(reported, TestID.vehicle, of: TestID.acme, at: now) }
                #expect(try await store.read { try $0.vehicle(TestID.vehicle, of: TestID.acme) } == reported)
            }
            let changed = Vehicle.with(.at(4, 2)) { $0.maximumCapacity = 9 }
            let reported = Vehicle.with(changed) { $0.lastLocation = .at(5, 2) }
            try await store.write { transaction in
                try transaction.put(changed, TestID.vehicle, of: TestID.acme)
                try transaction.report(reported, TestID.vehicle, of: TestID.acme, at: now)
            }
            #expect(try await store.read { try $0.vehicle(TestID.vehicle, of: TestID.acme) } == reported)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what is removed can be put again, beside what came meanwhile`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            func put(_ id: String, _ name: String) async throws {
                try await store.write { try $0.put(Vehicle.at(1, 2, name: name), TestID.id(id), of: TestID.acme) }
            }
            try await put("veh-1", "first")
            try await store.write { try $0.remove(TestID.id("veh-1"), of: TestID.acme, as: Vehicle.self) }
            try await put("veh-2", "other")
            try await put("veh-1", "again")
            let listed = try await store.read { try $0.listedVehicles(of: TestID.acme) }
            #expect(listed == ["veh-1: again", "veh-2: other"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a provider sees nothing of another`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await store.write { transaction in
                try transaction.put(Vehicle.at(1, 2), TestID.vehicle, of: TestID.acme)
                try transaction.put(Trip(), TestID.trip, of: TestID.acme)
            }
            let box = GeoBox(south: -90, west: -180, north: 90, east: 180)
            let seen = try await store.read { reader in
                (
                    try reader.vehicle(TestID.vehicle, of: TestID.other),
                    try reader.trip(TestID.trip, of: TestID.other),
                    try reader.onlineVehicles(of: TestID.other, in: box).count
                )
            }
            #expect(seen.0 == nil)
            #expect(seen.1 == nil)
            #expect(seen.2 == 0)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a body sees what it put`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let seen = try await store.write { transaction in
                try transaction.put(Vehicle.at(1, 2, name: "mine"), TestID.vehicle, of: TestID.acme)
                return try transaction.vehicle(TestID.vehicle, of: TestID.acme)?.name
            }
            #expect(seen == "mine")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a body that throws leaves nothing`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await store.write { try $0.put(Vehicle.at(1, 2, name: "kept"), TestID.vehicle, of: TestID.acme) }
            await #expect(throws: Refused.self) {
                try await store.write { transaction in
                    try transaction.put(Vehicle.at(3, 4, name: "lost"), TestID.vehicle, of: TestID.acme)
                    try transaction.put(Trip(), TestID.trip, of: TestID.acme)
                    throw Refused()
                }
            }
            let found = try await store.read { reader in
                (
                    try reader.vehicle(TestID.vehicle, of: TestID.acme)?.name,
                    try reader.trip(TestID.trip, of: TestID.acme)
                )
            }
            #expect(found.0 == "kept")
            #expect(found.1 == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a body that throws after it looked through its own changes leaves nothing`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            await #expect(throws: Refused.self) {
                try await store.write { transaction in
                    try transaction.put(Vehicle.at(3, 4, name: "lost"), TestID.vehicle, of: TestID.acme)
                    #expect(try transaction.count(.vehicles, of: TestID.acme) == 1)
                    throw Refused()
                }
            }
            try await store.write { try $0.put(Trip(), TestID.trip, of: TestID.acme) }
            let found = try await store.read { reader in
                (try reader.vehicle(TestID.vehicle, of: TestID.acme), try reader.trip(TestID.trip, of: TestID.acme))
            }
            #expect(found.0 == nil)
            #expect(found.1 != nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a neighbour that throws harms no other write`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let kept = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<90 {
                    group.addTask {
                        do {
                            try await store.write { transaction in
                                try transaction.put(Trip(), TestID.id("trip-\(number)"), of: TestID.acme)
                                if number.isMultiple(of: 3) { throw Refused() }
                            }
                            return true
                        } catch is Refused {
                            return false
                        }
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(kept == 60)
            let present = try await store.read { reader in
                try (0..<90).filter { try reader.trip(TestID.id("trip-\($0)"), of: TestID.acme) != nil }
            }
            #expect(present == (0..<90).filter { !$0.isMultiple(of: 3) })
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `many writers to one vehicle lose nothing`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await store.write { try $0.put(Vehicle.at(1, 2), TestID.vehicle, of: TestID.acme) }
            try await withThrowingDiscardingTaskGroup { group in
                for _ in 0..<64 {
                    group.addTask {
                        for _ in 0..<10 {
                            try await store.write { transaction in
                                var vehicle = try #require(
                                    try transaction.vehicle(TestID.vehicle, of: TestID.acme))
                                vehicle.maximumCapacity += 1
                                try transaction.put(vehicle, TestID.vehicle, of: TestID.acme)
                            }
                        }
                    }
                }
            }
            let count = try await store.read { try $0.vehicle(TestID.vehicle, of: TestID.acme)?.maximumCapacity }
            #expect(count == 640)
        }
    }

    struct BoxCase: Sendable, CustomStringConvertible {
        let description: String
        let box: GeoBox
        let found: [String]
    }

    @Test(
        arguments: StoreKind.allCases,
        [
            BoxCase(
                description: "around Berlin", box: GeoBox(south: 52, west: 13, north: 53, east: 14),
                found: ["berlin", "edge"]),
            BoxCase(
                description: "across the 180th meridian", box: GeoBox(south: -20, west: 170, north: -10, east: -170),
                found: ["fiji-east", "fiji-west"]),
            BoxCase(
                description: "a point", box: GeoBox(south: 52.5, west: 13.5, north: 52.5, east: 13.5),
                found: ["berlin"]),
            BoxCase(
                description: "the world", box: GeoBox(south: -90, west: -180, north: 90, east: 180),
                found: ["berlin", "edge", "fiji-east", "fiji-west"]),
            BoxCase(
                description: "the world but for less than an entry of an index",
                box: GeoBox(south: -90, west: 13.5, north: 90, east: 13.499),
                found: ["berlin", "edge", "fiji-east", "fiji-west"]),
            BoxCase(description: "nowhere", box: GeoBox(south: 0, west: 0, north: 1, east: 1), found: []),
        ])
    func `a box finds the online vehicles in it`(kind: StoreKind, box: BoxCase) async throws {
        let vehicles: [String: Vehicle] = [
            "berlin": .at(52.5, 13.5, name: "berlin"),
            "edge": .at(53, 14, name: "edge"),
            "offline": .at(52.5, 13.5, name: "offline", online: false),
            "nowhere": .with {
                $0.name = "nowhere"
                $0.vehicleState = .online
            },
            "fiji-west": .at(-18, 178, name: "fiji-west"),
            "fiji-east": .at(-18, -179, name: "fiji-east"),
        ]
        try await kind.withStore { store in
            try await store.write { transaction in
                for (id, vehicle) in vehicles { try transaction.put(vehicle, TestID.id(id), of: TestID.acme) }
            }
            let found = try await store.read { try $0.onlineVehicles(of: TestID.acme, in: box.box).map(\.name) }
            #expect(found.sorted() == box.found)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a viewport that ends at the 180th meridian has what is there, however its longitude is spelled`(
        kind: StoreKind
    ) async throws {
        let vehicles: [String: Vehicle] = [
            "east": .at(-18, -180, name: "east"), "west": .at(-18, 180, name: "west"),
            "other": .at(-18, 10, name: "other"),
        ]
        func viewport(west: Double, east: Double) throws -> GeoBox {
            try GeoBox(
                .with {
                    $0.low = .at(-20, west)
                    $0.high = .at(-10, east)
                })
        }
        try await kind.withStore { store in
            try await store.write { transaction in
                for (id, vehicle) in vehicles { try transaction.put(vehicle, TestID.id(id), of: TestID.acme) }
            }
            for (west, east) in [
                (179.9, 180.0), (-180, -179.9), (179.9, -179.9), (180, 180), (-180, -180), (180, -179.9), (179.9, -180),
            ] {
                let box = try viewport(west: west, east: east)
                let found = try await store.read { try $0.onlineVehicles(of: TestID.acme, in: box).map(\.name) }
                #expect(found.sorted() == ["east", "west"], "from \(west) to \(east)")
            }
            for (west, east, others) in [(-180.0, 180.0, ["east", "other", "west"]), (-179.9, 179.9, ["other"])] {
                let box = try viewport(west: west, east: east)
                let found = try await store.read { try $0.onlineVehicles(of: TestID.acme, in: box).map(\.name) }
                #expect(found.sorted() == others, "from \(west) to \(east)")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what a box holds comes in the order of ids, wherever much or little of it lies`(
        kind: StoreKind
    ) async throws {
        let numbers = Array(1001..<2200)
        // At first all are in the box, then few.
        let inside = numbers.filter { $0 < 1600 || $0 % 20 == 0 }
        try await kind.withStore { store in
            try await store.write { transaction in
                for number in numbers.shuffled() {
                    let place = inside.contains(number) ? 1.0 : 50
                    try transaction.put(
                        Vehicle.at(place, 1, name: "\(number)"), TestID.id("veh-\(number)"), of: TestID.acme)
                    try transaction.put(Vehicle.at(1, 1), TestID.id("veh-\(number)"), of: TestID.other)
                }
            }
            let box = GeoBox(south: 0, west: 0, north: 2, east: 2)
            for (first, limit) in [(1001, 2200), (1100, 3), (1550, 100), (1595, 2200), (1900, 2), (2190, 10)] {
                let scan = StoreScan(after: "veh-\(first - 1)", box: box)
                let found = try await store.read { reader in
                    var found: [String] = []
                    try reader.scan(scan, of: TestID.acme) { (id, vehicle: Vehicle) in
                        #expect(id == "veh-\(vehicle.name)")
                        found.append(vehicle.name)
                        return found.count < limit
                    }
                    return found
                }
                #expect(found == inside.filter { $0 >= first }.prefix(limit).map { "\($0)" }, "from \(first)")
            }
        }
    }

    @Test(
        arguments: StoreKind.allCases,
        [
            StoreScan(), StoreScan(after: "b"), StoreScan(isActiveOnly: true), StoreScan(box: .world),
            StoreScan(isActiveOnly: true, box: GeoBox(south: 0, west: 0, north: 2, east: 2)),
            StoreScan(after: "a", box: GeoBox(south: 0, west: 0, north: 2, east: 2)),
            StoreScan(box: GeoBox(south: -20, west: 170, north: -10, east: -170)), StoreScan(isOrdered: false),
        ])
    func `a store that counts what a scan finds counts right`(kind: StoreKind, scan: StoreScan) async throws {
        let vehicles: [String: Vehicle] = [
            "a": .at(1, 1), "b": .at(1, 1, online: false), "c": .at(2, 2), "d": .at(50, 1), "e": .at(-18, 179),
            "f": .at(-18, -179), "g": Vehicle(),
        ]
        try await kind.withStore { store in
            try await store.write { transaction in
                for (id, vehicle) in vehicles {
                    try transaction.put(vehicle, TestID.id(id), of: TestID.acme)
                    try transaction.put(vehicle, TestID.id(id + "-other"), of: TestID.other)
                }
            }
            let (found, counted) = try await store.read { reader in
                var found = 0
                try reader.scan(scan, of: TestID.acme) { (_, _: Vehicle) in
                    found += 1
                    return true
                }
                return (found, try reader.count(scan, in: .vehicles, of: TestID.acme))
            }
            // SQLite need not read the resources for any of them.
            #expect(counted == found || counted == nil && kind != .sqlite && !scan.isUnrestricted)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a vehicle that moved away or went offline is found there no more`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let box = GeoBox(south: 0, west: 0, north: 2, east: 2)
            let steps: [(Vehicle, Int)] = [
                (.at(1, 1), 1), (.at(5, 5), 0), (.at(1, 1), 1), (.at(1, 1, online: false), 0),
            ]
            for (vehicle, count) in steps {
                try await store.write { try $0.put(vehicle, TestID.vehicle, of: TestID.acme) }
                let found = try await store.read { try $0.onlineVehicles(of: TestID.acme, in: box).count }
                #expect(found == count)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a vehicle is found where it is after moves too small for the index`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            // 22 m a step, to the north over the border of two boxes.
            let south = GeoBox(south: 0.9, west: 0.9, north: 1, east: 1.1)
            let north = GeoBox(south: 1.000_000_1, west: 0.9, north: 1.1, east: 1.1)
            for step in -30...30 {
                let latitude = 1 + Double(step) * 0.0002
                try await store.write { try $0.put(Vehicle.at(latitude, 1), TestID.vehicle, of: TestID.acme) }
                let found = try await store.read { reader in
                    try [south, north].map { try reader.onlineVehicles(of: TestID.acme, in: $0).count }
                }
                #expect(found == (step <= 0 ? [1, 0] : [0, 1]), "at \(latitude)")
            }
        }
    }

    @Test(arguments: StoreKind.allCases, [LatLng.at(48, 11), .at(-17, 180)])
    func `a search about a point misses none, and never promises too much`(kind: StoreKind, point: LatLng) async throws
    {
        /// A number between -0.03 and 0.03, spread evenly: about 3 km.
        func offset(_ number: Int, _ step: Double) -> Double {
            (Double(number) * step).truncatingRemainder(dividingBy: 1) * 0.06 - 0.03
        }
        var vehicles: [VehicleID: Vehicle] = [:]
        for number in 0..<400 {
            let longitude = point.longitude + offset(number, 0.618_034)
            vehicles[TestID.id("veh-\(number)")] = .at(
                point.latitude + offset(number, 0.754_878),
                longitude > 180 ? longitude - 360 : longitude, name: "\(number)", online: number % 5 > 0)
        }
        try await kind.withStore { [vehicles] store in
            // All move once, some of them less than an index may overlook.
            for shift in [0.0011, 0] {
                try await store.write { transaction in
                    for (id, vehicle) in vehicles {
                        var vehicle = vehicle
                        vehicle.lastLocation.location.latitude += shift
                        try transaction.put(vehicle, id, of: TestID.acme)
                    }
                }
            }
            let found = try await store.read { reader in
                var found: [(least: Double, meters: Double, name: String)] = []
                try reader.scanVehicles(nearest: point, within: 2000, of: TestID.acme) { least, vehicle in
                    found.append((least, vehicle.lastLocation.location.meters(to: point), vehicle.name))
                    return true
                }
                return found
            }
            let near = vehicles.values.filter {
                $0.vehicleState == .online && $0.lastLocation.location.meters(to: point) <= 2000
            }
            #expect(near.count > 50)
            #expect(Set(found.map(\.name)).isSuperset(of: near.map(\.name)))
            #expect(Set(found.map(\.name)).count == found.count)
            var nearestToCome = Double.infinity
            for one in found.reversed() {
                nearestToCome = min(nearestToCome, one.meters)
                #expect(one.least <= nearestToCome)
            }
            #expect(found.contains { $0.least > 500 }, "a promise of nothing would stop no search")
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what is read ahead is what is there`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await store.write { transaction in
                for id in ["a", "b"] { try transaction.put(Trip.with { $0.name = id }, TestID.id(id), of: TestID.acme) }
            }
            let ids = ["b", "none", "a"].map { TestID.id($0, TripID.self) }
            let read = try await store.read { reader in
                try reader.prefetch([], of: TestID.acme, as: Trip.self)
                try reader.prefetch(ids, of: TestID.acme, as: Trip.self)
                return try ids.map { try reader.trip($0, of: TestID.acme)?.name }
            }
            #expect(read == ["b", nil, "a"])
            let written = try await store.write { transaction in
                try transaction.prefetch(ids, of: TestID.acme, as: Trip.self)
                try transaction.put(Trip.with { $0.name = "changed" }, ids[0], of: TestID.acme)
                try transaction.remove(ids[2], of: TestID.acme, as: Trip.self)
                try transaction.prefetch(ids, of: TestID.acme, as: Trip.self)
                return try ids.map { try transaction.trip($0, of: TestID.acme)?.name }
            }
            #expect(written == ["changed", nil, nil])
        }
    }

    // MARK: - Scans

    @Test(.timeLimit(.minutes(5)), arguments: StoreKind.allCases.filter { $0 != .memory })
    func `however many look through everything, one resource is found meanwhile`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await store.write { try $0.put(Trip(), TestID.trip, of: TestID.acme) }
            let (starts, start) = AsyncStream.makeStream(of: Void.self)
            let release = DispatchSemaphore(value: 0)
            try await withThrowingDiscardingTaskGroup { group in
                defer { for _ in 0..<8 { release.signal() } }
                for _ in 0..<8 {
                    group.addTask {
                        try await store.read { reader in
                            try reader.scan(StoreScan(), of: TestID.acme) { (_, _: Trip) in
                                start.yield()
                                release.wait()
                                return true
                            }
                        }
                    }
                }
                var iterator = starts.makeAsyncIterator()
                _ = await iterator.next()
                for _ in 0..<100 {
                    // What is not there is in no memory either.
                    let found = try await store.read { try $0.vehicle(TestID.vehicle, of: TestID.acme) }
                    #expect(found == nil)
                }
            }
        }
    }

    /// The ids of the trips that a scan finds.
    private static func trips(_ store: any EngineStore, _ scan: StoreScan) async throws -> [String] {
        try await store.read { reader in
            var ids: [String] = []
            try reader.scan(scan, of: TestID.acme) { (id, _: Trip) in
                ids.append(id)
                return true
            }
            return ids
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: StoreKind.allCases.filter { $0 != .memory })
    func `a list that is given up ends, and makes room for another`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await store.write { transaction in
                for number in 1...600 { try transaction.put(Vehicle(), TestID.id("veh-\(number)"), of: TestID.acme) }
            }
            let began = AsyncStream.makeStream(of: Void.self)
            let ended = AsyncStream.makeStream(of: Int.self)
            let gate = DispatchSemaphore(value: 0)
            let list = Task {
                try await store.read { reader in
                    var count = 0
                    // Nothing is found where the store runs the body to see what it looks for.
                    defer { if count > 0 { ended.continuation.yield(count) } }
                    try reader.scan(StoreScan(), of: TestID.acme) { (_, _: Vehicle) in
                        count += 1
                        if count == 1 {
                            began.continuation.yield()
                            gate.wait()
                        }
                        return true
                    }
                }
            }
            for await _ in began.stream { break }
            list.cancel()
            gate.signal()
            await #expect(throws: CancellationError.self) { try await list.value }
            for await count in ended.stream {
                #expect(count < 256)
                break
            }
            let found = try await store.read { reader in
                var count = 0
                try reader.scan(StoreScan(), of: TestID.acme) { (_, _: Vehicle) in
                    count += 1
                    return true
                }
                return count
            }
            #expect(found == 600)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a scan finds by vehicle, activity, age and position`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await store.write { transaction in
                for (number, id) in ["a", "b", "c", "d"].enumerated() {
                    let trip = Trip.with {
                        $0.vehicleID = number < 3 ? "veh-1" : ""
                        $0.tripStatus = number == 1 ? .complete : .new
                    }
                    let time = Google_Protobuf_Timestamp(seconds: Int64(number))
                    try transaction.put(trip, TestID.id(id), of: TestID.acme, at: time)
                    try transaction.put(trip, TestID.id(id), of: TestID.other, at: time)
                }
            }
            #expect(try await Self.trips(store, StoreScan()) == ["a", "b", "c", "d"])
            #expect(try await Self.trips(store, StoreScan(after: "b")) == ["c", "d"])
            #expect(try await Self.trips(store, StoreScan(holder: "veh-1")) == ["a", "b", "c"])
            #expect(try await Self.trips(store, StoreScan(isActiveOnly: true)) == ["a", "c"])
            #expect(try await Self.trips(store, StoreScan(after: "a", isActiveOnly: true, holder: "veh-1")) == ["c"])
            let since = Google_Protobuf_Timestamp(seconds: 1)
            #expect(try await Self.trips(store, StoreScan(unchangedSince: since)) == ["a", "b"])
            let (counts, providers) = try await store.read { reader in
                (
                    try StoreCollection.allCases.map { try reader.count($0, of: TestID.acme) },
                    try reader.providers().map(\.value).sorted()
                )
            }
            #expect(counts == [0, 4, 0, 0])
            #expect(providers == ["acme", "other"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what is put without a time keeps the one that it has`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let trip = Trip.with { $0.vehicleID = "veh-1" }
            try await store.write { transaction in
                let time = Google_Protobuf_Timestamp(seconds: 5)
                for id in ["a", "b"] { try transaction.put(Trip(), TestID.id(id), of: TestID.acme, at: time) }
                try transaction.put(trip, TestID.id("a"), of: TestID.acme, at: nil)
            }
            try await store.write { try $0.put(trip, TestID.id("b"), of: TestID.acme, at: nil) }
            for (seconds, ids) in [(4, []), (5, ["a", "b"])] as [(Int64, [String])] {
                let scan = StoreScan(holder: "veh-1", unchangedSince: Google_Protobuf_Timestamp(seconds: seconds))
                #expect(try await Self.trips(store, scan) == ids)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a scan ends where its body says so`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await store.write { transaction in
                for id in ["a", "b", "c"] { try transaction.put(Trip(), TestID.id(id), of: TestID.acme) }
            }
            let seen = try await store.read { reader in
                var seen: [String] = []
                try reader.scan(StoreScan(), of: TestID.acme) { (id, _: Trip) in
                    seen.append(id)
                    return id != "b"
                }
                return seen
            }
            #expect(seen == ["a", "b"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what is removed is gone, unless the body throws`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            try await store.write { transaction in
                try transaction.put(Trip(), TestID.trip, of: TestID.acme)
                try transaction.put(DeliveryTask(), TestID.task, of: TestID.acme)
            }
            await #expect(throws: Refused.self) {
                try await store.write { transaction in
                    try transaction.remove(TestID.trip, of: TestID.acme, as: Trip.self)
                    #expect(try transaction.trip(TestID.trip, of: TestID.acme) == nil)
                    throw Refused()
                }
            }
            #expect(try await store.read { try $0.trip(TestID.trip, of: TestID.acme) } != nil)
            try await store.write { transaction in
                try transaction.remove(TestID.trip, of: TestID.acme, as: Trip.self)
                try transaction.remove(TestID.id("nobody"), of: TestID.acme, as: Trip.self)
            }
            #expect(try await store.read { try $0.trip(TestID.trip, of: TestID.acme) } == nil)
            #expect(try await store.read { try $0.task(TestID.task, of: TestID.acme) } != nil)
        }
    }
}
