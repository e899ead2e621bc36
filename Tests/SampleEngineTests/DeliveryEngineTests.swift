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

/// A delivery driver and a recipient at the whole local service: tokens that are really signed, and an engine that really
/// checks them and keeps stops and tasks.
@Suite(.timeLimit(.minutes(10))) struct DeliveryEngineTests {
    /// A whole local service with a van, eight stops, and a token provider that asks it.
    private struct Scene: Sendable {
        let engine: URL
        let provider: ProviderID
        let van: DeliveryVehicleID
        let backend: FleetBackend
        let tokens: FleetTokenProvider
        let untrusted: StubTokenProvider

        func task(_ number: Int) throws -> TaskID { try TaskID(checking: "task-\(number)") }
        func parcel(_ number: Int) throws -> TrackingID { try TrackingID(checking: "parcel-\(number)") }

        func plan(_ numbers: Range<Int>) async throws {
            try await self.backend.setStops(
                numbers.map { (try self.task($0), [37.4 + Double($0) / 100, -122]) }, of: self.van)
        }

        func reporter(_ tokens: any TokenProvider) throws -> DeliveryVehicleReporter {
            try DeliveryVehicleReporter(provider: self.provider, vehicle: self.van, engine: self.engine, tokens: tokens)
        }

        func shipment(_ number: Int) throws -> ShipmentModel {
            try ShipmentModel(
                provider: self.provider, tracking: self.parcel(number), engine: self.engine, tokens: self.tokens,
                configuration: .init(pollingInterval: .seconds(1)))
        }
    }

    /// Runs a test next to a service, and ends that.
    private func withScene(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let options = try LocalServiceOptions.parse(
            ["--data", folder.path(percentEncoded: false), "--port", "0", "--grpc-port", "0"])
        let service = try LocalService(options, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let (ready, announce) = AsyncStream.makeStream(of: LocalService.Addresses.self)
        let serving = Task { try await service.run { announce.yield($0) } }
        defer { serving.cancel() }
        let addresses = try #require(await ready.first { @Sendable _ in true })
        let van = try DeliveryVehicleID(checking: "van-1")
        let scene = Scene(
            engine: addresses.http,
            provider: addresses.provider,
            van: van,
            backend: FleetBackend(
                provider: addresses.provider, engine: try EngineEndpoint(addresses.http),
                token: { try await service.issuer.issue(.deliveryServer).token }, transport: URLSessionTransport()),
            tokens: try FleetTokenProvider(endpoint: .fleetpass(addresses.http)),
            untrusted: StubTokenProvider { _, _ in
                try await service.issuer.issue(.deliveryUntrustedDriver(van)).token
            }
        )
        try await scene.backend.createDeliveryVehicle(van)
        for number in 1..<9 {
            try await scene.backend.createTask(
                scene.task(number), tracking: scene.parcel(number), at: [37.4 + Double(number) / 100, -122])
        }
        try await scene.plan(1..<8)
        try await body(scene)
        serving.cancel()
        _ = await serving.result
    }

    private func place(_ latitude: Double) throws -> LocationFix {
        try LocationFix(latitude: latitude, longitude: -122, time: Date())
    }

    @Test func `a trusted driver delivers, and the recipient follows`() async throws {
        try await self.withScene { scene in
            let reporter = try scene.reporter(scene.tokens)
            await reporter.startTracking()
            await reporter.record(try self.place(37.4))
            await reporter.reportNow()
            let shipment = try scene.shipment(1)
            var changes = await shipment.changes().makeAsyncIterator()
            let following = Task { try await shipment.run() }
            var seen: VehiclePosition?
            while seen == nil, let change = await changes.next() {
                if case .vehiclePosition(let position) = change { seen = position }
            }
            #expect(seen?.point == GeoPoint(latitude: 37.4, longitude: -122))

            #expect(try await reporter.reportEnrouteToNextStop().first?.state == .enroute)
            #expect(try await reporter.reportArrivedAtStop().first?.state == .arrived)
            try await reporter.reportOutcome(.succeeded, of: scene.task(1))
            let left = try await reporter.reportCompletedStop()
            #expect(left.map { $0.tasks.map(\.value) } == (2..<8).map { ["task-\($0)"] })
            #expect(left.first?.taskDurations.values.first == .seconds(60))
            await reporter.stopTracking()

            try await following.value
            let end = try #require(await shipment.snapshot)
            #expect(end.outcome == .succeeded)
            // Told with the outcome.
            #expect(end.outcomeTime.map { abs($0.timeIntervalSinceNow) < 60 } == true)
        }
    }

    @Test func `a vehicle is shown on the last five stops only`() async throws {
        try await self.withScene { scene in
            let reporter = try scene.reporter(scene.tokens)
            await reporter.startTracking()
            await reporter.record(try self.place(37.4))
            await reporter.reportNow()
            let shipment = try scene.shipment(7)
            var changes = await shipment.changes().makeAsyncIterator()
            let following = Task { try await shipment.run() }
            guard case .state(.open) = await changes.next() else {
                Issue.record("The shipment is not known.")
                return
            }
            #expect(await shipment.snapshot?.vehiclePosition == nil)
            for _ in 1...2 {
                try await reporter.reportArrivedAtStop()
                try await reporter.reportCompletedStop()
            }
            guard case .vehiclePosition(_?) = await changes.next() else {
                Issue.record("The vehicle is not shown.")
                return
            }
            #expect(await shipment.snapshot?.remainingStopCount == 5)
            following.cancel()
        }
    }

    @Test func `an untrusted driver reports places and no stops`() async throws {
        try await self.withScene { scene in
            let reporter = try scene.reporter(scene.untrusted)
            var updates = reporter.updates().makeAsyncIterator()
            let error = await #expect(throws: EngineFailure.self) { try await reporter.reportArrivedAtStop() }
            #expect(error?.code == .permissionDenied && error?.reason == "ROLE_LACKS_PERMISSION")
            #expect(await reporter.remainingStops?.count == 7)
            _ = await updates.next()
            await reporter.startTracking()
            await reporter.record(try self.place(37.4))
            await reporter.reportNow()
            let event = try #require(await updates.next())
            #expect(event.failure == nil && event.pendingCount == 0)
        }
    }

    @Test func `a stop that the backend adds on the way is not closed by the driver`() async throws {
        try await self.withScene { scene in
            let reporter = try scene.reporter(scene.tokens)
            try await reporter.reportEnrouteToNextStop()
            try await scene.plan(1..<9)
            let stops = try await reporter.reportArrivedAtStop()
            #expect(stops.last?.tasks == [try scene.task(8)] && stops.first?.state == .arrived)
        }
    }

    @Test func `a recipient's token opens no other shipment`() async throws {
        try await self.withScene { scene in
            let own = try await scene.tokens.token(for: .deliveryConsumer(scene.parcel(1)))
            let request = HTTPTransportRequest(
                method: "GET",
                url: try EngineEndpoint(scene.engine).url(
                    ["v1", "providers", scene.provider.value, "taskTrackingInfo", "parcel-2"]),
                headers: [(name: "Authorization", value: own.authorizationHeader)])
            #expect(try await URLSessionTransport().send(request).status == 403)
        }
    }
}
