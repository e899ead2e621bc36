// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import SwiftProtobuf
import Testing

@testable import FleetEngine

/// The page over HTTP, and what it may never show.
@Suite(.timeLimit(.minutes(5))) struct EnginePageTests {
    private static let files = [
        "/", "/share/trips/trip-1", "/share/shipments/shp-1", "/page/page.css", "/page/page.js", "/page/fleet-token.js",
        "/page/icon.svg",
    ]

    private static func provider() throws -> ProviderID { try ProviderID(checking: "acme") }

    /// Runs the body against the page of a fixture's engine.
    private static func withPage(
        of fixture: EngineFixture, options: PageOptions = PageOptions(leafletFolder: "/nowhere"),
        _ body: @escaping @Sendable (any TestClientProtocol) async throws -> Void
    ) async throws {
        let router = Router()
        EnginePage(engine: fixture.engine, provider: try Self.provider(), options: options).add(to: router)
        try await Application(router: router).test(.router, body)
    }

    private static func object(_ response: TestResponse) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(response.body.readableBytesView)) as? [String: Any])
    }

    @Test func `every file may load from this server alone`() async throws {
        try await Self.withPage(of: EngineFixture()) { client in
            for path in Self.files {
                let response = try await client.execute(uri: path, method: .get)
                #expect(response.status == .ok, "\(path)")
                let policy = try #require(response.headers[.contentSecurityPolicy])
                #expect(
                    policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"))
                #expect(!policy.contains("unsafe") && !policy.contains("http"))
                #expect(response.headers[.xContentTypeOptions] == "nosniff")
                #expect(response.headers[.cacheControl] == "no-store")
            }
        }
    }

    @Test func `who asks for the head alone gets what belongs to the answer, without its body`() async throws {
        try await Self.withPage(of: EngineFixture()) { client in
            let paths = ["/page/settings", "/page/matrix", "/page/state", "/page/leaflet/leaflet.js", "/page/none"]
            for path in Self.files + paths {
                let whole = try await client.execute(uri: path, method: .get)
                let head = try await client.execute(uri: path, method: .head)
                #expect(head.status == whole.status, "\(path)")
                #expect(head.headers[.contentType] == whole.headers[.contentType], "\(path)")
                #expect(head.headers[.contentLength] == "\(whole.body.readableBytes)", "\(path)")
                #expect(head.body.readableBytes == 0, "\(path)")
            }
        }
    }

    @Test func `tiles widen the policy by their origin for images alone`() async throws {
        let tiles = try #require(
            TileSource(template: "https://tiles.example:8443/a/{z}/{x}/{y}.png", attribution: "us"))
        let options = PageOptions(leafletFolder: "/nowhere", tiles: tiles)
        try await Self.withPage(of: EngineFixture(), options: options) { client in
            let policy = try await client.execute(uri: "/", method: .get).headers[.contentSecurityPolicy]
            #expect(policy?.contains("img-src 'self' https://tiles.example:8443;") == true)
            #expect(policy?.components(separatedBy: "tiles.example").count == 2)
            let settings = try Self.object(try await client.execute(uri: "/page/settings", method: .get))
            #expect((settings["tiles"] as? [String: String])?["attribution"] == "us")
        }
    }

    @Test(arguments: [
        "", "https://tiles.example/", "ftp://tiles.example/{z}/{x}/{y}", "https://{z}.example/{x}/{y}",
        "https://a:b@tiles.example/{z}/{x}/{y}", "https://tiles.example/{z}/{x}/{y}; script-src *",
        "https://tiles.example'/{z}/{x}/{y}", "//tiles.example/{z}/{x}/{y}", "https://{s}.example/{z}/{x}/{y}",
    ])
    func `what is no template of tiles is refused`(template: String) {
        #expect(TileSource(template: template) == nil)
    }

    @Test func `the state holds fingerprints and explanations, and no token`() async throws {
        let fixture = EngineFixture()
        try await fixture.createVehicle("veh-1")
        try await fixture.createTrip("trip-1")
        _ = await code { try await fixture.vehicle("veh-1", token: "driver|vehicleid=veh-2") }
        let feed = PageFeed(run: "a")
        try feed.publish(try await PageState(of: fixture.engine, provider: try Self.provider()), at: TestClock.start)
        let reader = try #require(try feed.join(after: nil, at: TestClock.start))
        let sent = await Array(reader.opening).joined()
        try await Self.withPage(of: fixture) { client in
            let state = String(buffer: try await client.execute(uri: "/page/state", method: .get).body)
            for text in [state, sent] {
                #expect(text.contains(FleetToken(serverToken).fingerprint))
                #expect(text.contains("CLAIM_MISMATCH") && text.contains("\"rule\":\"coverage\""))
                #expect(text.contains("veh-1") && text.contains("trip-1"))
                #expect(!text.contains(serverToken) && !text.contains("driver|vehicleid=veh-2"))
            }
        }
    }

    /// Takes the tokens of several providers' accounts, `PROVIDER:TOKEN`.
    private struct ProvidersVerifier: TokenVerifying {
        func verify(_ token: String, at now: Date) throws(TokenRefusal) -> ExaminedToken {
            let parts = token.split(separator: ":", maxSplits: 1).map(String.init)
            return try TextVerifier(provider: parts.first ?? "").verify(parts.last ?? "", at: now)
        }
    }

    @Test func `the state tells of one provider's callers alone`() async throws {
        let time = TestClock.start + 1000
        let engine = Engine(store: MemoryStore(), verifier: ProvidersVerifier(), now: { time })
        for name in ["acme", "other"] {
            let create = CreateVehicle.Request.with {
                $0.parent = "providers/\(name)"
                $0.vehicleID = "of-\(name)"
                $0.vehicle = .sample
                $0.vehicle.lastLocation.speedKmph = 3
            }
            _ = try await engine.perform(CreateVehicle.self, create, token: "\(name):\(serverToken)")
            for token in ["\(name):driver|vehicleid=none", "\(name):bad", nil] {
                let get = GetVehicle.Request.with { $0.name = "providers/\(name)/vehicles/of-\(name)" }
                #expect(await code { try await engine.perform(GetVehicle.self, get, token: token) } != nil)
            }
            engine.activity.noteIssue(
                fingerprint: "issued for \(name)", role: .driver, provider: try ProviderID(checking: name),
                claims: try AuthorizationClaims(), expiry: time + 3600, at: time)
        }
        let foreign = GetVehicle.Request.with { $0.name = "providers/acme/vehicles/of-acme" }
        let outcome = await code {
            try await engine.perform(GetVehicle.self, foreign, token: "other:\(serverToken)")
        }
        #expect(outcome == .permissionDenied)
        let state = try await PageState(of: engine, provider: try Self.provider())
        #expect(Set(state.tokens.keys) == ["issued for acme", FleetToken("acme:\(serverToken)").fingerprint])
        #expect(state.refusals.values.map { $0.addressed?.id } == ["of-acme", "of-acme", "of-acme"])
        #expect(state.refusals.values.compactMap(\.account) == ["driver@acme.iam.gserviceaccount.com"])
        #expect(state.deviations.values.map(\.subject.id) == ["of-acme"])
        #expect(state.rules.mapValues(\.count) == ["deprecated-field": 1])
    }

    @Test func `what is at work is shown first when there is more than is shown`() async throws {
        let store = MemoryStore()
        let fixture = EngineFixture(store: store)
        try await store.write { transaction in
            for number in 0..<(PageState.limit + 100) {
                var vehicle = Vehicle.sample
                vehicle.vehicleState = number >= 550 ? .online : .offline
                let id = try VehicleID(checking: "veh-\(String(format: "%04d", number))")
                try transaction.put(vehicle, id, of: try Self.provider(), at: Google_Protobuf_Timestamp())
            }
        }
        let state = try await PageState(of: fixture.engine, provider: try Self.provider())
        #expect(state.vehicles.count == PageState.limit)
        #expect(state.vehicles.values.count { $0.state == "online" } == 50)
        #expect(state.truncated == ["vehicle"])
    }

    @Test(arguments: [(0, 0), (0, 1), (1, 0), (1, 1)])
    func `that there are more is told at the limit, too`(moreActive: Int, inactive: Int) async throws {
        let store = MemoryStore()
        let fixture = EngineFixture(store: store)
        try await store.write { transaction in
            for number in 0..<(PageState.limit + moreActive + inactive) {
                var vehicle = Vehicle.sample
                vehicle.vehicleState = number < inactive ? .offline : .online
                let id = try VehicleID(checking: "veh-\(number)")
                try transaction.put(vehicle, id, of: try Self.provider(), at: Google_Protobuf_Timestamp())
            }
        }
        let state = try await PageState(of: fixture.engine, provider: try Self.provider())
        #expect(state.vehicles.count == PageState.limit)
        #expect(state.vehicles.values.allSatisfy { $0.state == "online" })
        #expect(state.truncated == (moreActive + inactive > 0 ? ["vehicle"] : []))
    }

    @Test func `the tokens that were used or issued last are shown, and that there are more`() async throws {
        let activity = EngineActivity()
        for number in 0..<400 {
            let (text, time) = ("driver|vehicleid=veh-\(number)", TestClock.start + TimeInterval(number))
            activity.admit(try TextVerifier().verify(text, at: time), text, to: .getVehicle, at: time)
        }
        func issue(_ numbers: Range<Int>) throws {
            for number in numbers {
                let time = TestClock.start + TimeInterval(number)
                activity.noteIssue(
                    fingerprint: "issued-\(number)", role: .driver, provider: try Self.provider(),
                    claims: try AuthorizationClaims(vehicle: .only(VehicleID(checking: "veh-\(number)"))),
                    expiry: time + 3300, at: time)
            }
        }
        let engine = Engine(store: MemoryStore(), verifier: TextVerifier(), activity: activity)
        try issue(400..<500)
        let all = try await PageState(of: engine, provider: try Self.provider())
        #expect(all.tokens.count == 500 && all.truncated.isEmpty)
        try issue(500..<800)
        let state = try await PageState(of: engine, provider: try Self.provider())
        #expect(state.tokens.count == 500 && state.truncated == ["token"])
        #expect(state.tokens.values.count { $0.issued != nil } == 400)
        let shown = Set(state.tokens.values.filter { $0.issued == nil }.map(\.subject.id))
        #expect(shown == Set((300..<400).map { "veh-\($0)" }))
    }

    /// Lets vehicles, each a second after the one before it, report a location that departs from the documentation.
    private static func report(
        _ numbers: Range<Int>, to watch: DeviationWatch, _ change: (inout VehicleLocation) -> Void
    ) throws {
        var request = UpdateVehicle.Request()
        request.updateMask.paths = ["lastLocation"]
        change(&request.vehicle.lastLocation)
        for number in numbers {
            let access = AccessRequest(
                method: .updateVehicle, provider: try Self.provider(), vehicle: try VehicleID(checking: "veh-\(number)")
            )
            _ = watch.observe(request, access, token: nil, at: TestClock.start + TimeInterval(number))
        }
    }

    @Test func `many findings of one rule leave room for another's, and all are counted`() async throws {
        let watch = DeviationWatch()
        let engine = Engine(store: MemoryStore(), verifier: TextVerifier(), watch: watch)
        try Self.report(0..<1, to: watch) { $0.serverTime.seconds = 1 }
        try Self.report(1..<500, to: watch) { $0.speedKmph = 3 }
        let all = try await PageState(of: engine, provider: try Self.provider())
        #expect(all.deviations.count == 500 && all.truncated.isEmpty)
        try Self.report(500..<502, to: watch) { $0.speedKmph = 3 }
        let state = try await PageState(of: engine, provider: try Self.provider())
        #expect(state.truncated == ["deviation"])
        #expect(state.rules.mapValues(\.count) == ["output-only-field": 1, "deprecated-field": 501])
        #expect(state.deviations.count == 500)
        #expect(state.deviations["output-only-field/vehicle/veh-0"] != nil)
        let shown = Set(state.deviations.values.filter { $0.rule == "deprecated-field" }.map(\.subject.id))
        #expect(shown == Set((3..<502).map { "veh-\($0)" }))
        let changes = try #require(PageChanges(from: all, to: state))
        #expect(changes.rules?.put.mapValues(\.count) == ["deprecated-field": 501])
        #expect(changes.truncated == ["deviation"])
    }

    @Test func `a rule whose findings are no longer kept is told with its count`() async throws {
        let watch = DeviationWatch(maximumFindings: 8)
        let engine = Engine(store: MemoryStore(), verifier: TextVerifier(), watch: watch)
        try Self.report(0..<1, to: watch) { $0.serverTime.seconds = 1 }
        try Self.report(1..<20, to: watch) { $0.speedKmph = 3 }
        let state = try await PageState(of: engine, provider: try Self.provider())
        #expect(state.rules.mapValues(\.count) == ["output-only-field": 1, "deprecated-field": 19])
        #expect(state.deviations.values.allSatisfy { $0.rule == "deprecated-field" })
        #expect(state.truncated == ["deviation"])
    }

    @Test func `a speed beyond what can be told is left out, and the rest is told`() async throws {
        let fixture = EngineFixture()
        var vehicle = Vehicle.sample
        vehicle.lastLocation.speed = 1e308
        try await fixture.createVehicle("veh-1", vehicle)
        try await fixture.createVehicle("veh-2")
        try await Self.withPage(of: fixture) { client in
            let response = try await client.execute(uri: "/page/state", method: .get)
            #expect(response.status == .ok)
            let vehicles = try #require(try Self.object(response)["vehicles"] as? [String: [String: Any]])
            #expect(vehicles["veh-1"]?["place"] != nil && vehicles["veh-1"]?["speed"] == nil)
            #expect(vehicles["veh-2"]?["speed"] as? Double == 108_000)
        }
    }

    @Test func `what keeps the page from its work is logged once each time`() async throws {
        let store = MemoryStore()
        let log = RecordedLog()
        let page = EnginePage(
            engine: EngineFixture(store: store).engine, provider: try Self.provider(), logger: log.logger)
        let provider = try Self.provider()
        func put(pickupLatitude: Double) async throws {
            var trip = Trip.sample
            trip.pickupPoint = .at(pickupLatitude, 0)
            let (id, shown) = (try TripID(checking: "trip-1"), trip)
            try await store.write { try $0.put(shown, id, of: provider, at: Google_Protobuf_Timestamp()) }
        }
        let rounds: [(Double, Bool, Int)] = [
            (1, false, 0), (.nan, true, 1), (.nan, true, 1), (2, false, 1), (.nan, true, 2),
        ]
        var isFailing = false
        for (latitude, outcome, told) in rounds {
            try await put(pickupLatitude: latitude)
            isFailing = await page.update(afterFailure: isFailing)
            #expect(isFailing == outcome)
            #expect(log.messages(at: .error).count == told)
        }
    }

    /// Notes the status of each answer.
    private struct StatusNotes<Context: RequestContext>: RouterMiddleware {
        let noted: Locked<[HTTPResponse.Status]>

        @concurrent func handle(
            _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
        ) async throws -> Response {
            let response = try await next(request, context)
            self.noted.withLock { $0.append(response.status) }
            return response
        }
    }

    @Test func `readers that closed their ends make room for others, though nothing happens`() async throws {
        let statuses = Locked<[HTTPResponse.Status]>([])
        let router = Router()
        router.add(middleware: StatusNotes(noted: statuses))
        EnginePage(engine: EngineFixture().engine, provider: try Self.provider()).add(to: router)
        try await Application(router: router).test(.live) { client in
            let port = try #require(client.port)
            for _ in 0...PageFeed.maximumReaders {
                let reader = TestClient(host: "localhost", port: port)
                reader.connect()
                let channel = try await reader.getChannel()
                let request = TestClient.Request("/page/events", method: .get, authority: "localhost", headers: [:])
                try await reader.executeAndDontWaitForResponse(request)
                try await channel.close(mode: .output)
                // The server closes its end once it has let the reader go.
                try await channel.closeFuture.get()
            }
        }
        let told = statuses.withLock { $0 }
        #expect(told == Array(repeating: .ok, count: PageFeed.maximumReaders + 1))
    }

    @Test func `the matrix is the table that decides, row by row`() async throws {
        try await Self.withPage(of: EngineFixture()) { client in
            let matrix = try Self.object(try await client.execute(uri: "/page/matrix", method: .get))
            let rows = try #require(matrix["rows"] as? [[String: Any]])
            #expect(rows.compactMap { $0["method"] as? String } == AccessRule.matrix.map(\.method.name))
            for (row, rule) in zip(rows, AccessRule.matrix) {
                let roles = Role.known.filter { rule.permissions.isSubset(of: $0.permissions) }.map(\.rawValue)
                #expect(row["roles"] as? [String] == roles)
                let free = try #require(row["rolesWithoutClaims"] as? [String])
                #expect(Set(free).isSubset(of: ["ondemand_admin", "delivery_admin"]))
                #expect(free.count == 1)
            }
        }
    }

    @Test func `the map library comes from its folder, by name and nothing else`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "leaflet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["leaflet.js", "leaflet.css", "secret.txt"] {
            try Data("content of \(name)".utf8).write(to: folder.appending(path: name))
        }
        let options = PageOptions(leafletFolder: folder.path(percentEncoded: false))
        try await Self.withPage(of: EngineFixture(), options: options) { client in
            let settings = try Self.object(try await client.execute(uri: "/page/settings", method: .get))
            #expect(settings["hasLeaflet"] as? Bool == true)
            let script = try await client.execute(uri: "/page/leaflet/leaflet.js", method: .get)
            #expect(String(buffer: script.body) == "content of leaflet.js")
            for path in ["secret.txt", "..%2f..%2fetc%2fpasswd", "images/layers.png"] {
                let response = try await client.execute(uri: "/page/leaflet/\(path)", method: .get)
                #expect(response.status == .notFound, "\(path)")
            }
        }
        try await Self.withPage(of: EngineFixture()) { client in
            let settings = try Self.object(try await client.execute(uri: "/page/settings", method: .get))
            #expect(settings["hasLeaflet"] as? Bool == false)
            #expect(settings["leafletFolder"] as? String == "/nowhere")
        }
    }
}
