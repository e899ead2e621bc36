// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import Testing

@Suite struct TokenRoutesTests {
    static let now = Date(timeIntervalSince1970: 1_767_225_600.25)

    /// One key is enough: which role signs is told apart by the account's name.
    static let keys = Result {
        try Dictionary(
            uniqueKeysWithValues: [
                Role.driver, .consumer, .deliveryUntrustedDriver, .deliveryTrustedDriver, .deliveryConsumer,
            ].map { role in
                (role, try ServiceAccountKey(generatingFor: "\(role)@acme", projectID: "acme"))
            })
    }

    private func application(
        _ authenticator: any CallerAuthenticator, _ policy: any TokenPolicy
    ) throws -> some ApplicationProtocol {
        let keys = try Self.keys.get()
        let issuer = TokenIssuer(
            minters: try keys.mapValues { TokenMinter(signer: try LocalSigner($0)) }, now: { Self.now })
        let router = Router()
        let published = try keys.values.map { try $0.publicKey() }
        TokenRoutes(
            desk: TokenDesk(
                issuer: issuer, authenticator: authenticator, policy: policy, logger: Logger(label: "test")),
            publishedKeys: { published }
        ).add(to: router)
        return Application(router: router)
    }

    private func get(
        _ path: String, headers: HTTPFields = [:], from authenticator: any CallerAuthenticator = OpenAuthenticator(),
        policy: any TokenPolicy = RolePolicy()
    ) async throws -> (status: Int, headers: HTTPFields, body: JSONObject) {
        try await self.application(authenticator, policy).test(.router) { client in
            let response = try await client.execute(uri: path, method: .get, headers: headers)
            let body = try JSONValue(parsing: Array(response.body.readableBytesView)).object ?? [:]
            return (response.status.code, response.headers, body)
        }
    }

