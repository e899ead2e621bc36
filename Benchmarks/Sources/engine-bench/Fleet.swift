// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import FleetEngineAPI
import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import NIOCore
import SwiftProtobuf
import Synchronization

/// As many vehicles as clients, each reporting to one server as fast as it is answered.
struct Fleet: Sendable {
    private typealias Client = Maps_Fleetengine_V1_VehicleService.Client<HTTP2ClientTransport.Posix>
    private typealias Trips = Maps_Fleetengine_V1_TripService.Client<HTTP2ClientTransport.Posix>

    /// What the calls that are repeated are answered with.
    typealias Answers = (vehicle: Vehicle, trip: Trip, vehicleJSON: ByteBuffer, tripJSON: ByteBuffer)

    private let restURL: String
    private let token: String
    private let clients: Int
    private let grpc: GRPCClient<HTTP2ClientTransport.Posix>
    private let http: HTTPClient
    /// The server of the database, where its processor time is to be told too.
    private let database: DatabaseProcess?

    init(restURL: String, grpcPort: Int, token: String, clients: Int, database: DatabaseProcess? = nil) {
        self.database = database
        self.restURL = restURL
        self.token = token
        self.clients = clients
        self.grpc = Self.client(port: grpcPort)
        // A connection for each client; the default of eight would make them wait for each other, not for the server.
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = clients
        self.http = HTTPClient(configuration: configuration)
    }

    private static func client(port: Int) -> GRPCClient<HTTP2ClientTransport.Posix> {
        guard
            let transport = try? HTTP2ClientTransport.Posix(
                target: .ipv4(address: "127.0.0.1", port: port), transportSecurity: .plaintext)
        else { fatalError("No transport to port \(port).") }
        let client = GRPCClient(transport: transport)
        Task { try await client.runConnections() }
        return client
    }

    func stop() async throws {
        self.grpc.beginGracefulShutdown()
        try await self.http.shutdown()
    }

    /// Makes a vehicle and a trip on its way for each client.
    func createVehiclesAndTrips() async throws {
        let vehicles = Client(wrapping: self.grpc)
        let trips = Trips(wrapping: self.grpc)
        for number in 0..<self.clients {
            try await Self.unlessThere {
                _ = try await vehicles.createVehicle(
                    .with {
                        $0.parent = "providers/bench"
                        $0.vehicleID = "vehicle-\(number)"
                        $0.vehicle = .sample
                    },
                    metadata: self.metadata
                )
            }
            try await Self.unlessThere {
                _ = try await trips.createTrip(
                    .with {
                        $0.parent = "providers/bench"
                        $0.tripID = "trip-\(number)"
                        $0.trip = .sample
                        $0.trip.vehicleID = "vehicle-\(number)"
                    },
                    metadata: self.metadata
                )
            }
            _ = try await vehicles.updateVehicle(
                .with {
                    $0.name = "providers/bench/vehicles/vehicle-\(number)"
                    $0.vehicle.currentRouteSegment = Self.routeSegment
                    $0.updateMask.paths = ["current_route_segment"]
                },
                metadata: self.metadata
            )
        }
    }

    /// What the first client's calls are answered with.
    func answers() async throws -> Answers {
        (
            try await Client(wrapping: self.grpc).updateVehicle(self.update(of: 0), metadata: self.metadata),
            try await Trips(wrapping: self.grpc).getTrip(.poll(of: 0), metadata: self.metadata),
            try await self.send(self.updateRequest(of: 0)),
            try await self.send(self.pollRequest(of: 0))
        )
    }

    /// A database may have what an earlier run made.
    private static func unlessThere(_ create: () async throws -> Void) async throws {
        do {
            try await create()
        } catch let error as RPCError where error.code == .alreadyExists {
            return
        }
    }

    private var metadata: Metadata { ["authorization": "Bearer \(self.token)"] }

