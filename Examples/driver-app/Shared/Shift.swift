// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import Foundation

#if canImport(GoogleRidesharingDriver)
    import CoreLocation
    import GoogleRidesharingDriver
#else
    import FleetDriver
#endif

/// A driver's shift: starts and stops tracking, and says what became of updates and tokens.
@MainActor final class Shift: NSObject {
    private(set) var state = ShiftState() {
        didSet {
            if self.state != oldValue { self.onChange?(self.state) }
            guard !self.state.isEnding else { return }
            for waiter in self.waiters { waiter.resume() }
            self.waiters = []
        }
    }
    /// Hears of each new state.
    var onChange: (@MainActor (ShiftState) -> Void)?

    // Tracking goes on for as long as somebody holds this.
    private let api: GMTDRidesharingDriverAPI
    private let provider: FleetTokenProvider
    private let authorization: FleetDriverAuthorization
    private let vehicle: String
    private let places: (any ShiftPlaces)?
    private var watching: Task<Void, Never>?
    /// Who waits for the update that sets the vehicle offline.
    private var waiters: [CheckedContinuation<Void, Never>] = []

    init(
        api: GMTDRidesharingDriverAPI, tokens: DriverTokens, vehicle: String, places: (any ShiftPlaces)? = nil
    ) {
        self.api = api
        self.provider = tokens.provider
        self.authorization = tokens.authorization
        self.vehicle = vehicle
        self.places = places
        super.init()
        api.vehicleReporter.add(self)
        let events = tokens.provider.events()
        self.watching = Task { [weak self] in
            for await event in events { self?.state.lastTokenEvent = event.text }
        }
    }

    deinit {
        self.watching?.cancel()
    }

    /// Goes online and reports the vehicle's place from now on.
    func start(reportingEvery interval: TimeInterval = 10) {
        self.api.vehicleReporter.locationReportingInterval = interval
        self.api.vehicleReporter.locationTrackingEnabled = true
        self.api.vehicleReporter.update(.online)
        self.places?.start()
        self.state.isTracking = true
    }

    /// Ends with one more update, which sets the vehicle offline.
    func stop() {
        self.api.vehicleReporter.locationTrackingEnabled = false
        self.places?.stop()
        self.state.isTracking = false
    }

    /// Ends the shift and the session: the provider is closed behind the last update, which needs a token too.
    ///
    /// - Returns: Whether that update failed, so that the vehicle may still be online.
    func signOut() async -> Bool {
        if self.state.isTracking { self.stop() }
        if self.state.isEnding { await withCheckedContinuation { self.waiters.append($0) } }
        await self.provider.close()
        return self.state.mayBeOnline
    }

    // MARK: - What the reporter says

    func vehicleReporter(_ vehicleReporter: GMTDVehicleReporter, didSucceed vehicleUpdate: GMTDVehicleUpdate) {
        var state = self.state
        state.succeeded += 1
        state.lastUpdate = .succeeded(state: Self.text(vehicleUpdate.vehicleState))
        state.lastUpdateAt = Date()
        if vehicleUpdate.vehicleState == .offline { state.isEnding = false }
        // Without new places, updates repeat the last one.
        if let problem = state.locationProblem, let time = Self.time(of: vehicleUpdate), time > problem.since {
            state.locationProblem = nil
        }
        self.state = state
    }

    func vehicleReporter(
        _ vehicleReporter: GMTDVehicleReporter, didFail vehicleUpdate: GMTDVehicleUpdate, withError error: any Error
    ) {
        // The outer error is always the same one; the cause tells more.
        let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError ?? error as NSError
        // The engine refused the token, which the SDK tells nobody else; without a token, a token error lies below.
        let isWithoutToken = cause.userInfo[NSUnderlyingErrorKey] is TokenClientError
        if cause.code == RPCCode.unauthenticated.number, !isWithoutToken {
            self.authorization.lastTokenWasRefused(vehicleID: self.vehicle)
        }
        var reason = cause.localizedDescription
        var state = self.state
        let isLocationProblem =
            cause.domain == GMTDVehicleReporterErrorDomain
            && cause.code == GMTDVehicleReporterErrorCode.noLastKnownLocation.rawValue
        if isLocationProblem {
            // What the source of the places says is for the driver.
            if let own = cause.userInfo[NSUnderlyingErrorKey] as? any Error { reason = own.localizedDescription }
            state.locationProblem = ShiftState.LocationProblem(reason: reason, since: Date())
        } else if vehicleUpdate.vehicleState == .offline {
            state.isEnding = false
        }
        state.lastUpdate = .failed(state: Self.text(vehicleUpdate.vehicleState), reason: reason)
        state.lastUpdateAt = Date()
        self.state = state
    }

    /// When the vehicle was at an update's place.
    private static func time(of update: GMTDVehicleUpdate) -> Date? {
        #if canImport(GoogleRidesharingDriver)
            update.location?.timestamp
        #else
            update.location?.time
        #endif
    }

    private static func text(_ state: GMTDVehicleState) -> String { state == .online ? "online" : "offline" }
}

#if canImport(GoogleRidesharingDriver)
    // The SDK calls on the main thread, which its header does not tell the compiler.
    extension Shift: @preconcurrency GMTDVehicleReporterListener {}
#else
    extension Shift: GMTDVehicleReporterListener {}
#endif
