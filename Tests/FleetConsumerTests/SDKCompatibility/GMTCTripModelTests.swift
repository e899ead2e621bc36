// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetConsumer
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// A fetcher that does what a closure says.
private final class ScriptedConsumerFetcher: NSObject, GMTCAuthorization {
    private let answer: @Sendable (GMTCAuthorizationContext?, @escaping GMTCAuthTokenFetchCompletionHandler) -> Void

    init(answer: @escaping @Sendable (GMTCAuthorizationContext?, @escaping GMTCAuthTokenFetchCompletionHandler) -> Void)
    {
        self.answer = answer
    }

    /// Hands out the token of the trip that it is asked for.
    override convenience init() {
        self.init { context, completion in
            let trip = context.flatMap { TripID($0.tripID) }
            completion(trip.map { TestTokens.token(for: .consumer($0)).compactSerialization }, nil)
        }
    }

    func fetchToken(
        with authorizationContext: GMTCAuthorizationContext?,
        completion: @escaping GMTCAuthTokenFetchCompletionHandler
    ) {
        self.answer(authorizationContext, completion)
    }
}

/// Keeps what a model says.
private final class RecordingSubscriber: NSObject, GMTCTripModelSubscriber {
    let words: AsyncStream<String>
    private let sink: AsyncStream<String>.Continuation
    private(set) var errors: [NSError] = []
    /// What is done inside the next callback of a status.
    var atStatus: (() -> Void)?

    override init() {
        (self.words, self.sink) = AsyncStream.makeStream()
    }

    /// What is said, up to and with some word.
    func words(until last: String) async -> [String] {
        var words: [String] = []
        for await word in self.words {
            words.append(word)
            if word == last { break }
        }
        return words
    }

    /// What was said and not read yet; nothing is heard after that.
    func lastWords() async -> [String] {
        self.sink.finish()
        var words: [String] = []
        for await word in self.words { words.append(word) }
        return words
    }

    func tripModel(_ tripModel: GMTCTripModel, didUpdate sessionState: GMTCTripModelState) {
        self.sink.yield("\(sessionState)")
    }
    func tripModel(_ tripModel: GMTCTripModel, didUpdate tripStatus: GMTSTripStatus) {
        self.sink.yield("status \(tripStatus.rawValue)")
        let reaction = self.atStatus
        self.atStatus = nil
        reaction?()
    }
    func tripModel(_ tripModel: GMTCTripModel, didUpdate vehicleLocation: GMTSVehicleLocation?) {
        self.sink.yield("position \(vehicleLocation?.point.latitude ?? 0)")
    }
    func tripModel(_ tripModel: GMTCTripModel, didUpdatePickup pickupLocation: GMTSTerminalLocation?) {
        self.sink.yield("pickup \(pickupLocation?.latitude ?? 0)")
    }
    func tripModel(_ tripModel: GMTCTripModel, didUpdateDropoff dropoffLocation: GMTSTerminalLocation?) {
        self.sink.yield("dropoff \(dropoffLocation?.latitude ?? 0)")
    }
    func tripModel(
        _ tripModel: GMTCTripModel, didUpdateIntermediateDestinations destinations: [GMTSTerminalLocation]?
    ) {
        self.sink.yield("between \(destinations?.count ?? 0)")
    }
    func tripModel(_ tripModel: GMTCTripModel, didUpdatePickupETA pickupETA: TimeInterval) {
        self.sink.yield("pickup at \(pickupETA)")
    }
    func tripModel(_ tripModel: GMTCTripModel, didUpdateDropoffETA dropoffETA: TimeInterval) {
        self.sink.yield("dropoff at \(dropoffETA)")
    }
    func tripModel(_ tripModel: GMTCTripModel, didUpdateActiveRouteTraffic activeRouteTraffic: GMTSTrafficData?) {
        self.sink.yield("traffic \(activeRouteTraffic?.stretches.count ?? 0)")
    }
    func tripModel(_ tripModel: GMTCTripModel, didUpdateRemainingRoute remainingRoute: [GMTSLatLng]?) {
        self.sink.yield("way \(remainingRoute?.count ?? 0)")
    }
    func tripModel(_ tripModel: GMTCTripModel, didUpdateRemainingRouteDistance remainingRouteDistance: Int32) {
        self.sink.yield("whole distance \(remainingRouteDistance)")
    }
    func tripModel(
        _ tripModel: GMTCTripModel, didUpdate trip: GMTSTrip?, updatedPropertyFields: GMTSTripPropertyFields
    ) {
        self.sink.yield("trip \(updatedPropertyFields.rawValue)")
    }
    func tripModel(_ tripModel: GMTCTripModel, didUpdateETAToNextWaypoint nextWaypointETA: TimeInterval) {
        self.sink.yield("eta \(nextWaypointETA)")
    }
    func tripModel(
        _ tripModel: GMTCTripModel, didUpdateActiveRouteRemainingDistance activeRouteRemainingDistance: Int32
    ) {
        self.sink.yield("distance \(activeRouteRemainingDistance)")
    }
    func tripModel(_ tripModel: GMTCTripModel, didUpdateRemaining remainingWaypoints: [GMTSTripWaypoint]?) {
        self.sink.yield("stops \(remainingWaypoints?.count ?? 0)")
    }
    func tripModel(_ tripModel: GMTCTripModel, didUpdateActiveRoute activeRoute: [GMTSLatLng]?) {
        self.sink.yield("route \(activeRoute?.count ?? 0)")
    }
    func tripModel(_ tripModel: GMTCTripModel, didFailUpdateTripWithError error: (any Error)?) {
        guard let error else { return }
        self.errors.append(error as NSError)
        self.sink.yield("failure")
    }
}

