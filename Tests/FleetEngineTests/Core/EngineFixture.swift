// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import SwiftProtobuf

@testable import FleetEngine
@testable import FleetTokens

/// An engine over memory, tokens that are what their text says, and a clock that stands.
final class EngineFixture: Sendable {
    let store: any EngineStore
    let engine: Engine
    let clock: TestClock

    init(
        store: any EngineStore = MemoryStore(), at start: Date = TestClock.start, router: (any RoadRouter)? = nil
    ) {
        let clock = TestClock(start)
        self.clock = clock
        self.store = store
        self.engine = Engine(store: store, verifier: TextVerifier(), router: router, now: { clock.now })
    }

    /// Moves the clock on.
    func advance(by seconds: TimeInterval) { self.clock.advance(by: seconds) }
}

/// A clock that moves when it is told to.
final class TestClock: Sendable {
    static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private let time: Locked<Date>

    init(_ start: Date) { self.time = Locked(start) }

    var now: Date { self.time.withLock { $0 } }
    func advance(by seconds: TimeInterval) { self.time.withLock { $0 += seconds } }
    func set(_ date: Date) { self.time.withLock { $0 = date } }
}

/// Reads tokens of the form `ROLE|key=id|key=id`, with `*` for every id, and `taskids=id,id`.
struct TextVerifier: TokenVerifying {
    var provider = "acme"

    private static func value(_ text: String, of key: String) -> JSONValue {
        key == "taskids" ? .array(text.split(separator: ",").map { .string(String($0)) }) : .string(text)
    }

    func verify(_ token: String, at now: Date) throws(TokenRefusal) -> ExaminedToken {
        let parts = token.split(separator: "|")
        guard let role = parts.first, role != "bad" else {
            throw .unauthenticated(.tokenMalformed, "The token is not one.", fix: "Send another.")
        }
        var claims: AuthorizationClaims?
        if parts.count > 1 {
            let pairs = parts.dropFirst().map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
                .filter { $0.count == 2 }
            let object = Dictionary(pairs.map { ($0[0], Self.value($0[1], of: $0[0])) }) { first, _ in first }
            claims = try? AuthorizationClaims(json: JSONObject(object))
        }
        let start = Int64(now.timeIntervalSince1970)
        return ExaminedToken(
            claims: TokenClaims(
                account: "\(role)@\(self.provider).iam.gserviceaccount.com", issuedAt: start - start % 3600,
                expiresAt: start - start % 3600 + 3600, authorization: claims
            ),
            account: TrustedAccount(
                email: "\(role)@\(self.provider).iam.gserviceaccount.com", role: Role(rawValue: String(role)),
                provider: ProviderID(self.provider)
            ),
            keyID: "k1"
        )
    }
}

/// The token of a backend.
let serverToken = "server|vehicleid=*|tripid=*"
/// The token of a scheduled-tasks backend.
let deliveryToken = "delivery_server|deliveryvehicleid=*|taskid=*|trackingid=*"

extension LatLng {
    static func at(_ latitude: Double, _ longitude: Double) -> LatLng {
        .with {
            $0.latitude = latitude
            $0.longitude = longitude
        }
    }
}

extension TerminalLocation {
    static func at(_ latitude: Double, _ longitude: Double) -> TerminalLocation {
        .with { $0.point = .at(latitude, longitude) }
    }
}

extension VehicleLocation {
    static func at(_ latitude: Double, _ longitude: Double) -> VehicleLocation {
        .with { $0.location = .at(latitude, longitude) }
    }
}

extension Google_Protobuf_FieldMask {
    static func of(_ paths: String...) -> Self { .with { $0.paths = paths } }
}

extension Vehicle {
    /// A vehicle as the published role scripts create it.
    static var sample: Vehicle {
        .with {
            $0.name = "providers/acme/vehicles/ignored"
            $0.vehicleState = .online
            $0.supportedTripTypes = [.exclusive]
            $0.maximumCapacity = 4
            $0.vehicleType.category = .auto
            $0.lastLocation = .at(37.419645, -122.073884)
            $0.lastLocation.heading = 0
            $0.lastLocation.altitude = 0.0
            $0.lastLocation.speed = 30000.0
        }
    }
}

extension Trip {
    /// A trip from near the sample vehicle to a place 5 km north.
    static var sample: Trip {
        .with {
            $0.name = "providers/acme/trips/ignored"
            $0.tripType = .exclusive
            $0.pickupPoint = .at(37.419646, -122.073885)
            $0.dropoffPoint = .at(37.464646, -122.073885)
            $0.numberOfPassengers = 2
        }
    }
}

// MARK: - Calls as a backend makes them

extension EngineFixture {
    @discardableResult
    func createVehicle(
        _ id: String, _ vehicle: Vehicle = .sample, token: String? = serverToken
    ) async throws -> Vehicle {
        try await self.engine.perform(
            CreateVehicle.self,
            .with {
                $0.parent = "providers/acme"
                $0.vehicleID = id
                $0.vehicle = vehicle
            },
            token: token
        )
    }

    func vehicle(_ id: String, token: String? = serverToken) async throws -> Vehicle {
        try await self.engine.perform(
            GetVehicle.self, .with { $0.name = "providers/acme/vehicles/\(id)" }, token: token)
    }

    @discardableResult
    func updateVehicle(
        _ id: String, _ mask: [String], token: String? = serverToken, _ change: (inout Vehicle) -> Void = { _ in }
    ) async throws -> Vehicle {
        var vehicle = Vehicle()
        change(&vehicle)
        return try await self.engine.perform(
            UpdateVehicle.self,
            .with {
                $0.name = "providers/acme/vehicles/\(id)"
                $0.vehicle = vehicle
                $0.updateMask.paths = mask
            },
            token: token
        )
    }

    @discardableResult
    func createTrip(_ id: String, _ trip: Trip = .sample, token: String? = serverToken) async throws -> Trip {
        try await self.engine.perform(
            CreateTrip.self,
            .with {
                $0.parent = "providers/acme"
                $0.tripID = id
                $0.trip = trip
            },
            token: token
        )
    }

    func trip(
        _ id: String, token: String? = serverToken, _ change: (inout GetTrip.Request) -> Void = { _ in }
    ) async throws -> Trip {
        var request = GetTrip.Request.with { $0.name = "providers/acme/trips/\(id)" }
        change(&request)
        return try await self.engine.perform(GetTrip.self, request, token: token)
    }

    @discardableResult
    func updateTrip(
        _ id: String, _ mask: [String], token: String? = serverToken, _ change: (inout Trip) -> Void = { _ in }
    ) async throws -> Trip {
        var trip = Trip()
        change(&trip)
        return try await self.engine.perform(
            UpdateTrip.self,
            .with {
                $0.name = "providers/acme/trips/\(id)"
                $0.trip = trip
                $0.updateMask.paths = mask
            },
            token: token
        )
    }
}

/// The code of the error that a call ends with; `nil` where it succeeds.
func code(_ call: () async throws -> some Any) async -> EngineError.Code? {
    do {
        _ = try await call()
        return nil
    } catch {
        return (error as? EngineError)?.code
    }
}
