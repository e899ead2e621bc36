// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import HTTPTypes
import Logging
import Testing

/// A desk in a program that has no routes.
@Suite struct TokenDeskIssueTests {
    /// Knows callers by their address alone.
    private struct Addresses: CallerAuthenticator {
        func caller(of request: CallerRequest) async throws -> Caller? {
            request.peerAddress.map { Caller(name: $0, issuer: "net", roles: [.driver, .consumer]) }
        }
    }

    /// Grants everything but one vehicle, and cannot decide about another.
    private struct Policy: TokenPolicy {
        struct Down: Error {}

        func decide(_ type: TokenType, for caller: Caller, at time: Date) async throws -> PolicyDecision {
            if type == .driver(try VehicleID(checking: "veh-down")) { throw Down() }
            if type == .driver(try VehicleID(checking: "veh-4")) {
                return .refused(rule: "own", reason: "Not its own.")
            }
            return .granted(rule: "all")
        }
    }

    private static let key = Result { try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme") }

    private func desk(limiter: RequestLimiter? = nil) throws -> TokenDesk {
        TokenDesk(
            issuer: TokenIssuer(minters: [.driver: TokenMinter(signer: try LocalSigner(try Self.key.get()))]),
            authenticator: Addresses(), policy: Policy(), limiter: limiter,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private let request = CallerRequest(headers: [:], peerAddress: "192.0.2.7")

    private static func vehicle(_ id: String) throws -> TokenType { .driver(try VehicleID(checking: id)) }

    @Test func `a caller gets the token that it may have`() async throws {
        let issued = try await self.desk().issue(try Self.vehicle("veh-3"), for: self.request)
        let verifier = TokenVerifier(keys: TrustedKeySet([try Self.key.get().publicKey()]))
        let examined = try verifier.verify(issued.token.compactSerialization, at: Date())
        #expect(examined.claims.authorization == (try Self.vehicle("veh-3").claims))
    }

    @Test(
        arguments: [
            ("veh-4", .refused, nil), ("veh-down", .unavailable, 2),
        ] as [(String, TokenDeskRefusal.Code, Int?)])
    func `a refusal tells its kind and when to come again`(
        vehicle: String, code: TokenDeskRefusal.Code, seconds: Int?
    ) async throws {
        let refusal = await #expect(throws: TokenDeskRefusal.self) {
            try await self.desk().issue(try Self.vehicle(vehicle), for: self.request)
        }
        #expect(refusal?.code == code && refusal?.retryAfter == seconds.map { .seconds($0) })
        #expect((refusal as (any Error)?)?.localizedDescription == refusal?.message)
    }

    @Test func `a stranger, a role without a signer, and who asks too often are told apart`() async throws {
        let stranger = await #expect(throws: TokenDeskRefusal.self) {
            try await self.desk().issue(try Self.vehicle("veh-3"), for: CallerRequest(headers: [:]))
        }
        #expect(stranger?.code == .unauthenticated)
        let customer = await #expect(throws: TokenDeskRefusal.self) {
            try await self.desk().issue(.consumer(try TripID(checking: "trip-7")), for: self.request)
        }
        #expect(customer?.code == .notServed)
        let limits = RequestLimits(perCaller: try RateLimit(1, per: .seconds(3600)))
        let desk = try self.desk(limiter: RequestLimiter(limits))
        _ = try await desk.issue(try Self.vehicle("veh-3"), for: self.request)
        let limited = await #expect(throws: TokenDeskRefusal.self) {
            try await desk.issue(try Self.vehicle("veh-3"), for: self.request)
        }
        #expect(limited?.code == .limited && limited?.retryAfter != nil)
    }
}
