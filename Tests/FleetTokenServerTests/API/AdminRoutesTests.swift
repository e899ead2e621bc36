// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetPostgreSQL
import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import PostgreSQLTestSupport
import Testing

@testable import FleetTokenServer

@Suite struct AdminRoutesTests {
    private static let secret = "an-administrator's-secret-of-the-tests"
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)
    /// What the administrator sends.
    static let credential: HTTPFields = [.authorization: "Bearer \(AdminRoutesTests.secret)"]

    /// The routes over a store, with one administrator, and a folder of one key.
    static func routes(
        over store: TokenServerStore, signers: ConfiguredSigners? = nil, rule: Administrators.Rule? = nil,
        limiter: RequestLimiter? = nil,
        failedLogins: FailedLoginLimiter? = nil, now: @escaping @Sendable () -> Date = { Self.now },
        logger: Logger = Logger(label: "test")
    ) throws -> AdminRoutes {
        let digest = SHA256.hash(data: Array(Self.secret.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        let file = #"{"callers": [{"name": "ops", "secret_sha256": "\#(digest.joined())"}]}"#
        var keys: SigningKeys?
        if !TokenServerStore.isAddress(store.path) {
            let folder = URL(filePath: store.path).deletingLastPathComponent()
            let key = try #require(try TokenRoutesTests.keys.get()[.driver])
            try key.keyFile.write(to: folder.appending(path: "driver.json"))
            keys = try SigningKeys(
                folder: KeyFolder(path: folder.path(percentEncoded: false)), provider: try ProviderID(checking: "acme"))
        }
        return AdminRoutes(
            administrators: Administrators(
                secrets: try StaticBearerAuthenticator(administrators: Data(file.utf8)), rule: rule),
            records: .init(store: store, keys: keys, signers: signers),
            limiter: limiter, failedLogins: failedLogins, now: now, logger: logger)
    }

    private struct Answer {
        let status: Int
        let body: JSONObject

        func list(_ name: String) -> [JSONObject] { (self.body[name]?.array ?? []).compactMap(\.object) }
    }

    private struct Client {
        let client: any TestClientProtocol

        func send(
            _ path: String, _ body: String? = nil, bearer: String? = AdminRoutesTests.secret
        ) async throws -> Answer {
            var headers: HTTPFields = [:]
            headers[.authorization] = bearer.map { "Bearer \($0)" }
            headers[.contentType] = body.map { _ in "application/json" }
            let response = try await self.client.execute(
                uri: "/admin/api/\(path)", method: body == nil ? .get : .post, headers: headers,
                body: body.map { ByteBuffer(string: $0) })
            let object = try JSONValue(parsing: Array(response.body.readableBytesView)).object
            return Answer(status: response.status.code, body: object ?? [:])
        }
    }

    private func serving(
        _ temporary: TemporaryStore, signers: ConfiguredSigners? = nil, rule: Administrators.Rule? = nil,
        limiter: RequestLimiter? = nil,
        failedLogins: FailedLoginLimiter? = nil, now: @escaping @Sendable () -> Date = { Self.now },
        logger: Logger = Logger(label: "test"), _ body: @Sendable (Client) async throws -> Void
    ) async throws {
        let router = Router(context: BasicRequestContext.self)
        try Self.routes(
            over: temporary.store, signers: signers, rule: rule, limiter: limiter, failedLogins: failedLogins, now: now,
            logger: logger
        ).add(to: router)
        try await Application(router: router).test(.router) { try await body(Client(client: $0)) }
    }

    private struct Login: CallerAuthenticator {
        func caller(of request: CallerRequest) async throws -> Caller? {
            request.bearer.map { Caller(name: $0, issuer: "login", claims: ["groups": [$0]]) }
        }
    }

    private struct Unreachable: CallerAuthenticator {
        struct Failure: Error {}
        func caller(of request: CallerRequest) async throws -> Caller? { throw Failure() }
    }

    @Test func `only administrators are let in`() async throws {
        let temporary = try TemporaryStore()
        try await self.serving(temporary) { client async throws in
            for path in ["assignments", "decisions", "keys", "revocations"] {
                #expect(try await client.send(path).status == 200)
                #expect(try await client.send(path, bearer: nil).status == 401)
                #expect(try await client.send(path, bearer: "another-secret-that-is-long-enough").status == 401)
            }
            #expect(try await client.send("assignments", "{}", bearer: nil).status == 401)
            #expect(try await client.send("assignments/end", "{}", bearer: nil).status == 401)
            #expect(try await client.send("revocations", "{}", bearer: nil).status == 401)
        }
    }

    @Test func `users of an identity provider need the claim`() async throws {
        @Sendable func token(_ group: String) -> String {
            [#"{"alg":"ES256"}"#, #"{"sub":"\#(group)"}"#, "signature"]
                .map { String(decoding: Base64URL.encode(Array($0.utf8)), as: UTF8.self) }.joined(separator: ".")
        }
        let rule = Administrators.Rule(provider: Login(), claim: "groups", values: [token("ops")])
        try await self.serving(try TemporaryStore(), rule: rule) { client async throws in
            #expect(try await client.send("keys", bearer: token("ops")).status == 200)
            let refused = try await client.send("keys", bearer: token("drivers"))
            #expect(refused.status == 403)
            #expect(refused.body["code"] == .string("permission_denied"))
            #expect(try await client.send("keys").status == 200)
        }
        let down = Administrators.Rule(provider: Unreachable(), claim: "groups", values: ["ops"])
        try await self.serving(try TemporaryStore(), rule: down) { client async throws in
            let unknown = try await client.send("keys", bearer: token("ops"))
            #expect(unknown.status == 503)
            #expect(unknown.body["detail"] == .string("Who sends this cannot be found out now; try again."))
        }
    }

    private struct OneUser: CallerAuthenticator {
        let claim: String
        let value: String
        func caller(of request: CallerRequest) async throws -> Caller? {
            Caller(name: "ann", issuer: "login", claims: [self.claim: [self.value]])
        }
    }

    @Test func `a claim that is only equivalent makes no administrator`() async throws {
        func name(_ claim: String, _ value: String) async throws -> String {
            let rule = Administrators.Rule(provider: OneUser(claim: claim, value: value), claim: "Kind", values: ["K"])
            return try await Administrators(secrets: nil, rule: rule)
                .administrator(of: CallerRequest(headers: [:])).name
        }
        #expect(try await name("Kind", "K") == "ann")
        for (claim, value) in [("Kind", "\u{212A}"), ("\u{212A}ind", "K")] {
            let problem = await #expect(throws: Problem.self) { try await name(claim, value) }
            #expect(problem?.kind == .permissionDenied)
        }
    }

    @Test func `an assignment holds from its request on, until it is ended`() async throws {
        let temporary = try TemporaryStore()
        let store = StoredAssignments(store: temporary.store)
        let vehicle = AssignedResource.vehicle(try VehicleID(checking: "veh-3"))
        let holder = CallerID(issuer: "login", subject: "driver/7")
        try await self.serving(temporary) { client async throws in
            let body = #"{"holder": "login/driver/7", "kind": "vehicle", "id": "veh-3"}"#
            let added = try await client.send("assignments", body)
            #expect(added.status == 201)
            #expect(added.body["start"] == .string("2026-01-01T00:00:00Z"))
            #expect(try await store.isAssigned(vehicle, to: holder, at: Self.now))
            let listed = try await client.send("assignments?kind=vehicle&id=veh-3&holder=login/driver/7&limit=5")
            #expect(listed.list("assignments").map { $0["holder"] } == [.string("login/driver/7")])
            #expect(try await client.send("assignments?at=2025-01-01T00:00:00Z").list("assignments").isEmpty)
            #expect(try await client.send("assignments/end", body).body["ended"] == .integer(1))
            #expect(try await store.isAssigned(vehicle, to: holder, at: Self.now) == false)
            #expect(try await client.send("assignments/end", body).body["ended"] == .integer(0))
        }
    }

    @Test func `an assignment that is sent again is the one that is there`() async throws {
        let temporary = try TemporaryStore()
        let time = Locked(Self.now)
        try await self.serving(temporary, now: { time.withLock { $0 } }) { client async throws in
            let held = #""holder": "login/driver-7", "kind": "vehicle", "id": "veh-3""#
            for status in [201, 200] {
                let added = try await client.send("assignments", "{\(held)}")
                #expect(added.status == status)
                #expect(added.body["start"] == .string("2026-01-01T00:00:00Z") && added.body["end"] == nil)
                time.withLock { $0 += 60 }
            }
            #expect(try await client.send("assignments").list("assignments").count == 1)
            // Who names a time means that one.
            for status in [201, 200] {
                let named = try await client.send("assignments", #"{\#(held), "start": "2026-01-01T00:00:30Z"}"#)
                #expect(named.status == status && named.body["start"] == .string("2026-01-01T00:00:30Z"))
            }
            #expect(try await client.send("assignments").list("assignments").count == 2)
        }
        var query = AuditQuery()
        query.kind = .change
        #expect(try await temporary.matches(query).count == 2)
    }

    @Test(arguments: [PostgreSQLError.Code.connectionLost, .timedOut, .unreachable, .conflict])
    func `a change that may have been made is not said to be worth another try`(
        code: PostgreSQLError.Code
    ) async throws {
        let temporary = try TemporaryStore()
        let isOpen = [.connectionLost, .timedOut].contains(code)
        let failure: @Sendable () throws -> Void = { throw PostgreSQLError(code: code, message: "So it was.") }
        let isAway = Locked(false)
        let database = WatchedDatabase(
            temporary.store.database, beforeWriting: failure,
            beforeReading: { if isAway.withLock({ $0 }) { try failure() } })
        let router = Router(context: BasicRequestContext.self)
        try Self.routes(over: TokenServerStore(database)).add(to: router)
        let held = #"{"holder": "login/driver-7", "kind": "vehicle", "id": "veh-3"}"#
        let changes = [
            ("assignments", held), ("assignments/end", held), ("revocations", #"{"kind": "key", "value": "k1"}"#),
        ]
        try await Application(router: router).test(.router) { client async throws in
            var headers = Self.credential
            headers[.contentType] = "application/json"
            for (path, body) in changes {
                let answer = try await client.execute(
                    uri: "/admin/api/\(path)", method: .post, headers: headers, body: ByteBuffer(string: body))
                let problem = try JSONValue(parsing: Array(answer.body.readableBytesView)).object ?? [:]
                let words = isOpen ? "not known whether the change was made; look before" : "Nothing was changed"
                #expect(answer.status == .serviceUnavailable)
                #expect(problem["code"] == .string(isOpen ? "outcome_unknown" : "unavailable"))
                #expect(problem["detail"]?.string?.contains(words) == true)
                #expect((answer.headers[.retryAfter] == nil) == isOpen)
            }
            isAway.withLock { $0 = true }
            let look = try await client.execute(
                uri: "/admin/api/assignments", method: .get, headers: Self.credential)
            let problem = try JSONValue(parsing: Array(look.body.readableBytesView)).object
            #expect(look.status == .serviceUnavailable && look.headers[.retryAfter] != nil)
            #expect(problem?["detail"] == .string("The store cannot be read now; try again."))
        }
    }

    @Test func `an assignment is ended alone by its start`() async throws {
        let temporary = try TemporaryStore()
        try await self.serving(temporary) { client async throws in
            let held = #""holder": "login/driver-7", "kind": "vehicle", "id": "veh-3""#
            for start in ["2025-12-31T22:00:00Z", "2026-01-01T06:00:00Z", "2026-01-02T06:00:00Z"] {
                #expect(try await client.send("assignments", #"{\#(held), "start": "\#(start)"}"#).status == 201)
            }
            let body = #"{\#(held), "start": "2026-01-01T06:00:00Z"}"#
            #expect(try await client.send("assignments/end", body).body["ended"] == .integer(1))
            let left = try await client.send("assignments").list("assignments")
            #expect(
                left.map { $0["start"] } == [.string("2025-12-31T22:00:00Z"), .string("2026-01-02T06:00:00Z")])
            #expect(left.compactMap { $0["end"] }.isEmpty)
            #expect(try await client.send("assignments/end", #"{\#(held), "start": "soon"}"#).status == 400)
            let later = #"{\#(held), "at": "2026-01-03T00:00:00Z"}"#
            #expect(try await client.send("assignments/end", later).body["ended"] == .integer(2))
            let ending = try await client.send("assignments").list("assignments")
            #expect(ending.map { $0["end"] } == Array(repeating: .string("2026-01-03T00:00:00Z"), count: 2))
            // Without it, everything from now on is.
            #expect(try await client.send("assignments/end", "{\(held)}").body["ended"] == .integer(2))
        }
    }

    @Test(.enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)))
    func `what is ended from a machine whose clock is ahead ends at once, or not at all`() async throws {
        let temporary = try await TemporaryStore.make(.postgreSQL)
        let store = StoredAssignments(store: temporary.store)
        let vehicle = AssignedResource.vehicle(try VehicleID(checking: "veh-3"))
        let holder = CallerID(issuer: "login", subject: "driver-7")
        try await temporary.assign(Assignment(holder: holder, resource: vehicle, start: Date() - 60))
        let body = #"{"holder": "login/driver-7", "kind": "vehicle", "id": "veh-3"}"#
        try await self.serving(temporary, now: { Date() + 120 }) { client async throws in
            for path in ["assignments", "assignments/end"] {
                let refused = try await client.send(path, body)
                #expect(refused.status == 503)
                #expect(refused.body["detail"]?.string?.contains("from the database's") == true)
            }
            let revocation = #"{"kind": "subject", "value": "driver-7"}"#
            #expect(try await client.send("revocations", revocation).status == 503)
            #expect(try await store.isAssigned(vehicle, to: holder, at: Date()))
        }
        try await self.serving(temporary, now: { Date() + 4 }) { client async throws in
            #expect(try await client.send("assignments/end", body).body["ended"] == .integer(1))
            #expect(try await store.isAssigned(vehicle, to: holder, at: Date()) == false)
        }
    }

    @Test(arguments: [
        #"{"holder": "driver-7", "kind": "vehicle", "id": "v"}"#, #"{"holder": "l/d", "kind": "ship", "id": "v"}"#,
        #"{"holder": "l/d", "kind": "vehicle", "id": "*"}"#, #"{"holder": "l/d", "kind": "vehicle"}"#,
        #"{"holder": "l/", "kind": "vehicle", "id": "v"}"#, #"{"holder": "l/\u00fc", "kind": "vehicle", "id": "v"}"#,
        #"{"holder": "l/d", "kind": "vehicle", "id": "v", "end": "2025-01-01T00:00:00Z"}"#,
        #"{"holder": "l/d", "kind": "vehicle", "id": "v", "end": "2026-01-01T00:00:00Z"}"#,
        #"{"holder": "l/d", "kind": "vehicle", "id": "v", "start": "soon"}"#,
        #"{"holder": "l/d", "kind": "vehicle", "id": "v", "until": "x"}"#,
    ])
    func `an assignment that makes no sense is refused`(body: String) async throws {
        try await self.serving(try TemporaryStore()) { client async throws in
            let answer = try await client.send("assignments", body)
            #expect(answer.status == 400)
            #expect(answer.list("errors").count == 1)
            #expect(try await client.send("assignments").list("assignments").isEmpty)
        }
    }

    @Test(arguments: [
        "assignments?kind=vehicle", "assignments?id=veh-3", "assignments?limit=0", "assignments?limit=1001",
        "assignments?at=now", "assignments?holder=x", "assignments?limit=1&limit=2", "assignments?vehicle=veh-3",
        "assignments?holder=%ff", "decisions?subject=%zz", "decisions?subject=a&subj%65ct=a", "keys?limit=1",
        "revocations?kind=key",
        "decisions?decision=maybe", "decisions?limit=many", "decisions?limit=1001", "decisions?fingerprint=%00",
        "decisions?fingerprint=00ff",
        "decisions?fingerprint=00FF00FF00FF00FF",
        "decisions?fingerprint=%EF%BC%90%EF%BC%90%EF%BC%90%EF%BC%90%EF%BC%900",
    ])
    func `a query that makes no sense is refused by name`(path: String) async throws {
        try await self.serving(try TemporaryStore()) { client async throws in
            let answer = try await client.send(path)
            #expect(answer.status == 400)
            #expect(answer.list("errors").allSatisfy { $0["parameter"] != nil && $0["pointer"] == nil })
            #expect(answer.list("errors").count == 1)
        }
    }

    @Test(
        arguments: [
            ("2026-01-31T14:05:00Z", 1_769_868_300), ("2026-01-31T14:05:00.500Z", 1_769_868_300.5),
            ("2026-01-31t15:05:00.25+01:00", 1_769_868_300.25), ("2026-01-31T14:05:00", nil), ("2026-01-31", nil),
            ("1902-01-30T20:27:16.970175Z", -2_143_337_563.029825), ("now", nil), ("", nil), ("1769868300", nil),
            ("2024-02-29T00:00:00Z", 1_709_164_800), ("2026-12-31T23:59:59-23:59", 1_798_847_939),
            ("0001-01-01T00:00:00Z", -62_135_596_800), ("9999-12-31T23:59:59Z", 253_402_300_799),
        ] as [(String, Double?)])
    func `times are those of RFC 3339`(text: String, seconds: Double?) {
        let difference = (APITime.date(text)?.timeIntervalSince1970).map { abs($0 - (seconds ?? .infinity)) }
        #expect(difference.map { $0 < 0.001 } == seconds.map { _ in true })
    }

    @Test(arguments: [
        "0001-01-01T00:00:00Z", "0004-02-29T23:59:59Z", "1500-01-01T00:00:00Z", "1582-10-10T12:00:00Z",
        "1582-10-15T00:00:00Z", "1969-12-31T23:59:59Z", "2026-01-31T14:05:00Z", "9999-12-31T23:59:59Z",
    ])
    func `a time is written as it is read`(text: String) throws {
        let date = try #require(APITime.date(text))
        #expect(APITime.text(date) == text)
        #expect(APITime.text(date + 0.9996) == text)
        #expect(APITime.date(APITime.text(date)) == date)
    }

    @Test(
        arguments: [
            (-.infinity, "0001-01-01T00:00:00Z"), (-62_135_596_800.5, "0001-01-01T00:00:00Z"),
            (.nan, "0001-01-01T00:00:00Z"), (253_402_300_800, "9999-12-31T23:59:59Z"), (1e300, "9999-12-31T23:59:59Z"),
        ] as [(Double, String)])
    func `a time that RFC 3339 cannot tell is written as the nearest`(seconds: Double, text: String) {
        #expect(APITime.text(Date(timeIntervalSince1970: seconds)) == text)
    }

    @Test(arguments: [
        "2027-02-30T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2027-13-01T00:00:00Z",
        "2027-00-01T00:00:00Z", "2027-01-00T00:00:00Z", "2027-01-01T24:00:00Z", "2027-01-01T25:00:00Z",
        "2027-01-01T00:60:00Z", "2016-12-31T23:59:60Z", "2027-01-01T00:00:00ZEVIL", "2027-1-1T1:1:1Z",
        "2027-01-01T00:00:00Z+05:00", "2027-01-01T00:00:00+24:00", "2027-01-01T00:00:00+0100",
        "2027-01-01T00:00:00.Z", "2027-01-01T00:00:00,5Z", "2027-01-01 00:00:00Z", " 2027-01-01T00:00:00Z",
        "2027-01-01T00:00:00Z\n", "20270101T000000Z", "+027-01-01T00:00:00Z", "２027-01-01T00:00:00Z",
        "0000-12-31T23:59:59Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
    ])
    func `what only resembles a time is none`(text: String) {
        #expect(APITime.date(text) == nil)
    }

    @Test func `the last decisions come newest first`() async throws {
        let temporary = try TemporaryStore()
        try await temporary.append(5)
        var marked = try AuditRecord.granted(.driver(try VehicleID(checking: "veh-6")), at: 6)
        marked.token?.fingerprint = "00ff00ff00ff00ff"
        try await StoredAuditLog(store: temporary.store, logger: Logger(label: "test")).append(marked)
        try await self.serving(temporary) { client async throws in
            let all = try await client.send("decisions?limit=3").list("decisions")
            #expect(all.map { $0["sequence"] } == [.integer(6), .integer(5), .integer(4)])
            #expect(all[1]["record"]?.object?["claims"]?.object?["vehicleid"] == .string("veh-5"))
            let one = try await client.send("decisions?fingerprint=00ff00ff00ff00ff").list("decisions")
            #expect(one.map { $0["sequence"] } == [.integer(6)])
            #expect(try await client.send("decisions?decision=refused").list("decisions").isEmpty)
            #expect(try await client.send("decisions?subject=nobody").list("decisions").isEmpty)
        }
    }

    @Test func `a subject's living tokens are withdrawn`() async throws {
        let temporary = try TemporaryStore()
        let log = StoredAuditLog(store: temporary.store, logger: Logger(label: "test"))
        let time = Self.now.timeIntervalSince1970 - 60
        try await log.append(try .granted(.driver(try VehicleID(checking: "veh-1")), at: time, subject: "driver-7"))
        try await self.serving(temporary) { client async throws in
            let answer = try await client.send("revocations", #"{"kind": "subject", "value": "driver-7"}"#)
            #expect(answer.list("revocations").count == 1)
            let listed = try await client.send("revocations").list("revocations")
            #expect(listed.map { $0["kind"] } == [.string("fingerprint")])
            let key = try await client.send("revocations", #"{"kind": "key", "value": "k1"}"#)
            #expect(key.list("revocations").map { $0["ends_at"] } == [.string("2026-01-01T01:00:00Z")])
            let longest = String(repeating: "ü", count: 128)
            #expect(try await client.send("revocations", #"{"kind": "key", "value": "\#(longest)"}"#).status == 200)
            for body in [
                #"{"kind": "fingerprint", "value": "00FF00FF00FF00FF"}"#, #"{"kind": "all", "value": "x"}"#,
                #"{"kind": "key", "value": "\#(longest)k"}"#, #"{"kind": "key", "value": ""}"#,
            ] {
                #expect(try await client.send("revocations", body).status == 400)
            }
        }
    }

    @Test func `a withdrawal is logged by what was withdrawn, as other changes are`() async throws {
        let log = LeakTests.Log()
        let logger = Logger(label: "test") { _ in LeakTests.Handler(log: log) }
        try await self.serving(try TemporaryStore(), logger: logger) { client async throws in
            for (kind, value) in [("vehicle", "veh-3"), ("subject", "driver-7"), ("key", "k1")] {
                let body = #"{"kind": "\#(kind)", "value": "\#(value)"}"#
                #expect(try await client.send("revocations", body).status == 200)
            }
        }
        let lines = log.contents.split(separator: "\n").filter { $0.hasPrefix("notice tokens withdrawn ") }
        #expect(lines.count == 3)
        for (line, told) in zip(lines, [#""vehicle": veh-3"#, #""subject": driver-7"#, #""key": k1"#]) {
            #expect(line.contains(told))
        }
    }

    @Test func `an administrator hears of what the signed list has no room for`() async throws {
        let temporary = try TemporaryStore()
        let tokens = (1...47_000).map { number in
            Revocation(kind: .fingerprint, value: String(format: "%016x", number), endsAt: Self.now + 3000)
        }
        try await temporary.store.database.write { try $0.withdraw(tokens) }
        try await self.serving(temporary) { client async throws in
            let answer = try await client.send("revocations", #"{"kind": "key", "value": "k1"}"#)
            #expect(answer.status == 200)
            #expect((answer.body["left_out"]?.integer ?? 0) > 0)
        }
        _ = try await temporary.store.database.write { try $0.execute("DELETE FROM revocation", []) }
        try await self.serving(temporary) { client async throws in
            let answer = try await client.send("revocations", #"{"kind": "key", "value": "k1"}"#)
            #expect(answer.body.keys.sorted() == ["revocations"])
        }
    }

    @Test(arguments: ["Zoë Müller", String(repeating: "n", count: 300), String(repeating: "ü", count: 256)])
    func `a caller's living tokens are withdrawn by any name that its login may give`(name: String) async throws {
        let temporary = try TemporaryStore()
        let log = StoredAuditLog(store: temporary.store, logger: Logger(label: "test"))
        let time = Self.now.timeIntervalSince1970 - 60
        let vehicle = TokenType.driver(try VehicleID(checking: "veh-1"))
        try await log.append(try .granted(vehicle, at: time, to: name, subject: "driver-7"))
        try await self.serving(temporary) { client async throws in
            let answer = try await client.send("revocations", #"{"kind": "caller", "value": "\#(name)"}"#)
            #expect(answer.list("revocations").count == 1)
            for value in ["", String(repeating: "n", count: 513), String(repeating: "ü", count: 257)] {
                let refused = try await client.send("revocations", #"{"kind": "caller", "value": "\#(value)"}"#)
                #expect(refused.status == 400)
            }
            let subject = try await client.send("revocations", #"{"kind": "subject", "value": "Zoë"}"#)
            #expect(subject.status == 400)
        }
    }

    @Test func `each change is in the audit with who made it, and decisions alone are listed as such`() async throws {
        let temporary = try TemporaryStore()
        try await temporary.append(1)
        let body = #"{"holder": "login/driver-7", "kind": "vehicle", "id": "veh-3"}"#
        try await self.serving(temporary) { client async throws in
            // What is there already, what nobody holds, and what is refused change nothing.
            for status in [201, 200] { #expect(try await client.send("assignments", body).status == status) }
            #expect(try await client.send("assignments", #"{"holder": "x"}"#).status == 400)
            for _ in 0..<2 { #expect(try await client.send("assignments/end", body).status == 200) }
            #expect(try await client.send("revocations", #"{"kind": "key", "value": "k1"}"#).status == 200)
            #expect(try await client.send("revocations", body, bearer: nil).status == 401)
            #expect(try await client.send("decisions").list("decisions").count == 1)
        }
        var query = AuditQuery()
        query.kind = .change
        let changes = try await temporary.matches(query).map { match -> AuditChange in
            guard case .change(let change) = match.event else { throw CancellationError() }
            return change
        }
        #expect(changes.map(\.action) == [.assignmentAdded, .assignmentEnded, .tokensWithdrawn])
        #expect(Set(changes.map(\.actor.id)) == [CallerID(issuer: "admin", subject: "ops")])
        #expect(changes.allSatisfy { $0.time == Int64(Self.now.timeIntervalSince1970 * 1000) })
        #expect(
            changes.map(\.details) == [
                ["holder": "login/driver-7", "kind": "vehicle", "id": "veh-3", "start": "2026-01-01T00:00:00Z"],
                [
                    "holder": "login/driver-7", "kind": "vehicle", "id": "veh-3", "at": "2026-01-01T00:00:00Z",
                    "count": "1",
                ],
                ["kind": "key", "id": "k1", "count": "1"],
            ])
        #expect(try await temporary.reader.verify().head.sequence == 4)
    }

    @Test func `an administrator's requests are limited, and no other's by them`() async throws {
        let clock = ManualClock()
        let limiter = RequestLimiter(
            RequestLimits(perCaller: try RateLimit(3, per: .seconds(60))), clock: clock)
        func token(_ name: String) -> String {
            [#"{"alg":"ES256"}"#, #"{"sub":"\#(name)"}"#, "signature"]
                .map { String(decoding: Base64URL.encode(Array($0.utf8)), as: UTF8.self) }.joined(separator: ".")
        }
        let other = token("ops-2")
        let rule = Administrators.Rule(provider: Login(), claim: "groups", values: [other])
        try await self.serving(try TemporaryStore(), rule: rule, limiter: limiter) { client async throws in
            for _ in 0..<3 { #expect(try await client.send("keys").status == 200) }
            let refused = try await client.send("keys")
            #expect(refused.status == 429)
            #expect(refused.body["code"] == .string("rate_limited"))
            #expect(try await client.send("keys", bearer: other).status == 200)
            clock.advance(by: .seconds(20))
            #expect(try await client.send("keys").status == 200)
        }
    }

    @Test func `an address that guesses is turned away for a while, with right credentials too`() async throws {
        let clock = ManualClock()
        let failures = FailedLoginLimiter(try RateLimit(3, per: .seconds(60)), clock: clock)
        try await self.serving(try TemporaryStore(), failedLogins: failures) { client async throws in
            // Good requests, and those without a credential, are no failures.
            for _ in 0..<5 { #expect(try await client.send("keys").status == 200) }
            for _ in 0..<5 { #expect(try await client.send("keys", bearer: nil).status == 401) }
            for _ in 0..<3 {
                #expect(try await client.send("keys", bearer: "a-guess-that-is-long-enough").status == 401)
            }
            let refused = try await client.send("keys", bearer: "a-guess-that-is-long-enough")
            #expect(refused.status == 429)
            #expect(refused.body["code"] == .string("rate_limited"))
            #expect(try await client.send("keys").status == 429)
            clock.advance(by: .seconds(20))
            #expect(try await client.send("keys").status == 200)
        }
    }

    @Test func `who is known and no administrator is one who guesses`() async throws {
        let failures = FailedLoginLimiter(try RateLimit(1, per: .seconds(60)), clock: ManualClock())
        let user = [#"{"alg":"ES256"}"#, #"{"sub":"dora"}"#, "signature"]
            .map { String(decoding: Base64URL.encode(Array($0.utf8)), as: UTF8.self) }.joined(separator: ".")
        let rule = Administrators.Rule(provider: Login(), claim: "groups", values: ["ops"])
        try await self.serving(try TemporaryStore(), rule: rule, failedLogins: failures) { client async throws in
            for status in [403, 429] { #expect(try await client.send("keys", bearer: user).status == status) }
        }
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.2", false), ("192.0.2.1", "::ffff:192.0.2.1", true),
        ("2001:db8:0:1::1", "2001:db8:0:1:ffff::9", true), ("2001:db8:0:1::1", "2001:db8:0:2::1", false),
    ]) func `addresses count by what one host has`(first: String, second: String, isOne: Bool) throws {
        let failures = FailedLoginLimiter(try RateLimit(1, per: .seconds(60)), clock: ManualClock())
        failures.noteFailure(of: first)
        #expect(throws: RateLimitExceeded.self) { try failures.admit(first) }
        #expect((try? failures.admit(second)) == nil ? isOne : !isOne)
    }

    @Test func `keys are told by role, id and state`() async throws {
        let key = try #require(try TokenRoutesTests.keys.get()[.driver])
        try await self.serving(try TemporaryStore()) { client async throws in
            let keys = try await client.send("keys").list("keys")
            #expect(keys.map { $0["state"] } == [.string("signing")])
            #expect(keys.map { $0["key_id"] } == [.string(key.keyID)])
        }
    }

    @Test func `the key of a signer's own file is told as that of the folder is`() async throws {
        let temporary = try TemporaryStore()
        let key = try StandInIAM.key.get()
        let file = URL(filePath: temporary.store.path).deletingLastPathComponent().appending(path: "consumer.key")
        try key.keyFile.write(to: file)
        let signers = try ConfiguredSigners(
            [SignerSettings(role: .consumer, ways: [.key], keyFile: file.path(percentEncoded: false))], keys: nil,
            google: StandInIAM().signers())
        try await self.serving(temporary, signers: signers) { client async throws in
            let keys = try await client.send("keys").list("keys")
            #expect(keys.map { $0["role"] } == [.string("driver"), .string("consumer")])
            #expect(keys.map { $0["state"] } == [.string("signing"), .string("signing")])
            #expect(keys.last?["key_id"] == .string(key.keyID))
        }
    }

    @Test func `the page runs no script but its own`() async throws {
        let router = Router()
        let temporary = try TemporaryStore()
        try Self.routes(over: temporary.store).add(to: router)
        try await Application(router: router).test(.router) { client async throws in
            let page = try await client.execute(uri: "/admin", method: .get)
            #expect(page.status == .ok)
            let policy = try #require(page.headers[.contentSecurityPolicy])
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'"))
            #expect(!policy.contains("unsafe"))
            #expect(!String(buffer: page.body).contains("<script>"))
        }
    }
}
