// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetConsumer
import FleetDriver
import FleetTokenClient
import Foundation
import Testing

/// Fetchers as apps have them today, next to our reporter and our trip model, over a real network on this machine.
@MainActor @Suite(.timeLimit(.minutes(10)), .serialized) struct DocumentationSampleTests {
    /// Keeps what a reporter says, written as an app would.
    class Listener: NSObject, GMTDVehicleReporterListener {
        var onEvent: ((GMTDVehicleUpdate, NSError?) -> Void)?

        func vehicleReporter(_ vehicleReporter: GMTDVehicleReporter, didSucceed vehicleUpdate: GMTDVehicleUpdate) {
            self.onEvent?(vehicleUpdate, nil)
        }

        func vehicleReporter(
            _ vehicleReporter: GMTDVehicleReporter, didFail vehicleUpdate: GMTDVehicleUpdate, withError error: Error
        ) {
            self.onEvent?(vehicleUpdate, error as NSError)
        }
    }

    /// Keeps what a trip model says, written as an app would.
    class Subscriber: NSObject, GMTCTripModelSubscriber {
        var statuses: [GMTSTripStatus] = []
        var errors: [Error?] = []
        var onEnd: (() -> Void)?

        func tripModel(_ tripModel: GMTCTripModel, didUpdate tripStatus: GMTSTripStatus) {
            switch tripStatus {
            case .new, .unknown: break
            case .complete: self.statuses.append(tripStatus)
            default: break
            }
        }

        func tripModel(_ tripModel: GMTCTripModel, didUpdate sessionState: GMTCTripModelState) {
            guard sessionState == .inactive else { return }
            self.onEnd?()
        }

        func tripModel(_ tripModel: GMTCTripModel, didFailUpdateTripWithError error: Error?) {
            self.errors.append(error)
            tripModel.unregisterSubscriber(self)
            self.onEnd?()
        }
    }

    // MARK: - Drivers

    /// Reports twice and says what the listener heard.
    private func drive(_ fetcher: GMTDAuthorization, in world: SampleWorld) async throws -> [NSError?] {
        let context = GMTDDriverContext(
            accessTokenProvider: fetcher, providerID: "acme", vehicleID: "veh-3", navigator: nil,
            engine: EngineConnection(url: world.server.url))
        let api = try #require(GMTDRidesharingDriverAPI(driverContext: context))
        let listener = Listener()
        let (events, sink) = AsyncStream.makeStream(of: NSError?.self)
        listener.onEvent = { _, error in sink.yield(error) }
        let vehicleReporter = api.vehicleReporter
        vehicleReporter.add(listener)
        vehicleReporter.locationTrackingEnabled = true

        var heard: [NSError?] = []
        vehicleReporter.update(.online)
        for await event in events {
            heard.append(event)
            if heard.count == 2 { break }
            vehicleReporter.record(try LocationFix(latitude: 37.4, longitude: -122.1, time: Date()))
        }
        return heard
    }

    @Test func `a fetcher from the driver guide reports, and keeps its token`() async throws {
        let world = try SampleWorld()
        let fetcher = SingleSlotVehicleFetcher(tokenServer: world.address("/vehicle-token"))
        #expect(try await self.drive(fetcher, in: world) == [nil, nil])
        #expect(world.count(of: "/vehicle-token") == 1)
        #expect(world.count(of: "/v1/providers/acme/vehicles/veh-3") == 2)
    }

    @Test func `an expired token is fetched again at each report`() async throws {
        let world = try SampleWorld(life: .seconds(-1))
        let fetcher = SingleSlotVehicleFetcher(tokenServer: world.address("/vehicle-token"))
        #expect(try await self.drive(fetcher, in: world) == [nil, nil])
        #expect(world.count(of: "/vehicle-token") == 2)
    }

    @Test func `a token server without an answer fails the report with the fetcher's own error`() async throws {
        let world = try SampleWorld()
        let fetcher = SingleSlotVehicleFetcher(tokenServer: world.address("/nothing"))
        let heard = try await self.drive(fetcher, in: world)
        let cause = try #require(heard.first??.userInfo[NSUnderlyingErrorKey] as? NSError)
        #expect(cause.domain == "io.grpc")
        #expect(cause.userInfo[NSUnderlyingErrorKey] is SingleSlotVehicleFetcher.FetchError)
        #expect(world.count(of: "/v1/providers/acme/vehicles/veh-3") == 0)
    }

    @Test func `a fetcher from the ride-hailing driver sample reports`() async throws {
        let world = try SampleWorld()
        #expect(try await self.drive(RideHailingDriverFetcher(baseURL: world.server.url), in: world) == [nil, nil])
        #expect(world.count(of: "/token/driver/veh-3") == 1)
    }

    @Test func `a fetcher from the last-mile sample gives its token`() async throws {
        let world = try SampleWorld()
        let fetcher = DeliveryFetcher(baseURL: world.server.url)
        for _ in 1...2 {
            let token = try await fetcher.fetchToken(with: GMTDAuthorizationContext(vehicleID: "van-1"))
            #expect(try token == SampleWorld.deliveryToken("van-1"))
        }
        #expect(world.count(of: "/token/delivery_driver/van-1") == 1)
    }

    // MARK: - Consumers

    /// Watches the trip until it is over or an answer is missing.
    private func watch(_ fetcher: GMTCAuthorization, in world: SampleWorld) async throws -> Subscriber {
        GMTCServices.setAccessTokenProvider(
            fetcher, providerID: "acme", engine: EngineConnection(url: world.server.url))
        let tripService = GMTCServices.shared().tripService
        let tripModel = try #require(tripService.tripModel(forTripName: "providers/acme/trips/trip-7"))
        let subscriber = Subscriber()
        let (ended, sink) = AsyncStream.makeStream(of: Void.self)
        subscriber.onEnd = { sink.finish() }
        tripModel.register(subscriber)
        for await _ in ended {}
        return subscriber
    }

    @Test func `a fetcher from the consumer guide watches a trip to its end`() async throws {
        let world = try SampleWorld()
        let subscriber = try await self.watch(
            SingleSlotTripFetcher(tokenServer: world.address("/trip-token")), in: world)
        #expect(subscriber.statuses == [.complete])
        #expect(subscriber.errors.isEmpty)
        #expect(world.count(of: "/trip-token") == 1)
    }

    @Test func `a fetcher from the ride-hailing consumer sample watches a trip to its end`() async throws {
        let world = try SampleWorld()
        let subscriber = try await self.watch(RideHailingConsumerFetcher(baseURL: world.server.url), in: world)
        #expect(subscriber.statuses == [.complete])
        #expect(world.count(of: "/token/consumer/trip-7") == 1)
    }

    @Test func `a driver's token does not watch a trip`() async throws {
        let world = try SampleWorld()
        let subscriber = try await self.watch(
            SingleSlotTripFetcher(tokenServer: world.address("/vehicle-token")), in: world)
        #expect(subscriber.statuses.isEmpty)
        #expect(subscriber.errors.count == 1)
        #expect(world.count(of: "/v1/providers/acme/trips/trip-7") == 0)
    }
}