// Serialised, because the SDK's shape has one setting for the whole app.
@MainActor @Suite(.timeLimit(.minutes(10)), .serialized) struct GMTCTripModelTests {
    private let clock = ManualClock()
    private let name = "providers/acme/trips/trip-7"

    private func setUp(
        _ engine: StubTransport, fetcher: any GMTCAuthorization = ScriptedConsumerFetcher(),
        url: String = "https://engine.example"
    ) {
        GMTCServices.setAccessTokenProvider(
            fetcher, providerID: "acme",
            engine: EngineConnection(url: URL(string: url), transport: engine, clock: self.clock))
    }

    private var model: GMTCTripModel {
        get throws { try #require(GMTCServices.shared().tripService.tripModel(forTripName: self.name)) }
    }

    @Test func `a subscriber hears the trip to its end`() async throws {
        let engine = StubTransport(
            trips: #"""
                {"tripStatus":"ENROUTE_TO_PICKUP","vehicleId":"veh-3","lastLocation":{"location":{"latitude":1.5}},
                "etaToFirstWaypoint":"2025-02-05T17:02:32Z","route":[{"latitude":1},{"latitude":2}],
                "remainingWaypoints":[{"location":{"point":{"latitude":9}},"distanceMeters":420},
                {"location":{"point":{"latitude":10}},"pathToWaypoint":[{"latitude":9},{"latitude":9.5},{"latitude":10}]}],
                "remainingDistanceMeters":900,"pickupPoint":{"point":{"latitude":9}},
                "pickupTime":"2025-02-05T17:02:32Z","dropoffPoint":{"point":{"latitude":10}},
                "dropoffTime":"2025-02-05T17:12:32Z","intermediateDestinations":[{"point":{"latitude":9.5}}],
                "currentRouteSegmentTraffic":{"speedReadingInterval":[{"endPolylinePointIndex":1,"speed":"NORMAL"}]}}
                """#)
        self.setUp(engine)
        let model = try self.model
        let subscriber = RecordingSubscriber()
        #expect(model.state == .inactive)
        model.register(subscriber)
        #expect(model.state == .active)

        #expect(
            await subscriber.words(until: "trip 257531") == [
                "active", "status ENROUTE_TO_PICKUP", "position 1.5", "pickup 9.0", "dropoff 10.0", "between 1",
                "eta 1738774952.0", "pickup at 1738774952.0", "dropoff at 1738775552.0", "stops 2", "distance 420",
                "whole distance 900", "route 2", "traffic 1", "way 5", "trip 257531",
            ])
        #expect(model.currentTrip?.vehicle?.value == "veh-3")
        await self.clock.waitForSleepers(1)
        self.clock.advance(by: .seconds(5))
        #expect(await subscriber.words(until: "inactive").contains("status COMPLETE"))
        #expect(model.state == .inactive)

        let request = try #require(engine.requests.first)
        #expect(request.url.path == "/v1/providers/acme/trips/trip-7")
        let expected = TestTokens.token(for: .consumer(try TripID(checking: "trip-7"))).authorizationHeader
        #expect(request.headers.contains { $0.name == "Authorization" && $0.value == expected })
    }

    @Test func `a failure has gRPC's domain and number`() async throws {
        self.setUp(StubTransport([.status(403), .complete]))
        let model = try self.model
        let subscriber = RecordingSubscriber()
        model.register(subscriber)
        _ = await subscriber.words(until: "failure")
        #expect(subscriber.errors.first?.domain == "io.grpc")
        #expect(subscriber.errors.first?.code == 7)
        model.unregisterSubscriber(subscriber)
    }

    @Test func `a fetcher's own error reaches the subscriber`() async throws {
        self.setUp(
            StubTransport([.complete]),
            fetcher: ScriptedConsumerFetcher { _, completion in completion(nil, URLError(.timedOut)) })
        let model = try self.model
        let subscriber = RecordingSubscriber()
        model.register(subscriber)
        _ = await subscriber.words(until: "failure")
        #expect((subscriber.errors.first?.userInfo[NSUnderlyingErrorKey] as? URLError)?.code == .timedOut)
        model.unregisterSubscriber(subscriber)
    }

    @Test func `a provider's tokens watch a trip through the adoption source`() async throws {
        let tokens = StubTokenProvider()
        self.setUp(StubTransport([.complete]), fetcher: FleetConsumerAuthorization(tokens))
        let model = try self.model
        let subscriber = RecordingSubscriber()
        model.register(subscriber)
        #expect(await subscriber.words(until: "inactive").contains("status COMPLETE"))
        #expect(tokens.subjects == [.consumer(try TripID(checking: "trip-7"))])
    }

    @Test func `a refused token is replaced through the adoption source`() async throws {
        let tokens = StubTokenProvider()
        self.setUp(StubTransport([.status(401), .complete]), fetcher: FleetConsumerAuthorization(tokens))
        let model = try self.model
        let subscriber = RecordingSubscriber()
        model.register(subscriber)
        #expect(await subscriber.words(until: "inactive").contains("status COMPLETE"))
        #expect(subscriber.errors.isEmpty)
        #expect(tokens.invalidated == [TestTokens.token(for: .consumer(try TripID(checking: "trip-7")))])
    }

    @Test func `an engine that will not do is told, and watching ends`() async throws {
        self.setUp(StubTransport([.complete]), url: "http://engine.example")
        let model = try self.model
        let subscriber = RecordingSubscriber()
        model.register(subscriber)
        #expect(await subscriber.words(until: "inactive") == ["failure", "inactive"])
    }

    @Test func `watching ends with the last subscriber and can begin again`() async throws {
        let engine = StubTransport([.json(#"{"tripStatus":"NEW"}"#)])
        self.setUp(engine)
        let model = try self.model
        let (first, second) = (RecordingSubscriber(), RecordingSubscriber())
        model.register(first)
        model.register(second)
        // The trip's name and status are new.
        _ = await first.words(until: "trip 9")
        #expect(await second.words(until: "trip 9") == ["active", "status NEW", "trip 9"])
        model.unregisterSubscriber(first)
        #expect(model.state == .active)
        model.unregisterSubscriber(second)
        #expect(model.state == .inactive)

        model.register(first)
        #expect(await first.words(until: "trip 9") == ["active", "status NEW", "trip 9"])
        #expect(engine.requests.count == 2)
        #expect(model.state == .active)
        model.unregisterSubscriber(first)
    }

    @Test func `who subscribes to a watched trip hears what is known of it, once and not on the call's stack`()
        async throws
    {
        let engine = StubTransport(trips: #"{"tripStatus":"NEW"}"#)
        self.setUp(engine)
        let model = try self.model
        let (first, second) = (RecordingSubscriber(), RecordingSubscriber())
        model.register(first)
        _ = await first.words(until: "trip 9")
        model.register(second)
        model.unregisterSubscriber(second)
        model.register(second)
        model.register(second)
        #expect(await second.words(until: "trip 9") == ["active", "status NEW", "trip 9"])
        #expect(engine.requests.count == 1)
        await self.clock.waitForSleepers(1)
        self.clock.advance(by: .seconds(5))
        for subscriber in [first, second] {
            #expect(await subscriber.words(until: "inactive") == ["status COMPLETE", "trip 8", "inactive"])
        }
    }

    @Test func `who is removed inside a callback hears nothing more`() async throws {
        self.setUp(StubTransport([.complete]))
        let model = try self.model
        let (first, second) = (RecordingSubscriber(), RecordingSubscriber())
        first.atStatus = {
            model.unregisterSubscriber(first)
            model.unregisterSubscriber(second)
        }
        model.register(first)
        model.register(second)
        #expect(await first.words(until: "status COMPLETE") == ["active", "status COMPLETE"])
        // Time enough for the watching to end.
        for _ in 0..<1_000 { await Task.yield() }
        #expect(await first.lastWords().isEmpty)
        #expect(await second.lastWords() == ["active"])
        #expect(model.state == .inactive)
    }

    @Test func `who is removed inside a callback and comes back hears everything anew`() async throws {
        self.setUp(StubTransport([.new]))
        let model = try self.model
        let (first, second) = (RecordingSubscriber(), RecordingSubscriber())
        first.atStatus = {
            model.unregisterSubscriber(first)
            model.register(first)
        }
        model.register(first)
        model.register(second)
        #expect(await first.words(until: "trip 9") == ["active", "status NEW", "active", "status NEW", "trip 9"])
        #expect(await second.words(until: "trip 9") == ["active", "status NEW", "trip 9"])
        model.unregisterSubscriber(first)
        model.unregisterSubscriber(second)
    }

    @Test func `watching that ends and begins anew in one turn is told of once`() async throws {
        let engine = StubTransport([.json(#"{"tripStatus":"NEW"}"#)])
        self.setUp(engine)
        let model = try self.model
        let subscriber = RecordingSubscriber()
        model.register(subscriber)
        model.unregisterSubscriber(subscriber)
        model.register(subscriber)
        #expect(await subscriber.words(until: "trip 9") == ["active", "status NEW", "trip 9"])
        #expect(engine.requests.count == 1)
        model.unregisterSubscriber(subscriber)
    }

    @Test func `watching ends when the last subscriber is gone, also while nothing changes`() async throws {
        let engine = StubTransport([.json(#"{"tripStatus":"NEW"}"#)])
        self.setUp(engine)
        let model = try self.model
        var subscriber: RecordingSubscriber? = RecordingSubscriber()
        subscriber.map(model.register)
        _ = await subscriber?.words(until: "trip 9")
        await self.clock.waitForSleepers(1)
        subscriber = nil
        self.clock.advance(by: .seconds(5))
        await engine.waitForRequests(2)
        while model.state == .active { await Task.yield() }
        #expect(engine.requests.count == 2)
    }

    @Test func `a question on its way is given up with the last subscriber`() async throws {
        let (asked, question) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        self.setUp(
            StubTransport { _, _ in
                question.finish()
                // Nothing comes, until the task is cancelled.
                let (silence, sink) = AsyncStream.makeStream(of: Void.self)
                for await _ in silence {}
                sink.finish()
                end.finish()
                return .complete
            })
        let model = try self.model
        let subscriber = RecordingSubscriber()
        model.register(subscriber)
        for await _ in asked {}
        model.unregisterSubscriber(subscriber)
        for await _ in ended {}
        #expect(model.currentTrip == nil)
    }

    @Test func `one name is one model, and other names are none`() throws {
        self.setUp(StubTransport([.complete]))
        let service = GMTCServices.shared().tripService
        let model = try #require(service.tripModel(forTripName: self.name))
        #expect(service.tripModel(forTripName: self.name) === model)
        #expect(model.tripName == self.name)
        for other in ["trip-7", "providers/other/trips/trip-7", "providers/acme/trips/", "providers/acme/vehicles/v"] {
            #expect(service.tripModel(forTripName: other) == nil)
        }
        #expect(service.tripModel(forTripName: "providers/acme/trips/\u{301}") != nil)
    }

    @Test func `the service lists its models, and those that are watched`() throws {
        self.setUp(StubTransport([.json(#"{"tripStatus":"NEW"}"#)]))
        let service = GMTCServices.shared().tripService
        #expect(!service.hasTripModel(forTripName: self.name) && service.allTripModels().isEmpty)
        let model = try self.model
        let other = try #require(service.tripModel(forTripName: "providers/acme/trips/trip-6"))
        #expect(service.hasTripModel(forTripName: self.name))
        #expect(service.allTripModels() == [other, model] && service.activeTripModels().isEmpty)
        let subscriber = RecordingSubscriber()
        model.register(subscriber)
        #expect(service.activeTripModels() == [model])
        model.unregisterSubscriber(subscriber)
        #expect(service.activeTripModels().isEmpty)
    }

    @Test(arguments: [(0.0, Duration.seconds(5)), (-3, .seconds(5)), (2, .seconds(2)), (.infinity, .seconds(60))])
    func `the options set the pace`(interval: TimeInterval, pause: Duration) async throws {
        let engine = StubTransport([.json(#"{"tripStatus":"NEW"}"#)])
        self.setUp(engine)
        let model = try self.model
        #expect(model.options.autoRefreshTimeInterval == 0)
        model.options.autoRefreshTimeInterval = interval
        let subscriber = RecordingSubscriber()
        model.register(subscriber)
        _ = await subscriber.words(until: "status NEW")
        await self.clock.waitForSleepers(1)
        self.clock.advance(by: pause - .milliseconds(1))
        #expect(engine.requests.count == 1)
        self.clock.advance(by: .milliseconds(1))
        await engine.waitForRequests(2)
        model.unregisterSubscriber(subscriber)
    }

    @Test func `a model that nobody watches or holds goes`() async throws {
        self.setUp(StubTransport([.json(#"{"tripStatus":"NEW"}"#)]))
        weak var forgotten: GMTCTripModel?
        do {
            let model = try self.model
            forgotten = model
        }
        #expect(forgotten == nil)
    }
}