    /// Runs a call on every client until the time is over.
    ///
    /// - Parameters:
    ///   - seconds: How long.
    ///   - rate: How many calls a second all clients make together; `nil` for as many as are answered.
    ///   - call: The call, with the client's number.
    /// - Returns: How long the calls took.
    /// - Throws: What a call throws.
    func load(
        for seconds: Double, atRate rate: Double? = nil, _ call: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> Sample {
        let clock = ContinuousClock()
        let start = clock.now
        let end = start + .seconds(seconds)
        let pause = rate.map { Duration.seconds(Double(self.clients) / $0) }
        let used = ProcessUse.processorSeconds
        let usedByDatabase = self.database?.processorSeconds
        let times = try await withThrowingTaskGroup(of: [Double].self) { group in
            for client in 0..<self.clients {
                group.addTask {
                    var times: [Double] = []
                    // The clients start one after another; each call's time counts from when it was due.
                    var due = start + (pause ?? .zero) * (Double(client) / Double(self.clients))
                    while clock.now < end {
                        if let pause {
                            try await clock.sleep(until: due, tolerance: .zero)
                            try await call(client)
                            times.append((clock.now - due).seconds * 1e9)
                            due += pause
                        } else {
                            let start = clock.now
                            try await call(client)
                            times.append((clock.now - start).seconds * 1e9)
                        }
                    }
                    return times
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let database = usedByDatabase.flatMap { used in self.database.map { $0.processorSeconds - used } }
        return Sample(
            nanoseconds: times, seconds: (clock.now - start).seconds,
            processorSeconds: ProcessUse.processorSeconds - used, databaseSeconds: database)
    }

    /// Makes calls one after the other.
    func `repeat`(_ count: Int, _ call: (Int) async throws -> Void) async throws -> Sample {
        let clock = ContinuousClock()
        let start = clock.now
        let used = ProcessUse.processorSeconds
        var times: [Double] = []
        for number in 0..<count {
            let start = clock.now
            try await call(number)
            times.append((clock.now - start).seconds * 1e9)
        }
        return Sample(
            nanoseconds: times, seconds: (clock.now - start).seconds,
            processorSeconds: ProcessUse.processorSeconds - used)
    }

    /// Reports where a vehicle is.
    func restUpdate(_ client: Int) async throws { _ = try await self.send(self.updateRequest(of: client)) }

    /// Asks for a trip of which the client has everything.
    func restPoll(_ client: Int) async throws { _ = try await self.send(self.pollRequest(of: client)) }

    /// Reports where a vehicle is, by a call in this process.
    func directUpdate(_ engine: DirectREST) -> @Sendable (Int) async throws -> Void {
        { client in try await engine.put(Self.updatePath(of: client), self.updateBody()) }
    }

    private func updateRequest(of client: Int) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: self.restURL + Self.updatePath(of: client))
        request.method = .PUT
        request.headers.add(name: "content-type", value: "application/json")
        request.body = .bytes(self.updateBody())
        return request
    }

    private static func updatePath(of client: Int) -> String {
        "/v1/providers/bench/vehicles/vehicle-\(client)?updateMask=lastLocation,vehicleState"
    }

    private func updateBody() -> ByteBuffer {
        let latitude = Road.latitude(after: self.nextStep())
        return ByteBuffer(
            string: #"{"vehicleState":"ONLINE","lastLocation":{"location":{"latitude":\#(latitude),"#
                + #""longitude":\#(Road.longitude)},"heading":90}}"#)
    }

    private func pollRequest(of client: Int) -> HTTPClientRequest {
        HTTPClientRequest(url: "\(self.restURL)/v1/providers/bench/trips/trip-\(client)?\(Self.versions)")
    }

    private func send(_ request: HTTPClientRequest) async throws -> ByteBuffer {
        var request = request
        request.headers.add(name: "authorization", value: "Bearer \(self.token)")
        let response = try await self.http.execute(request, timeout: .seconds(30))
        let body = try await response.body.collect(upTo: 1 << 20)
        guard response.status == .ok else { fatalError("The answer was \(response.status).") }
        return body
    }

    /// Reports where a vehicle is.
    func grpcUpdate(_ client: Int) async throws {
        _ = try await Client(wrapping: self.grpc).updateVehicle(self.update(of: client), metadata: self.metadata)
    }

    /// Asks for a trip of which the client has everything.
    func grpcPoll(_ client: Int) async throws {
        _ = try await Trips(wrapping: self.grpc).getTrip(.poll(of: client), metadata: self.metadata)
    }

    private func update(of client: Int) -> Maps_Fleetengine_V1_UpdateVehicleRequest {
        .report(of: client, step: self.nextStep())
    }

    /// Reports a vehicle near where it may be.
    func report(_ name: String) async throws {
        _ = try await Client(wrapping: self.grpc).updateVehicle(
            .with {
                $0.name = name
                $0.vehicle.lastLocation.location.latitude = Double.random(in: 0...45)
                $0.vehicle.lastLocation.location.longitude = Double.random(in: 0...45)
                $0.updateMask.paths = ["last_location"]
            },
            metadata: self.metadata
        )
    }

    /// Searches for the nearest vehicles.
    func search(about place: (latitude: Double, longitude: Double), radius: Int32) async throws {
        let found = try await Client(wrapping: self.grpc).searchVehicles(
            .with {
                $0.parent = "providers/bench"
                $0.pickupPoint.point.latitude = place.latitude
                $0.pickupPoint.point.longitude = place.longitude
                $0.pickupRadiusMeters = radius
                $0.count = 50
                $0.minimumCapacity = 1
                $0.tripTypes = [.exclusive]
                $0.vehicleTypes = [.with { $0.category = .auto }]
                $0.maximumStaleness.seconds = 86_400
                $0.orderBy = .pickupPointEta
            },
            metadata: self.metadata
        )
        // The place is a vehicle's own.
        guard !found.matches.isEmpty else { fatalError("Nothing was found.") }
    }

    /// The versions of a poll, in the form in which apps send them over REST.
    private static let versions = [
        "currentRouteSegmentVersion", "currentRouteSegmentTrafficVersion", "remainingWaypointsRouteVersion",
    ].map { "\($0)=2096-10-02T07:06:40Z" }.joined(separator: "&")
    /// A way of three points, encoded as the Driver SDK does.
    private static let routeSegment = "yokcFvpahViDzLbBjW"

    /// How many places were reported.
    private static let reports = Atomic<Int>(0)

    /// How many reports each vehicle made before the next one.
    private func nextStep() -> Int { Self.reports.wrappingAdd(1, ordering: .relaxed).newValue / self.clients }
}
