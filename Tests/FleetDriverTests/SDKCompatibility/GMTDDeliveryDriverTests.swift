// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct GMTDDeliveryDriverTests {
    /// A delivery app as the SDK's samples show one: it goes from stop to stop and keeps what it is told.
    final class DeliveryApp: NSObject, GMTDVehicleReporterListener {
        let api: GMTDDeliveryDriverAPI
        private(set) var stops: [GMTDVehicleStop] = []
        private(set) var errors: [NSError] = []
        private let (changes, changed) = AsyncStream.makeStream(of: Void.self)

        init?(context: GMTDDriverContext) {
            guard let api = GMTDDeliveryDriverAPI(driverContext: context) else { return nil }
            self.api = api
            super.init()
            api.vehicleReporter.add(self)
            api.vehicleReporter.locationTrackingEnabled = true
        }

        func load() {
            self.api.vehicleReporter.getRemainingVehicleStops { [weak self] in self?.take($0, $1) }
        }

        func depart() { self.api.vehicleReporter.reportEnrouteToNextStop { [weak self] in self?.take($0, $1) } }
        func arrive() { self.api.vehicleReporter.reportArrivedAtStop { [weak self] in self?.take($0, $1) } }
        func finish() { self.api.vehicleReporter.reportCompletedStop { [weak self] in self?.take($0, $1) } }

        private func take(_ stops: [GMTDVehicleStop]?, _ error: (any Error)?) {
            if let error { self.errors.append(error as NSError) }
            if let stops { self.stops = stops }
            self.changed.yield()
        }

        func vehicleReporter(_ vehicleReporter: GMTDVehicleReporter, didSucceed vehicleUpdate: GMTDVehicleUpdate) {
            self.changed.yield()
        }

        /// Waits until the app heard so many things.
        func hear(_ count: Int) async {
            var iterator = self.changes.makeAsyncIterator()
            for _ in 0..<count { _ = await iterator.next(isolation: #isolation) }
        }

        var short: [String] {
            self.stops.map { stop in
                "\(stop.taskInfoArray.map { "\($0.taskID) \(Int($0.taskDuration))s" }.joined(separator: "+")) "
                    + "\(stop.state) \(stop.plannedWaypoint?.coordinate.latitude ?? 0)"
            }
        }
    }

    private let engine = StubDeliveryEngine(stops: ["1 a NEW", "2 b NEW"])

    private func context(_ fetcher: any GMTDAuthorization, vehicle: String = "van-1") -> GMTDDriverContext {
        GMTDDriverContext(
            accessTokenProvider: fetcher, providerID: "acme", vehicleID: vehicle, navigator: nil,
            engine: EngineConnection(
                url: URL(string: "https://engine.example"), transport: self.engine.transport, clock: SleepRecorder()))
    }

    @Test func `an app goes from stop to stop`() async throws {
        let tokens = StubTokenProvider()
        let fetcher = FleetDriverAuthorization(tokens, service: .scheduledTasks)
        let app = try #require(DeliveryApp(context: self.context(fetcher)))
        app.load()
        app.depart()
        app.arrive()
        await app.hear(3)
        #expect(app.short == ["a 60s arrived 1.0", "b 60s new 2.0"])
        app.finish()
        await app.hear(1)
        #expect(app.short == ["b 60s new 2.0"] && app.errors.isEmpty)
        #expect(self.engine.stops == ["2 b NEW"])
        let vehicle = try DeliveryVehicleID(checking: "van-1")
        let task = try TaskID(checking: "a")
        #expect(Set(tokens.subjects) == [.deliveryDriver(vehicle), .deliveryDriver(vehicle, task: task)])

        app.api.vehicleReporter.record(try .at(7))
        await app.hear(1)
        #expect(try self.engine.transport.requests.last?.latitudes == [0.7])
    }

    @Test func `a fetcher that knows vehicles only will do`() async throws {
        let token = TestTokens.token(for: .deliveryDriver(try DeliveryVehicleID(checking: "van-1")))
        let tasks = Locked<[String?]>([])
        let fetcher = ScriptedDriverFetcher { context, completion in
            tasks.withLock { $0.append(context?.taskID) }
            completion(token.compactSerialization, nil)
        }
        let api = try #require(GMTDDeliveryDriverAPI(driverContext: self.context(fetcher)))
        let stops = try await api.vehicleReporter.reportEnrouteToNextStop()
        #expect(stops.map(\.state) == [.enroute, .new])
        #expect(tasks.withLock { $0 } == [nil, nil, "a"])
        let vehicle = try await #require(api.deliveryVehicleManager).vehicle()
        #expect(vehicle.vehicleName == "providers/acme/deliveryVehicles/van-1" && vehicle.vehicleStops?.count == 2)
    }

    @Test func `stops can be set`() async throws {
        let fetcher = FleetDriverAuthorization(StubTokenProvider(), service: .scheduledTasks)
        let api = try #require(GMTDDeliveryDriverAPI(driverContext: self.context(fetcher)))
        func stop(_ latitude: Double, _ state: GMTDVehicleStopState) -> GMTDVehicleStop {
            GMTDVehicleStop(
                taskInfoArray: [GMTDTaskInfo(taskID: "t\(Int(latitude))", taskDuration: 60)],
                plannedWaypoint: GMSNavigationWaypoint(
                    location: CLLocationCoordinate2D(latitude: latitude, longitude: 7), title: "Mill Lane"),
                state: state)
        }
        try await api.vehicleReporter.setVehicleStops([stop(3, .enroute), stop(4, .new)])
        #expect(self.engine.stops == ["3 t3 ENROUTE", "4 t4 NEW"])
        #expect(GMSNavigationWaypoint(location: CLLocationCoordinate2D(latitude: 91, longitude: 0), title: "") == nil)
        await #expect(throws: NSError.self) {
            try await api.vehicleReporter.setVehicleStops([
                GMTDVehicleStop(taskInfoArray: [], plannedWaypoint: nil, state: .new)
            ])
        }
        #expect(api.vehicleReporter.locationTrackingEnabled == false)
    }

    @Test(arguments: [(403, 7), (404, 5), (503, 14)])
    func `the engine's refusal of a stop arrives with gRPC's number`(status: Int, code: Int) async throws {
        let fetcher = FleetDriverAuthorization(StubTokenProvider(), service: .scheduledTasks)
        let app = try #require(DeliveryApp(context: self.context(fetcher)))
        app.load()
        await app.hear(1)
        self.engine.answer(nil, .status(status), status == 403 ? .status(403) : nil)
        app.depart()
        await app.hear(1)
        #expect(app.errors.map(\.code) == [code] && app.errors.first?.domain == "io.grpc")
    }

    @Test(arguments: [true, false]) func `listeners hear of a change that was kept and then lost`(
        isGone: Bool
    ) async throws {
        let fetcher = FleetDriverAuthorization(StubTokenProvider(), service: .scheduledTasks)
        let api = try #require(GMTDDeliveryDriverAPI(driverContext: self.context(fetcher)))
        let listener = RecordingDriverListener()
        api.vehicleReporter.add(listener)
        self.engine.answer(nil, nil, .offline)
        await #expect(throws: NSError.self) { try await api.vehicleReporter.reportArrivedAtStop() }
        if isGone { self.engine.stops = ["2 b NEW"] } else { self.engine.answer(nil, nil, .status(400)) }
        api.vehicleReporter.locationTrackingEnabled = true
        api.vehicleReporter.record(try .at(7))
        // The completion had its error, so listeners hear of the location first.
        #expect(try await listener.next().error == nil)
        let event = try await listener.next()
        let code: RPCCode = isGone ? .failedPrecondition : .invalidArgument
        #expect(event.cause?.domain == "io.grpc" && event.cause?.code == code.number && event.update.location == nil)
    }

    @Test func `an authorization that was made for on-demand trips says so`() async throws {
        let fetcher = FleetDriverAuthorization(StubTokenProvider())
        let api = try #require(GMTDDeliveryDriverAPI(driverContext: self.context(fetcher)))
        let error = await #expect(throws: NSError.self) {
            try await api.vehicleReporter.setVehicleStops([
                GMTDVehicleStop(
                    taskInfoArray: [GMTDTaskInfo(taskID: "a", taskDuration: 60)],
                    plannedWaypoint: GMSNavigationWaypoint(
                        location: CLLocationCoordinate2D(latitude: 3, longitude: 7), title: "Mill Lane"),
                    state: .new)
            ])
        }
        #expect(error?.domain == "io.grpc" && error?.code == RPCCode.failedPrecondition.number)
        #expect(error?.localizedDescription.contains("for scheduled tasks") == true)
        #expect(self.engine.transport.requests.isEmpty)
    }

    @Test func `a driver's own mistake is a general error, and says what to do`() async throws {
        let fetcher = FleetDriverAuthorization(StubTokenProvider(), service: .scheduledTasks)
        let app = try #require(DeliveryApp(context: self.context(fetcher)))
        app.finish()
        await app.hear(1)
        let error = try #require(app.errors.first)
        #expect(error.domain == GMTDVehicleReporterErrorDomain && error.code == 1)
        #expect(error.localizedDescription.contains("report the way there"))
    }

    @Test func `a context that will not do makes no delivery API`() {
        let fetcher = FleetDriverAuthorization(StubTokenProvider(), service: .scheduledTasks)
        #expect(GMTDDeliveryDriverAPI(driverContext: self.context(fetcher, vehicle: "van/1")) == nil)
        #expect(throws: TokenError.self) {
            try GMTDDeliveryDriverAPI(checking: self.context(fetcher, vehicle: "*"))
        }
    }

    @Test(arguments: [true, false]) func `an app may set whether its crashes are reported`(enabled: Bool) throws {
        GMTDDeliveryDriverAPI.setAbnormalTerminationReportingEnabled(enabled)
        GMTDRidesharingDriverAPI.setAbnormalTerminationReportingEnabled(enabled)
        let fetcher = FleetDriverAuthorization(StubTokenProvider(), service: .scheduledTasks)
        #expect(GMTDDeliveryDriverAPI(driverContext: self.context(fetcher)) != nil)
    }

    @Test func `a delivery vehicle has no state to set`() async throws {
        let fetcher = FleetDriverAuthorization(StubTokenProvider(), service: .scheduledTasks)
        let app = try #require(DeliveryApp(context: self.context(fetcher)))
        app.api.vehicleReporter.update(.online)
        app.load()
        await app.hear(1)
        #expect(self.engine.transport.requests.count == 1)
    }
}