    @Test func `the on-demand answer is what the sample apps read`() async throws {
        let answer = try await self.get("/token/driver/veh-3")
        #expect(answer.status == 200)
        #expect(answer.headers[.cacheControl] == "no-store")
        #expect(answer.headers[.contentType]?.hasPrefix("application/json") == true)
        #expect(
            Set(answer.body.keys) == ["jwt", "creationTimestamp", "expirationTimestamp", "expires_in", "refresh_after"])
        #expect(answer.body["creationTimestamp"] == .integer(1_767_225_600_250))
        #expect(answer.body["expirationTimestamp"] == .integer(1_767_228_900_000))
        #expect(answer.body["expires_in"] == .integer(3299))
        let token = try #require(answer.body["jwt"]?.string)
        let keys = TrustedKeySet([try #require(try Self.keys.get()[.driver]).publicKey()])
        let examined = try TokenExaminer().examine(token, keys: keys, now: Self.now)
        #expect(examined.claims.authorization?.summary == #"{"vehicleid":"veh-3"}"#)
    }

    @Test(arguments: [
        ("delivery_driver/dv-1", #"{"deliveryvehicleid":"dv-1"}"#),
        ("delivery_consumer/shp-1", #"{"trackingid":"shp-1"}"#),
        ("delivery_driver/dv-1?task=task%2D21", #"{"deliveryvehicleid":"dv-1","taskid":"task-21"}"#),
        ("delivery_driver/dv-1?x=%zz&t%61sk=a%2Bb+c", #"{"deliveryvehicleid":"dv-1","taskid":"a+b+c"}"#),
        ("DELIVERY_CONSUMER/shp-1", #"{"trackingid":"shp-1"}"#),
    ])
    func `the scheduled answer is what the sample apps read`(path: String, claims: String) async throws {
        let answer = try await self.get("/token/\(path)")
        #expect(answer.status == 200)
        #expect(
            Set(answer.body.keys)
                == ["token", "creation_timestamp_ms", "expiration_timestamp_ms", "expires_in", "refresh_after"])
        let token = try #require(answer.body["token"]?.string)
        let explanation = TokenExaminer().explain(token, request: nil, keys: nil, now: Self.now)
        #expect(explanation.claims?.authorization?.summary == claims)
    }

    private struct Known: CallerAuthenticator {
        let roles: Set<Role>
        func caller(of request: CallerRequest) async throws -> Caller? {
            Caller(name: "app", subject: "cora", issuer: "idp", roles: self.roles)
        }
    }

    @Test(
        arguments: [
            ([.deliveryUntrustedDriver], .deliveryUntrustedDriver), ([.deliveryTrustedDriver], .deliveryTrustedDriver),
            ([.deliveryUntrustedDriver, .deliveryTrustedDriver], .deliveryUntrustedDriver), ([.driver], nil),
        ] as [(Set<Role>, Role?)])
    func `a delivery driver's token is of the role that the policy grants, the lesser one of both`(
        roles: Set<Role>, granted: Role?
    ) async throws {
        let answer = try await self.get("/token/delivery_driver/dv-1", from: Known(roles: roles))
        #expect(answer.status == (granted == nil ? 403 : 200))
        let claims = answer.body["token"]?.string.flatMap {
            TokenExaminer().explain($0, request: nil, keys: nil, now: Self.now).claims
        }
        #expect(claims?.issuer == granted.map { "\($0)@acme" })
        #expect(claims?.authorization?.summary == granted.map { _ in #"{"deliveryvehicleid":"dv-1"}"# })
    }

    @Test func `an id is decoded after the path is split`() async throws {
        let answer = try await self.get("/token/consumer/trip%20%C3%84%40%2B")
        let token = try #require(answer.body["jwt"]?.string)
        let explanation = TokenExaminer().explain(token, request: nil, keys: nil, now: Self.now)
        #expect(explanation.claims?.authorization?.trip == .only(try TripID(checking: "trip Ä@+")))
    }

    @Test func `an id is for what was asked, to the last character`() async throws {
        let answer = try await self.get("/token/driver/%EF%BB%BFveh-3")
        let token = try #require(answer.body["jwt"]?.string)
        let explanation = TokenExaminer().explain(token, request: nil, keys: nil, now: Self.now)
        #expect(explanation.claims?.authorization?.vehicle == .only(try VehicleID(checking: "\u{FEFF}veh-3")))
    }

    @Test(arguments: [
        ("/token/driver/*", 400), ("/token/driver/%2A", 400), ("/token/driver/a%2Fb", 400), ("/token/driver/..", 400),
        ("/token/driver/", 400), ("/token/driver", 400), ("/token/driver/a/b", 400), ("/token/driver/%FF", 400),
        ("/token/driver/%00", 400), ("/token/driver/\(String(repeating: "x", count: 65))", 400),
        ("/token/delivery_consumer/*", 400), ("/token/delivery_driver/d?task=*", 400), ("/token/fleet_reader/x", 400),
        ("/token/driver/%zz", 400), ("/token/driver/%", 400), ("/token/delivery_driver/d?task", 400),
        ("/token/delivery_driver/d?task=%ff", 400), ("/token/delivery_driver/d?task=%zz", 400),
        ("/token/delivery_driver/d?task=a&task=b", 400), ("/token/delivery_driver/d?task=a&t%61sk=a", 400),
        ("/token/server", 404),
        ("/token/server/x", 404), ("/token/ondemand_admin", 404), ("/token", 404), ("/token/", 404),
    ])
    func `what is no id or no route is refused, in JSON and without a token`(path: String, status: Int) async throws {
        let answer = try await self.get(path)
        #expect(answer.status == status)
        let error = try #require(answer.body["error"]?.object)
        #expect(error["code"] == .integer(Int64(status)))
        #expect(error["message"]?.string?.isEmpty == false)
        #expect(error["status"]?.string == (status == 400 ? "INVALID_ARGUMENT" : "NOT_FOUND"))
        #expect(answer.headers[.cacheControl] == "no-store")
    }

    @Test func `a role without a signer is a fault of the server that coming back does not mend`() async throws {
        let answer = try await self.get("/token/fleet_reader")
        #expect(answer.status == 501)
        #expect(answer.headers[.retryAfter] == nil)
        #expect(answer.body["error"]?.object?["status"] == .string("UNIMPLEMENTED"))
        #expect(answer.body["error"]?.object?["message"]?.string?.contains("operator") == true)
    }

    @Test func `the published keys verify the issued tokens`() async throws {
        let set = try await self.get("/.well-known/jwks.json").body
        let keys = try JWKS.read(JSONValue.object(set).serialized)
        let token = try #require(try await self.get("/token/driver/veh-3").body["jwt"]?.string)
        #expect(throws: Never.self) { try TokenExaminer().examine(token, keys: TrustedKeySet(keys), now: Self.now) }
    }

    @Test func `each account's keys are published by themselves too`() async throws {
        let set = try await self.get("/.well-known/jwks/driver@acme").body
        #expect(try await self.get("/.well-known/jwks/driver%40acme").body == set)
        let keys = try JWKS.read(JSONValue.object(set).serialized)
        let driver = try #require(Self.keys.get()[.driver])
        #expect(keys.map(\.id) == [driver.keyID])
        for account in ["pilot@acme", "%EF%BB%BFdriver@acme", "%FF"] {
            let unknown = try await self.get("/.well-known/jwks/\(account)")
            #expect(unknown.status == 404)
            #expect(unknown.body["error"]?.object?["status"] == .string("NOT_FOUND"))
        }
    }

    @Test func `a key that several roles share is published once`() throws {
        let key = try #require(Self.keys.get()[.driver])
        let roles = try [Role.driver, .consumer].map { try key.publicKey(role: $0) }
        #expect(try JWKS.read(JWKS.write(roles)).map(\.id) == [key.keyID])
    }

    // MARK: - Callers

    private static func callers() throws -> StaticBearerAuthenticator {
        let digest = SHA256.hash(data: Data("MARKED-secret-of-the-driver-app".utf8)).map { String(format: "%02x", $0) }
        return try StaticBearerAuthenticator(
            json: Data(
                #"{"callers":[{"name":"driver-app","secret_sha256":"\#(digest.joined())","roles":["driver"]}]}"#.utf8))
    }

    @Test(arguments: [
        (nil, 401), ("Bearer wrong", 401), ("Basic MARKED-secret-of-the-driver-app", 401), ("Bearer", 401),
        ("Bearer MARKED-secret-of-the-driver-app x", 401), ("Bearer MARKED-secret-of-the-driver-app", 200),
        ("bearer MARKED-secret-of-the-driver-app", 200),
    ])
    func `only a caller with its secret gets a token`(authorization: String?, status: Int) async throws {
        var headers = HTTPFields()
        headers[.authorization] = authorization
        let answer = try await self.get("/token/driver/veh-3", headers: headers, from: Self.callers())
        #expect(answer.status == status)
        #expect((answer.headers[.wwwAuthenticate] == nil) == (status == 200))
        if status == 401 { #expect(!"\(answer.body)".contains("MARKED")) }
    }

    @Test func `a caller gets tokens of its own roles only`() async throws {
        let headers: HTTPFields = [.authorization: "Bearer MARKED-secret-of-the-driver-app"]
        let answer = try await self.get("/token/consumer/trip-7", headers: headers, from: Self.callers())
        #expect(answer.status == 403)
    }

    /// Knows one driver's vehicle, and cannot say for another's.
    struct AssignedVehicle: TokenPolicy {
        func decide(_ type: TokenType, for caller: Caller, at time: Date) async throws -> PolicyDecision {
            struct Unreachable: Error {}
            if type == .driver(try VehicleID(checking: "unknown")) { throw Unreachable() }
            return type == .driver(try VehicleID(checking: "veh-3"))
                ? .granted(rule: "assigned") : .refused(rule: nil, reason: "Another vehicle is assigned.")
        }
    }

    @Test(arguments: [("veh-3", 200), ("veh-4", 403), ("unknown", 503)])
    func `a policy decides by the very id`(vehicle: String, status: Int) async throws {
        let answer = try await self.get("/token/driver/\(vehicle)", policy: AssignedVehicle())
        #expect(answer.status == status)
        #expect((answer.body["jwt"] != nil) == (status == 200))
    }

    @Test(arguments: [
        "", "[]", #"{"callers":[]}"#, #"{"callers":[{"name":"a","secret_sha256":"zz","roles":["driver"]}]}"#,
        #"{"callers":[{"name":"a","secret_sha256":"\#(String(repeating: "ab", count: 32))","roles":[]}]}"#,
        #"{"callers":[{"name":"a","secret_sha256":"\#(String(repeating: "ab", count: 32))","roles":["server"]}]}"#,
    ])
    func `a callers' file that cannot be meant is an error`(json: String) {
        let error = #expect(throws: TokenServerError.self) { try StaticBearerAuthenticator(json: Data(json.utf8)) }
        #expect(error?.code == .invalidConfiguration)
    }
}

@Suite struct TokenIssuerTests {
    @Test func `a fleet that starts together is told to refresh over a quarter of an hour`() async throws {
        let key = try #require(try TokenRoutesTests.keys.get()[.driver])
        let issuer = TokenIssuer(
            minters: [.driver: TokenMinter(signer: try LocalSigner(key), checksBeforeRelease: false)],
            now: { TokenRoutesTests.now })
        var buckets = [Int](repeating: 0, count: 15)
        for number in 0..<300 {
            let type = TokenType.driver(try VehicleID(checking: "vehicle-\(number)"))
            let refresh = try await issuer.issue(type).refreshAfter
            #expect((.seconds(1800) ... .seconds(2700)).contains(refresh))
            #expect(try await issuer.issue(type).refreshAfter == refresh, "the same vehicle keeps its place")
            buckets[min(14, Int((refresh - .seconds(1800)).components.seconds / 60))] += 1
        }
        // 20 a minute on average; a hash that bunched would leave minutes empty.
        #expect(buckets.allSatisfy { (5...45).contains($0) }, "\(buckets)")
    }

    @Test(arguments: [(0, 3300), (0.25, 3299), (0.75, 3299)])
    func `a token is not said to last longer than it does`(fraction: TimeInterval, seconds: Int) async throws {
        let key = try #require(try TokenRoutesTests.keys.get()[.driver])
        let issuer = TokenIssuer(
            minters: [.driver: TokenMinter(signer: try LocalSigner(key))],
            now: { Date(timeIntervalSince1970: 1_767_225_600 + fraction) })
        #expect(try await issuer.issue(.driver(VehicleID(checking: "veh-3"))).expiresIn == .seconds(seconds))
    }

    @Test func `a short token is refreshed five minutes before its end at the latest`() async throws {
        let key = try #require(try TokenRoutesTests.keys.get()[.driver])
        let window = try MintingWindow(backdating: .zero, lifetime: .seconds(1200))
        let issuer = TokenIssuer(
            minters: [.driver: TokenMinter(signer: try LocalSigner(key), window: window)],
            now: { Date(timeIntervalSince1970: 1_767_225_600) })
        let issued = try await issuer.issue(.driver(VehicleID(checking: "veh-3")))
        #expect(issued.expiresIn == .seconds(1200))
        #expect(issued.refreshAfter == .seconds(900))
    }
}
