// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import Testing

@testable import FleetTokenServer

@Suite struct TokenAPITests {
    private struct Answer {
        let status: Int
        let headers: HTTPFields
        let body: JSONObject

        /// What the body of a problem points to.
        var pointers: [String] {
            (self.body["errors"]?.array ?? []).compactMap { $0.object?["pointer"]?.string }.sorted()
        }
    }

    private func send(
        _ body: String, method: HTTPRequest.Method = .post, headers: HTTPFields = [.contentType: "application/json"],
        from authenticator: any CallerAuthenticator = OpenAuthenticator(), limiter: RequestLimiter? = nil,
        failing audit: (any AuditLog)? = nil, times: Int = 1
    ) async throws -> Answer {
        let keys = try TokenRoutesTests.keys.get()
        let issuer = TokenIssuer(
            minters: try keys.mapValues { TokenMinter(signer: try LocalSigner($0)) }, now: { TokenRoutesTests.now })
        let router = Router()
        TokenRoutes(
            desk: TokenDesk(
                issuer: issuer, authenticator: authenticator, limiter: limiter, audit: audit,
                logger: Logger(label: "test")),
            publishedKeys: { [] }
        ).add(to: router)
        return try await Application(router: router).test(.router) { client in
            var response = try await client.execute(
                uri: "/v1/tokens", method: method, headers: headers, body: ByteBuffer(string: body))
            for _ in 1..<times {
                response = try await client.execute(
                    uri: "/v1/tokens", method: method, headers: headers, body: ByteBuffer(string: body))
            }
            let object = try? JSONValue(parsing: Array(response.body.readableBytesView)).object
            return Answer(status: response.status.code, headers: response.headers, body: object ?? [:])
        }
    }

