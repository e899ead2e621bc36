// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetConsumer
import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Logging
import Testing

@testable import fleetpass

/// Fetchers as apps have them today, next to our reporter and our trip model, at the whole local service: tokens that are
/// really signed, and an engine that really checks them.
@MainActor @Suite(.timeLimit(.minutes(10))) struct SampleEngineTests {
    class Listener: NSObject, GMTDVehicleReporterListener {
        var onEvent: ((String) -> Void)?

        func vehicleReporter(_ vehicleReporter: GMTDVehicleReporter, didSucceed vehicleUpdate: GMTDVehicleUpdate) {
            self.onEvent?("\(vehicleUpdate.vehicleState)")
        }

        func vehicleReporter(
            _ vehicleReporter: GMTDVehicleReporter, didFail vehicleUpdate: GMTDVehicleUpdate, withError error: Error
        ) {
            self.onEvent?("\((error as NSError).userInfo[NSUnderlyingErrorKey] ?? error)")
        }
    }

    class Subscriber: NSObject, GMTCTripModelSubscriber {
        var onEvent: ((String) -> Void)?

        func tripModel(_ tripModel: GMTCTripModel, didUpdate tripStatus: GMTSTripStatus) {
            self.onEvent?(tripStatus.rawValue)
        }

        func tripModel(_ tripModel: GMTCTripModel, didUpdate sessionState: GMTCTripModelState) {
            self.onEvent?("\(sessionState)")
        }

        func tripModel(_ tripModel: GMTCTripModel, didFailUpdateTripWithError error: Error?) {
            self.onEvent?("\(String(describing: error))")
            tripModel.unregisterSubscriber(self)
            self.onEvent?("inactive")
        }
    }

    /// A whole local service with a vehicle and a trip, and the guides' own token server in front of its keys.
    struct Scene: Sendable {
        let service: URL
        let guides: LoopbackServer
        let backend: FleetBackend
        let provider: ProviderID
        let trip: TripID
    }

    /// Runs a test next to a service, and ends that.
    private func withScene(_ body: @escaping @MainActor @Sendable (Scene) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let options = try LocalServiceOptions.parse(
            ["--data", folder.path(percentEncoded: false), "--port", "0", "--grpc-port", "0"])
        let service = try LocalService(options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let vehicle = try VehicleID(checking: "veh-3")
        let trip = try TripID(checking: "trip-7")
        let (ready, announce) = AsyncStream.makeStream(of: LocalService.Addresses.self)
        // The service serves until it is told to end.
        let serving = Task { try await service.run { announce.yield($0) } }
        defer { serving.cancel() }
        let addresses = try #require(await ready.first { @Sendable _ in true })
        let backend = FleetBackend(
            provider: addresses.provider, engine: try EngineEndpoint(addresses.http),
            token: { try await service.issuer.issue(.server).token }, transport: URLSessionTransport())
        try await backend.createVehicle(vehicle)
        try await backend.createTrip(trip, from: [37.4, -122.1], to: [37.5, -122.2])

        let vehicleToken = try await service.issuer.issue(.driver(vehicle))
        let tripToken = try await service.issuer.issue(.consumer(trip))
        let expiry = Int(vehicleToken.expiresAt.timeIntervalSince1970)
        let guides = try LoopbackServer { request in
            let (key, token) =
                request.target.hasPrefix("/trip-token")
                ? ("TRIP_TOKEN_KEY", tripToken.token) : ("VEHICLE_TOKEN_KEY", vehicleToken.token)
            let json = #"{"\#(key)":"\#(token.compactSerialization)","TOKEN_EXPIRATION":\#(expiry)}"#
            return .response(HTTPTransportResponse(status: 200, body: Data(json.utf8)))
        }
        try await body(
            Scene(
                service: addresses.http, guides: guides, backend: backend, provider: addresses.provider, trip: trip)
        )
        serving.cancel()
        _ = await serving.result
    }

    /// Goes online, reports a place, goes off, and says what the listener heard.
    private func drive(_ vehicle: String, _ fetcher: GMTDAuthorization, in scene: Scene) async throws -> [String] {
        let context = GMTDDriverContext(
            accessTokenProvider: fetcher, providerID: scene.provider.value, vehicleID: vehicle, navigator: nil,
            engine: EngineConnection(url: scene.service))
        let vehicleReporter = try #require(GMTDRidesharingDriverAPI(driverContext: context)).vehicleReporter
        let listener = Listener()
        let (events, sink) = AsyncStream.makeStream(of: String.self)
        listener.onEvent = { sink.yield($0) }
        vehicleReporter.add(listener)
        vehicleReporter.locationTrackingEnabled = true
        vehicleReporter.update(.online)

        var heard: [String] = []
        for await event in events {
            heard.append(event)
            switch heard.count {
            case 1: vehicleReporter.record(try LocationFix(latitude: 37.4, longitude: -122.1, time: Date()))
            case 2: vehicleReporter.locationTrackingEnabled = false
            default: return heard
            }
        }
        return heard
    }

    /// Watches the trip to its end, and says what the subscriber heard.
    private func watch(
        _ fetcher: GMTCAuthorization, in scene: Scene, onStatus: @Sendable (String) async throws -> Void = { _ in }
    ) async throws -> [String] {
        GMTCServices.setAccessTokenProvider(
            fetcher, providerID: scene.provider.value, engine: EngineConnection(url: scene.service))
        let name = "providers/\(scene.provider)/trips/\(scene.trip)"
        let tripModel = try #require(GMTCServices.shared().tripService.tripModel(forTripName: name))
        tripModel.options.autoRefreshTimeInterval = 1
        let subscriber = Subscriber()
        let (events, sink) = AsyncStream.makeStream(of: String.self)
        subscriber.onEvent = { sink.yield($0) }
        tripModel.register(subscriber)

        var heard: [String] = []
        for await event in events {
            heard.append(event)
            if event == "inactive" { break }
            try await onStatus(event)
        }
        return heard
    }

    @Test func `fetchers as apps have them drive a vehicle and watch a trip`() async throws {
        try await self.withScene { scene in
            let drivers: [GMTDAuthorization] = [
                RideHailingDriverFetcher(baseURL: scene.service),
                SingleSlotVehicleFetcher(tokenServer: scene.guides.url.absoluteString + "/vehicle-token"),
            ]
            for driver in drivers {
                #expect(try await self.drive("veh-3", driver, in: scene) == ["online", "online", "offline"])
            }

            let backend = scene.backend
            let trip = scene.trip
            let first = try await self.watch(RideHailingConsumerFetcher(baseURL: scene.service), in: scene) { status in
                if status == "NEW" { try await backend.updateTrip(trip, status: "CANCELED") }
            }
            #expect(first == ["active", "NEW", "CANCELED", "inactive"])
            let guide = SingleSlotTripFetcher(tokenServer: scene.guides.url.absoluteString + "/trip-token")
            #expect(try await self.watch(guide, in: scene) == ["active", "CANCELED", "inactive"])
        }
    }

    @Test func `a fetcher without an id in its request fails for any other vehicle`() async throws {
        try await self.withScene { scene in
            try await scene.backend.createVehicle(try VehicleID(checking: "veh-4"))
            let fetcher = SingleSlotVehicleFetcher(tokenServer: scene.guides.url.absoluteString + "/vehicle-token")
            let heard = try await self.drive("veh-4", fetcher, in: scene)
            #expect(heard.count == 3)
            #expect(heard.allSatisfy { $0.contains("io.grpc") })
        }
    }
}
