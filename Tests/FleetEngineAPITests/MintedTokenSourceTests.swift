// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import Testing

@Suite struct MintedTokenSourceTests {
    /// Signs with a number of its own each time, and no key.
    private final class Signer: PayloadSigner {
        let account = "server@acme.iam.gserviceaccount.com"
        let count = Locked(0)

        func sign(payload: [UInt8]) -> SignedToken {
            let serial = self.count.withLock { count in
                count += 1
                return count
            }
            let claims = try? TokenClaims(unverified: payload)
            let token = TestTokens.token(
                claiming: claims?.authorization, issuedAt: claims?.issuedAt ?? 0, serial: serial)
            // The payload is put in as it was to be signed; header and signature are the test token's.
            var parts = token.compactSerialization.split(separator: ".").map(String.init)
            parts[1] = String(decoding: Base64URL.encode(payload), as: UTF8.self)
            return SignedToken(token: FleetToken(parts.joined(separator: ".")), publicKey: nil)
        }
    }

    private let signer = Signer()
    private let clock = ManualClock()
    private var signers: RoleSigners {
        RoleSigners([.server: self.signer, .deliveryServer: self.signer, .consumer: self.signer], clock: self.clock)
    }

    @Test func `each method has the token of its service`() throws {
        for method in FleetMethod.allCases {
            let type = TokenType.server(for: method)
            #expect(type.role == (method.isDelivery ? .deliveryServer : .server))
            var request = AccessRequest(method: method, provider: try ProviderID(checking: "acme"))
            request.vehicle = try VehicleID(checking: "x")
            request.trip = try TripID(checking: "x")
            request.deliveryVehicle = try DeliveryVehicleID(checking: "x")
            request.tasks = [try TaskID(checking: "x")]
            request.tracking = try TrackingID(checking: "x")
            try request.checkPermission(of: type.role)
            try request.checkCoverage(of: type.claims, role: type.role)
        }
    }

    @Test func `one cache serves every caller until a token is refused`() async throws {
        let tokens = MintedTokenSource(self.signers)
        let first = try await tokens.token(for: .getVehicle, on: nil)
        #expect(try await tokens.token(for: .createTrip, on: nil) == first)
        // Signed a moment ago: an engine that refuses everything does not keep the signer busy.
        tokens.discard(first, for: .getVehicle, on: nil)
        #expect(try await tokens.token(for: .getVehicle, on: nil) == first)
        self.clock.advance(by: .seconds(60))
        tokens.discard(FleetToken("another"), for: .getVehicle, on: nil)
        #expect(try await tokens.token(for: .getVehicle, on: nil) == first)
        tokens.discard(first, for: .getVehicle, on: nil)
        #expect(try await tokens.token(for: .getVehicle, on: nil) != first)
        #expect(self.signer.count.withLock { $0 } == 2)
    }

    @Test func `a call may have a token for its resource alone`() async throws {
        let tokens = MintedTokenSource(self.signers) { method, resource in
            if case .trip(_, let id)? = resource, method == .getTrip { return .consumer(id) }
            return .server(for: method)
        }
        let token = try await tokens.token(for: .getTrip, on: ResourceName(checking: "providers/acme/trips/trip-7"))
        let claims = try TokenClaims(unverified: CompactJWS(token.compactSerialization).payload)
        #expect(claims.authorization == (try TokenType.consumer(TripID(checking: "trip-7")).claims))
    }

    @Test func `a role without a signer is an error that names it`() async throws {
        let tokens = MintedTokenSource(self.signers) { _, _ in .fleetReader }
        let error = await #expect(throws: SigningError.self) { try await tokens.token(for: .getTrip, on: nil) }
        #expect(error?.message.contains("fleet_reader") == true)
    }
}