    @Test(arguments: [
        (#"{"role":"driver","vehicle":"veh-1"}"#, #"{"vehicleid":"veh-1"}"#),
        (#"{"role":"consumer","trip":"trip-1"}"#, #"{"tripid":"trip-1"}"#),
        (#"{"role":"delivery_untrusted_driver","delivery_vehicle":"dv-1"}"#, #"{"deliveryvehicleid":"dv-1"}"#),
        (#"{"role":"delivery_trusted_driver","delivery_vehicle":"dv-1"}"#, #"{"deliveryvehicleid":"dv-1"}"#),
        (
            #"{"role":"delivery_trusted_driver","delivery_vehicle":"dv-1","task":"t-1"}"#,
            #"{"deliveryvehicleid":"dv-1","taskid":"t-1"}"#
        ),
        (#"{"role":"delivery_consumer","tracking":"shp-1"}"#, #"{"trackingid":"shp-1"}"#),
    ])
    func `the answer holds the token that was asked for, its times and its names`(
        request: String, claims: String
    ) async throws {
        let answer = try await self.send(request)
        #expect(answer.status == 200)
        #expect(answer.headers[.cacheControl] == "no-store")
        let token = try #require(answer.body["token"]?.string)
        let explanation = TokenExaminer().explain(token, request: nil, keys: nil, now: TokenRoutesTests.now)
        #expect(explanation.claims?.authorization?.summary == claims)
        #expect(answer.body["expires_at"] == .string("2026-01-01T00:55:00Z"))
        #expect(answer.body["expires_in"] == .integer(3299))
        #expect((1800...2700).contains(try #require(answer.body["refresh_after"]?.integer)))
        #expect(answer.body["key_id"]?.string == (try CompactJWS(token).keyID))
        #expect(answer.body["fingerprint"] == .string(FleetToken(token).fingerprint))
        #expect(answer.body.keys.count == 7)
    }

    @Test(arguments: [
        (#"{}"#, ["#/role"]),
        (#"{"role":7}"#, ["#/role"]),
        (#"{"role":"pilot","vehicle":"v"}"#, ["#/role"]),
        (#"{"role":"server"}"#, ["#/role"]),
        (#"{"role":"driver"}"#, ["#/vehicle"]),
        (#"{"role":"driver","vehicle":null}"#, ["#/vehicle"]),
        (#"{"role":"driver","vehicle":"*"}"#, ["#/vehicle"]),
        (#"{"role":"driver","vehicle":["v"]}"#, ["#/vehicle"]),
        (#"{"role":"driver","vehicle":"v","trip":"t"}"#, ["#/trip"]),
        (#"{"role":"driver","vehicle":"a/b","a/b~c d":1}"#, ["#/a~1b~0c%20d", "#/vehicle"]),
        (
            #"{"role":"delivery_trusted_driver","delivery_vehicle":"","task":"a:b","x":1}"#,
            ["#/delivery_vehicle", "#/task", "#/x"]
        ),
        (#"{"role":"delivery_fleet_reader","delivery_vehicle":"*"}"#, ["#/delivery_vehicle"]),
    ])
    func `every wrong member is pointed to`(request: String, pointers: [String]) async throws {
        let answer = try await self.send(request)
        #expect(answer.status == 400)
        #expect(answer.headers[.contentType] == "application/problem+json")
        #expect(answer.body["code"] == .string("invalid_request"))
        #expect(answer.body["type"] == .string("/problems#invalid_request"))
        #expect(answer.body["status"] == .integer(400))
        #expect(answer.pointers == pointers)
    }

    @Test func `of many wrong members ten are told, and each once`() async throws {
        let two = try await self.send(#"{"role":"driver","vehicle":"v","x":1,"y":1}"#)
        #expect(two.body["detail"] == .string(#"There is no "x". errors tells 1 more."#))
        let members = (1...1000).map { #""x\#($0)":1"# }.joined(separator: ",")
        let answer = try await self.send("{\(members)}")
        #expect(answer.status == 400)
        #expect(answer.pointers.count == 10)
        #expect(
            answer.body["detail"] == .string(#""role" is missing. errors tells 9 more. Another 991 are not told."#))
    }

    @Test func `of a long name the beginning is told, however few characters it has`() async throws {
        let name = "e" + String(repeating: "\u{301}", count: 4000)
        let answer = try await self.send(#"{"role":"driver","vehicle":"v","\#(name)":1}"#)
        #expect(answer.status == 400)
        #expect(JSONValue.object(answer.body).serialized.count < 2000)
    }

    @Test(arguments: [
        "", "{", "[]", "null", #"{"role":"driver","role":"driver"}"#, #"{"role":"driver"} x"#, "\u{FEFF}{}",
        String(repeating: "[", count: 5000),
    ])
    func `what is no JSON object is refused`(body: String) async throws {
        let answer = try await self.send(body)
        #expect(answer.status == 400)
        #expect(answer.body["code"] == .string("malformed_body"))
    }

    private struct Nobody: CallerAuthenticator {
        func caller(of request: CallerRequest) async throws -> Caller? { nil }
    }

    private struct FullDisk: AuditLog {
        func append(_ record: AuditRecord) async throws { throw Full() }
        struct Full: Error {}
    }

    private static let good = #"{"role":"driver","vehicle":"veh-1"}"#

    @Test func `a stranger is asked for a credential`() async throws {
        let answer = try await self.send(Self.good, from: Nobody())
        #expect(answer.status == 401)
        #expect(answer.headers[.wwwAuthenticate] == "Bearer")
        #expect(answer.body["code"] == .string("unauthenticated"))
    }

    private struct DriverApp: CallerAuthenticator {
        func caller(of request: CallerRequest) async throws -> Caller? {
            Caller(name: "driver-app", issuer: "static", roles: [.driver])
        }
    }

    @Test func `a role that the caller does not have is refused`() async throws {
        let answer = try await self.send(#"{"role":"fleet_reader"}"#, from: DriverApp())
        #expect(answer.status == 403)
        #expect(answer.body["code"] == .string("permission_denied"))
    }

    @Test func `another method is told which ones there are`() async throws {
        for method in [HTTPRequest.Method.get, .put, .delete, .patch, .head, .trace] {
            let answer = try await self.send("", method: method)
            #expect(answer.status == 405)
            #expect(answer.headers[.allow] == "POST")
            #expect(answer.body["code"] == (method == .head ? nil : .string("method_not_allowed")))
        }
    }

    @Test func `a body that is too long is refused`() async throws {
        let answer = try await self.send(#"{"role":"\#(String(repeating: "x", count: 17_000))"}"#)
        #expect(answer.status == 413)
        #expect(answer.body["code"] == .string("body_too_large"))
    }

    @Test(
        arguments: [
            [:], [.contentType: "text/plain"], [.contentType: "application/x-www-form-urlencoded"],
            [.contentType: "application/json", .contentEncoding: "gzip"],
        ] as [HTTPFields])
    func `a body of another type is refused`(headers: HTTPFields) async throws {
        let answer = try await self.send(Self.good, headers: headers)
        #expect(answer.status == 415)
        #expect(answer.body["code"] == .string("unsupported_media_type"))
    }

    @Test func `a type with a character set is taken`() async throws {
        #expect(
            try await self.send(Self.good, headers: [.contentType: "Application/JSON; charset=utf-8"]).status == 200)
    }

    @Test func `what comes too soon or fails for now says when to come again`() async throws {
        let limiter = RequestLimiter(RequestLimits(perCaller: try RateLimit(1, per: .seconds(60))))
        let limited = try await self.send(Self.good, limiter: limiter, times: 2)
        #expect(limited.status == 429)
        #expect(limited.body["code"] == .string("rate_limited"))
        #expect(try #require(Int(limited.headers[.retryAfter] ?? "")) > 0)
        let failed = try await self.send(Self.good, failing: FullDisk())
        #expect(failed.status == 503)
        #expect(failed.body["code"] == .string("unavailable"))
        #expect(failed.headers[.retryAfter] == "2")
        #expect(failed.body["token"] == nil)
    }

    @Test func `a role that is granted and not served has a problem of its own, and no time to come`() async throws {
        let answer = try await self.send(#"{"role":"fleet_reader"}"#)
        #expect(answer.status == 501)
        #expect(answer.body["code"] == .string("role_not_served"))
        #expect(answer.headers[.retryAfter] == nil)
    }
}
