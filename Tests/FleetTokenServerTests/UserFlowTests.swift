// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetOperation
import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import Testing

@testable import FleetTokenServer

/// From a user's login to a token that the engine would accept, over HTTP.
@Suite struct UserFlowTests {
    private static func application(
        _ authenticator: any CallerAuthenticator, _ policy: any TokenPolicy
    ) throws -> some ApplicationProtocol {
        let keys = try TokenRoutesTests.keys.get()
        let router = Router(context: CallerRequestContext.self)
        TokenRoutes(
            desk: TokenDesk(
                issuer: TokenIssuer(
                    minters: try keys.mapValues { TokenMinter(signer: try LocalSigner($0)) },
                    now: { IdentityProvider.now }),
                authenticator: authenticator, policy: policy, now: { IdentityProvider.now },
                logger: Logger(label: "test")),
            publishedKeys: { [] }
        ).add(to: router)
        return Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
    }

    private static func status(
        _ path: String, bearer: String, _ client: any TestClientProtocol
    ) async throws -> (code: Int, token: String?) {
        let answer = try await client.execute(uri: path, method: .get, headers: [.authorization: "Bearer \(bearer)"])
        let body = try JSONValue(parsing: Array(answer.body.readableBytesView)).object
        return (answer.status.code, body?["jwt"]?.string)
    }

    @Test func `a driver who logs in gets the token of the vehicle assigned now, and no other`() async throws {
        let key = IdentityProvider.SigningKey.p256(.init())
        let provider = IdentityProvider([("k1", key)])
        let vehicle = AssignedResource.vehicle(try VehicleID(checking: "veh-1"))
        let ann = CallerID(issuer: "acme", subject: "user-1")
        let store = InMemoryAssignmentStore([
            Assignment(holder: ann, resource: vehicle, start: IdentityProvider.now - 60)
        ])
        let application = try Self.application(
            CallerAuthenticators([try IDTokenAuthenticatorTests.authenticator(provider)]),
            try RulePolicy(yaml: RulePolicyTests.yaml, assignments: store))
        let groups: JSONObject = ["groups": .array([.string("drivers")])]
        let good = try IdentityProvider.token(groups, key: key)
        let expired = try IdentityProvider.token(["exp": .integer(1)], key: key)
        let unknown = try IdentityProvider.token(kid: "k9", key: key)
        try await application.test(.live) { client in
            let granted = try await Self.status("/token/driver/veh-1", bearer: good, client)
            #expect(granted.code == 200)
            let token = try #require(granted.token)
            let claims = TokenExaminer().explain(token, request: nil, keys: nil, now: IdentityProvider.now).claims
            #expect(claims?.authorization?.summary == #"{"vehicleid":"veh-1"}"#)
            #expect(try await Self.status("/token/driver/veh-2", bearer: good, client).code == 403)
            #expect(try await Self.status("/token/consumer/veh-1", bearer: good, client).code == 403)
            #expect(try await Self.status("/token/driver/veh-1", bearer: expired, client).code == 401)
            #expect(try await Self.status("/token/driver/veh-1", bearer: unknown, client).code == 401)
            // What the server gives is no proof of who asks.
            #expect(try await Self.status("/token/driver/veh-1", bearer: token, client).code == 401)
            store.end(vehicle, of: ann, at: IdentityProvider.now)
            #expect(try await Self.status("/token/driver/veh-1", bearer: good, client).code == 403)
        }
    }

    @Test(arguments: [("127.0.0.0/8", 200), ("10.0.0.0/8", 401)])
    func `a proxy is known by where the connection comes from`(peers: String, status: Int) async throws {
        let proxy = try TrustedProxyAuthenticator(
            label: "acme", peers: [AddressRange(peers)], subjectHeader: "X-User",
            claimHeaders: ["X-Groups": "groups"])
        let policy = try RulePolicy(yaml: RulePolicyTests.yaml, assignments: InMemoryAssignmentStore())
        try await Self.application(proxy, policy).test(.live) { client in
            var headers = HTTPFields()
            headers[try #require(HTTPField.Name("X-User"))] = "tom"
            headers[try #require(HTTPField.Name("X-Groups"))] = "testers"
            headers[try #require(HTTPField.Name("X-Forwarded-For"))] = "127.0.0.1"
            let answer = try await client.execute(uri: "/token/driver/test-1", method: .get, headers: headers)
            #expect(answer.status.code == status)
        }
    }

    /// Answers when it is let go.
    final class GatedProvider: UpstreamTransport {
        let provider: IdentityProvider
        private let gate = AsyncStream.makeStream(of: Void.self)
        private let arrival = AsyncStream.makeStream(of: Void.self)
        init(_ provider: IdentityProvider) { self.provider = provider }

        func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
            self.arrival.continuation.yield()
            for await _ in self.gate.stream { break }
            try Task.checkCancellation()
            return try await self.provider.send(request)
        }

        func waitForRequest() async { for await _ in self.arrival.stream { break } }
        func letGo() { for _ in 0..<2 { self.gate.continuation.yield() } }
    }

    @Test func `a caller that goes away does not take the keys from the others`() async throws {
        let key = IdentityProvider.SigningKey.p256(.init())
        let gated = GatedProvider(IdentityProvider([("k1", key)]))
        let authenticator = try IDTokenAuthenticator(
            .init(label: "acme", issuer: IdentityProvider.issuer, audiences: ["driver-app"]),
            transport: gated, clock: ManualClock(), now: { IdentityProvider.now })
        let request = IdentityProvider.request(try IdentityProvider.token(key: key))
        let first = Task { try await authenticator.caller(of: request) }
        await gated.waitForRequest()
        let second = Task { try await authenticator.caller(of: request) }
        first.cancel()
        gated.letGo()
        #expect(try await second.value?.subject == "user-1")
        #expect(gated.provider.fetches == 1)
    }
}
