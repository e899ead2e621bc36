// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// A fetcher that does what a closure says.
final class ScriptedDriverFetcher: NSObject, GMTDAuthorization {
    private let answer: @Sendable (GMTDAuthorizationContext?, @escaping GMTDAuthTokenFetchCompletionHandler) -> Void

    init(answer: @escaping @Sendable (GMTDAuthorizationContext?, @escaping GMTDAuthTokenFetchCompletionHandler) -> Void)
    {
        self.answer = answer
    }

    /// Hands out the token of the vehicle that it is asked for.
    override convenience init() {
        self.init { context, completion in
            let vehicle = context.flatMap { VehicleID($0.vehicleID) }
            completion(vehicle.map { TestTokens.token(for: .driver($0)).compactSerialization }, nil)
        }
    }

    func fetchToken(
        with authorizationContext: GMTDAuthorizationContext?,
        completion: @escaping GMTDAuthTokenFetchCompletionHandler
    ) {
        self.answer(authorizationContext, completion)
    }
}

/// Keeps what a reporter says.
final class RecordingDriverListener: NSObject, GMTDVehicleReporterListener {
    struct Event: Sendable {
        var update: GMTDVehicleUpdate
        var error: NSError?
        /// The error under the one that every failed update has.
        var cause: NSError? { self.error?.userInfo[NSUnderlyingErrorKey] as? NSError }
    }

    private let events: AsyncStream<Event>
    private let sink: AsyncStream<Event>.Continuation
    /// What is done inside each callback of a success.
    var atSuccess: (() -> Void)?

    override init() {
        (self.events, self.sink) = AsyncStream.makeStream()
    }

    func next() async throws -> Event {
        var iterator = self.events.makeAsyncIterator()
        return try #require(await iterator.next(isolation: #isolation))
    }

    func vehicleReporter(_ vehicleReporter: GMTDVehicleReporter, didSucceed vehicleUpdate: GMTDVehicleUpdate) {
        self.sink.yield(Event(update: vehicleUpdate))
        self.atSuccess?()
    }

    func vehicleReporter(
        _ vehicleReporter: GMTDVehicleReporter, didFail vehicleUpdate: GMTDVehicleUpdate, withError error: any Error
    ) {
        self.sink.yield(Event(update: vehicleUpdate, error: error as NSError))
    }
}

/// A driver app on the SDK's shapes, with everything round it in a test's hands.
@MainActor struct DriverSDKWorld {
    let recorder = SleepRecorder()
    let engine: StubTransport
    let listener = RecordingDriverListener()
    let api: GMTDRidesharingDriverAPI
    var reporter: GMTDVehicleReporter { self.api.vehicleReporter }

    init(
        fetcher: any GMTDAuthorization = ScriptedDriverFetcher(),
        engine: StubTransport = StubTransport([.ok]),
        locations: (any LocationSource)? = nil
    ) throws {
        self.engine = engine
        let context = GMTDDriverContext(
            accessTokenProvider: fetcher, providerID: "acme", vehicleID: "veh-3", navigator: nil,
            engine: EngineConnection(
                url: URL(string: "https://engine.example"), transport: engine, clock: self.recorder),
            locations: locations)
        self.api = try #require(GMTDRidesharingDriverAPI(driverContext: context))
        self.reporter.add(self.listener)
    }

    /// Turns tracking on, goes online, and waits for the first report.
    func goOnline() async throws -> RecordingDriverListener.Event {
        self.reporter.locationTrackingEnabled = true
        self.reporter.update(.online)
        return try await self.listener.next()
    }
}
