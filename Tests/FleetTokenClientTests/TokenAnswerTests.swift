// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@Suite struct TokenAnswerTests {
    private let subject: TokenSubject
    private let server: URL
    private let now = TestTokens.issuedAt + 300

    init() throws {
        self.subject = .driver(try VehicleID(checking: "veh-3"))
        self.server = try #require(URL(string: "https://t.example"))
    }

    private func grant(
        _ endpoint: TokenEndpoint, _ body: String, status: Int = 200, headers: [(name: String, value: String)] = [],
        for subject: TokenSubject? = nil
    ) throws(TokenClientError) -> TokenGrant {
        try endpoint.grant(
            from: HTTPTransportResponse(status: status, headers: headers, body: Data(body.utf8)),
            for: subject ?? self.subject)
    }

    private func code(_ body: String, status: Int = 200) throws -> TokenClientError.Code? {
        let endpoint = try TokenEndpoint.fleetpass(self.server)
        return #expect(throws: TokenClientError.self) { try self.grant(endpoint, body, status: status) }?.code
    }

    private var jwt: String { TestTokens.token(for: self.subject).compactSerialization }
    private var date: [(name: String, value: String)] { [("Date", HTTPDate.text(unixSeconds: self.now))] }

    // MARK: Contracts

    @Test func `the on-demand answer is read, further keys and all`() throws {
        let body = """
            { "tokenType": "DRIVER", "creationTimestamp": \(TestTokens.issuedAt * 1000),
              "expirationTimestamp": \((TestTokens.issuedAt + 3600) * 1000), "jwt": "\(self.jwt)",
              "authorizationClaims": {"vehicleId": "veh-3"} }
            """
        let grant = try self.grant(try .onDemand(self.server), body, headers: self.date)
        #expect(grant.token.compactSerialization == self.jwt)
        #expect(grant.life == .seconds(3299))
        #expect(grant.refreshAfter == nil)
    }

    @Test func `the scheduled answer is read`() throws {
        let van = TokenSubject.deliveryDriver(try DeliveryVehicleID(checking: "dv-1"))
        let token = TestTokens.token(for: van)
        let body = """
            {"token":"\(token.compactSerialization)","expiration_timestamp_ms":\((TestTokens.issuedAt + 3600) * 1000)}
            """
        let grant = try self.grant(try .scheduled(self.server), body, headers: self.date, for: van)
        #expect(grant.token == token && grant.life == .seconds(3299))
    }

    @Test func `Fleetpass's own answer is read`() throws {
        let body = #"{"jwt":"\#(self.jwt)","expires_in":3300,"refresh_after":2500}"#
        let grant = try self.grant(try .fleetpass(self.server), body)
        #expect(grant.life == .seconds(3300))
        #expect(grant.refreshAfter == .seconds(2500))
    }

    @Test func `an answer may begin with one byte order mark`() throws {
        let body = #"{"jwt":"\#(self.jwt)","expires_in":3300}"#
        #expect(try self.grant(try .fleetpass(self.server), "\u{FEFF}" + body).life == .seconds(3300))
        #expect(try self.code("\u{FEFF}\u{FEFF}" + body) == .invalidAnswer)
    }

    @Test func `a custom answer is read in its own units`() throws {
        let format = TokenAnswerFormat(
            tokenKey: "Token", expiry: .init(key: "Ms", unit: .milliseconds, reference: .answer))
        let endpoint = try TokenEndpoint(server: self.server, path: "{id}", answer: format)
        #expect(try self.grant(endpoint, #"{"Token":"\#(self.jwt)","Ms":1500000}"#).life == .seconds(1500))
        #expect(try self.grant(endpoint, #"{"Token":"\#(self.jwt)","Ms":"1500000"}"#).life == .seconds(1500))
        #expect(try self.grant(endpoint, #"{"Token":"\#(self.jwt)","Ms":1500000.7}"#).life == .seconds(1500))
    }

    // MARK: Life

    @Test(arguments: [
        // Server clocks that are wrong together cancel out.
        (0, 3299), (1000, 2299), (-299, 3598), (-400, 3600), (3298, 1),
    ]) func `without a relative life the server's own Date counts`(later: Int, life: Int) throws {
        let body = #"{"jwt":"\#(self.jwt)","expirationTimestamp":\#((TestTokens.issuedAt + 3600) * 1000)}"#
        let date = HTTPDate.text(unixSeconds: self.now + Int64(later))
        let grant = try self.grant(try .onDemand(self.server), body, headers: [("date", date)])
        #expect(grant.life == .seconds(life))
    }

    @Test func `without a Date a careful server's backdating is assumed`() throws {
        let body = #"{"jwt":"\#(self.jwt)","expirationTimestamp":\#((TestTokens.issuedAt + 3600) * 1000)}"#
        #expect(try self.grant(try .onDemand(self.server), body).life == .seconds(3300))
    }

    @Test func `a life longer than the token's own is cut`() throws {
        let endpoint = try TokenEndpoint.fleetpass(self.server)
        #expect(try self.grant(endpoint, #"{"jwt":"\#(self.jwt)","expires_in":3600000}"#).life == .seconds(3600))
    }

    @Test(arguments: [(0, 3300), (1, 3298), (1000, 2299), (3299, nil)])
    func `a relative life that the server kept is cut to what its own Date leaves`(later: Int64, life: Int?) throws {
        let date = [(name: "Date", value: HTTPDate.text(unixSeconds: self.now + later))]
        let body = #"{"jwt":"\#(self.jwt)","expires_in":3300}"#
        let grant = try? self.grant(try .fleetpass(self.server), body, headers: date)
        #expect(grant?.life == life.map { .seconds($0) })
    }

    @Test func `an earlier end that the server states is kept`() throws {
        let body = #"{"jwt":"\#(self.jwt)","expirationTimestamp":\#((self.now + 600) * 1000)}"#
        #expect(try self.grant(try .onDemand(self.server), body, headers: self.date).life == .seconds(599))
    }

    @Test func `a later end than the token's own is not believed`() throws {
        let body = #"{"jwt":"\#(self.jwt)","expirationTimestamp":\#((self.now + 7200) * 1000)}"#
        #expect(try self.grant(try .onDemand(self.server), body, headers: self.date).life == .seconds(3299))
        #expect(try self.grant(try .onDemand(self.server), body).life == .seconds(3300))
    }

    @Test func `time spent in a cache on the way is taken off`() throws {
        let body = #"{"jwt":"\#(self.jwt)","expires_in":3300,"refresh_after":2500}"#
        let grant = try self.grant(try .fleetpass(self.server), body, headers: [("Age", "120")])
        #expect(grant.life == .seconds(3180) && grant.refreshAfter == .seconds(2380))
        let older = try self.grant(try .fleetpass(self.server), body, headers: [("Age", "2600")])
        #expect(older.life == .seconds(700) && older.refreshAfter == .zero)
    }

    @Test(arguments: ["120, 120", "120,0", " 120\t", "120, Thu, 01 Jan 2026 00:06:40 GMT"])
    func `of several ages the first counts, whatever the blanks`(age: String) throws {
        let body = #"{"jwt":"\#(self.jwt)","expires_in":3300}"#
        #expect(try self.grant(try .fleetpass(self.server), body, headers: [("Age", age)]).life == .seconds(3180))
        let twice = [(name: "Age", value: "120"), (name: "age", value: "7")]
        #expect(try self.grant(try .fleetpass(self.server), body, headers: twice).life == .seconds(3180))
    }

    @Test(arguments: [
        ("-120", 3300), ("soon", 3300), ("", 3300), ("soon, 120", 3300), (", 120", 3300), ("1 20", 3300),
        ("99999999999999999999", nil),
    ])
    func `an age that is no number of seconds is ignored, and the largest leaves no life`(
        age: String, life: Int?
    ) throws {
        let body = #"{"jwt":"\#(self.jwt)","expires_in":3300,"refresh_after":2500}"#
        let grant = try? self.grant(try .fleetpass(self.server), body, headers: [("Age", age)])
        #expect(grant?.life == life.map { .seconds($0) })
        #expect(grant?.refreshAfter == life.map { _ in .seconds(2500) })
    }

    @Test func `a token without life is an error`() throws {
        let endpoint = try TokenEndpoint.onDemand(self.server)
        let seconds = #"{"jwt":"\#(self.jwt)","expirationTimestamp":\#(TestTokens.issuedAt + 3600)}"#
        let late = #"{"jwt":"\#(self.jwt)","expirationTimestamp":\#((TestTokens.issuedAt + 3600) * 1000)}"#
        let hourLater = [(name: "Date", value: HTTPDate.text(unixSeconds: self.now + 3600))]
        for (body, headers) in [(seconds, self.date), (late, hourLater)] {
            let error = #expect(throws: TokenClientError.self) { try self.grant(endpoint, body, headers: headers) }
            #expect(error?.code == .expired)
        }
    }

    // MARK: The token itself

    @Test func `a token that claims anything else is thrown away`() throws {
        let id = try VehicleID(checking: "veh-3")
        let claims: [AuthorizationClaims?] = [
            nil,
            try AuthorizationClaims(),
            try AuthorizationClaims(vehicle: .any),
            try AuthorizationClaims(vehicle: .only(try VehicleID(checking: "veh-4"))),
            try AuthorizationClaims(vehicle: .only(id), trip: .any),
            try AuthorizationClaims(vehicle: .only(id), trip: .only(try TripID(checking: "t"))),
            try AuthorizationClaims(vehicle: .only(id), tracking: .any),
            try AuthorizationClaims(vehicle: .only(id), tracking: .only(try TrackingID(checking: "shp-1"))),
            try AuthorizationClaims(trip: .only(try TripID(checking: "veh-3"))),
            try AuthorizationClaims(deliveryVehicle: .only(try DeliveryVehicleID(checking: "veh-3"))),
            try AuthorizationClaims(taskList: .any),
        ]
        let endpoint = try TokenEndpoint.fleetpass(self.server)
        for claim in claims {
            let token = TestTokens.token(claiming: claim)
            let body = #"{"jwt":"\#(token.compactSerialization)","expires_in":3300}"#
            let error = #expect(throws: TokenClientError.self) { try self.grant(endpoint, body) }
            #expect(error?.code == .wrongToken, "\(claim?.summary ?? "none")")
        }
    }

    @Test func `a delivery driver's token has exactly the task that was asked for`() throws {
        let van = try DeliveryVehicleID(checking: "dv-1")
        let task = try TaskID(checking: "task-1")
        let other = try TaskID(checking: "task-2")
        let endpoint = try TokenEndpoint.fleetpass(self.server)
        func isAccepted(_ asked: TaskID?, _ got: Scope<TaskID>?) throws -> Bool {
            let claims = try AuthorizationClaims(deliveryVehicle: .only(van), task: got)
            let token = TestTokens.token(claiming: claims)
            let body = #"{"token":"\#(token.compactSerialization)","expires_in":3300}"#
            return (try? self.grant(endpoint, body, for: .deliveryDriver(van, task: asked))) != nil
        }
        #expect(try isAccepted(nil, nil) && isAccepted(task, .only(task)))
        #expect(try !isAccepted(nil, .any) && !isAccepted(task, nil) && !isAccepted(task, .only(other)))
        #expect(try !isAccepted(task, .any))
    }

    @Test func `a recipient's token has exactly the shipment that was asked for`() throws {
        let shipment = try TrackingID(checking: "shp-1")
        let endpoint = try TokenEndpoint.fleetpass(self.server)
        func isAccepted(_ claims: AuthorizationClaims) -> Bool {
            let body = #"{"token":"\#(TestTokens.token(claiming: claims).compactSerialization)","expires_in":3300}"#
            return (try? self.grant(endpoint, body, for: .deliveryConsumer(shipment))) != nil
        }
        #expect(try isAccepted(AuthorizationClaims(tracking: .only(shipment))))
        #expect(try !isAccepted(AuthorizationClaims(tracking: .any)))
        #expect(try !isAccepted(AuthorizationClaims(tracking: .only(TrackingID(checking: "shp-2")))))
        #expect(try !isAccepted(AuthorizationClaims(trip: .any, tracking: .only(shipment))))
    }

    @Test func `a reader may have wildcards and a custom claim hurts nobody`() throws {
        let endpoint = try TokenEndpoint.fleetpass(self.server)
        let reader = TestTokens.token(for: .fleetReader)
        let body = #"{"token":"\#(reader.compactSerialization)","expires_in":3300}"#
        #expect(try self.grant(endpoint, body, for: .fleetReader).token == reader)
        let id = try VehicleID(checking: "veh-3")
        let custom = TestTokens.token(claiming: try AuthorizationClaims(vehicle: .only(id), additional: ["x": "y"]))
        let customBody = #"{"jwt":"\#(custom.compactSerialization)","expires_in":3300}"#
        #expect(try self.grant(endpoint, customBody).token == custom)
    }

    // MARK: Broken answers

    @Test func `only one JSON object with the right types is an answer`() throws {
        let jwt = self.jwt
        let bodies = [
            "", "null", "[]", "\"\(jwt)\"", "{", "{}", #"{"jwt":null,"expires_in":1}"#, #"{"jwt":7,"expires_in":1}"#,
            #"{"jwt":"","expires_in":1}"#, #"{"jwt":"a.b.c","expires_in":1}"#, #"{"jwt":"\#(jwt)"}"#,
            #"{"jwt":"\#(jwt)","expires_in":"soon"}"#, #"{"jwt":"\#(jwt)","expires_in":"-5"}"#,
            #"{"jwt":"\#(jwt)","expires_in":"3.3e3"}"#, #"{"jwt":"\#(jwt)","expires_in":"+3300"}"#,
            #"{"jwt":"\#(jwt)","expires_in":""}"#, #"{"jwt":"\#(jwt)","expires_in":-5}"#,
            #"{"jwt":"\#(jwt)","expires_in":1e300}"#, #"{"jwt":"\#(jwt)","expires_in":true}"#,
            #"{"jwt":"\#(jwt)","expires_in":3300,"refresh_after":[]}"#,
            #"{"jwt":"\#(jwt)","jwt":"\#(jwt)","expires_in":3300}"#, #"{"jwt":"\#(jwt)","expires_in":3300} x"#,
            #"{"jwt":"\#(jwt)","expires_in":3300,"pad":"\#(String(repeating: "x", count: 65_536))"}"#,
        ]
        for body in bodies { #expect(try self.code(body) == .invalidAnswer, "\(body.prefix(60))") }
    }

    @Test(arguments: [
        (401, TokenClientError.Code.refused), (403, .refused), (404, .refused), (400, .refused), (408, .timedOut),
        (429, .rateLimited), (500, .unreachable), (503, .unreachable), (504, .timedOut), (302, .invalidAnswer),
        (201, .invalidAnswer), (204, .invalidAnswer),
    ]) func `any other status than 200 is an error of its kind`(status: Int, code: TokenClientError.Code) throws {
        let good = #"{"jwt":"\#(self.jwt)","expires_in":3300}"#
        #expect(try self.code(good, status: status) == code)
    }

    @Test(arguments: [(401, "sign in again"), (403, "sign in again"), (404, "address"), (405, "address")])
    func `who asks at an address that hands out no tokens is not told to sign in`(status: Int, told: String) throws {
        let endpoint = try TokenEndpoint.fleetpass(self.server)
        let error = #expect(throws: TokenClientError.self) { try self.grant(endpoint, "", status: status) }
        #expect(error?.message.contains(told) == true)
    }

    @Test(arguments: [
        ("30", 30), ("Thu, 01 Jan 2026 00:06:40 GMT", 100), ("Wed, 31 Dec 2025 00:00:00 GMT", 0), ("-3", nil),
        ("soon", nil), ("1.5", nil), ("", nil), ("99999999999999999999", Int64.max),
        (" 30\t", 30), ("30, 60", 60), ("60,30", 60), ("soon, 30", 30), ("3 0", nil),
    ]) func `Retry-After is read as seconds and as a date`(text: String, seconds: Int64?) throws {
        let endpoint = try TokenEndpoint.fleetpass(self.server)
        let error = #expect(throws: TokenClientError.self) {
            try self.grant(endpoint, "", status: 429, headers: self.date + [("retry-after", text)])
        }
        #expect(error?.retryAfter == seconds.map { .seconds($0) })
        #expect(error?.httpStatus == 429)
    }

    @Test func `a Retry-After that comes twice asks for the longer wait`() throws {
        let endpoint = try TokenEndpoint.fleetpass(self.server)
        let error = #expect(throws: TokenClientError.self) {
            try self.grant(endpoint, "", status: 429, headers: [("Retry-After", "30"), ("retry-after", "60")])
        }
        #expect(error?.retryAfter == .seconds(60))
    }
}
