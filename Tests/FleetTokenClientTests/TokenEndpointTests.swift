// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@Suite struct TokenEndpointTests {
    private static func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private static let subjects: [TokenSubject] = {
        guard let vehicle = VehicleID("veh-3"), let trip = TripID("trip-7"), let van = DeliveryVehicleID("dv-12"),
            let task = TaskID("task-21"), let tracking = TrackingID("shp-881")
        else { return [] }
        return [
            .driver(vehicle), .consumer(trip), .deliveryDriver(van), .deliveryDriver(van, task: task),
            .deliveryConsumer(tracking), .fleetReader,
        ]
    }()

    private static func paths(_ endpoint: TokenEndpoint) -> [String?] {
        self.subjects.map { (try? endpoint.url(for: $0))?.absoluteString.replacing("https://t.example", with: "") }
    }

    // MARK: Paths

    @Test func `the presets use the sample servers' paths`() throws {
        let server = try Self.url("https://t.example/")
        #expect(
            Self.paths(try .onDemand(server)) == ["/token/driver/veh-3", "/token/consumer/trip-7", nil, nil, nil, nil])
        #expect(
            Self.paths(try .scheduled(server)) == [
                nil, nil, "/token/delivery_driver/dv-12", nil, "/token/delivery_consumer/shp-881",
                "/token/fleet_reader",
            ])
        #expect(
            Self.paths(try .fleetpass(server)) == [
                "/token/driver/veh-3", "/token/consumer/trip-7", "/token/delivery_driver/dv-12",
                "/token/delivery_driver/dv-12?task=task-21", "/token/delivery_consumer/shp-881", "/token/fleet_reader",
            ])
    }

    @Test func `a subject without a route is a configuration error`() throws {
        let endpoint = try TokenEndpoint.onDemand(try Self.url("https://t.example"))
        let error = #expect(throws: TokenClientError.self) { try endpoint.url(for: .fleetReader) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func `a template fills its placeholders`() throws {
        let format = TokenAnswerFormat(tokenKey: "t")
        let endpoint = try TokenEndpoint(
            server: try Self.url("https://t.example/a/b"), path: "auth/{kind}-{id}/now", answer: format)
        #expect(Self.paths(endpoint)[0] == "/a/b/auth/driver-veh-3/now")
        #expect(Self.paths(endpoint)[3] == nil, "the task has no place")
        #expect(Self.paths(endpoint)[5] == nil, "a reader has no id")
        let withTask = try TokenEndpoint(
            server: try Self.url("https://t.example"), path: "{id}/{task}", answer: format)
        #expect(Self.paths(withTask) == [nil, nil, nil, "/dv-12/task-21", nil, nil])
    }

    @Test(arguments: [
        ("token/{kind}", 0, #""token/{kind}" has no {id}, which tells the server whose driver token"#),
        ("token?kind={kind}", 3, #""token?kind={kind}" has no {id}, which"#),
        ("token/{id}", 3, #""token/{id}" has no {task}, which"#),
        ("token/{id}", 5, #""token/{id}" has {id}, for which this fleet_reader has no value"#),
        ("{id}?task={task}", 1, #""{id}?task={task}" has {task}, for which this consumer"#),
    ])
    func `a template that is not of a subject tells which placeholder, and the way without templates`(
        path: String, subject: Int, problem: String
    ) throws {
        let endpoint = try TokenEndpoint(
            server: try Self.url("https://t.example"), path: path, answer: TokenAnswerFormat(tokenKey: "t"))
        let error = #expect(throws: TokenClientError.self) { try endpoint.url(for: Self.subjects[subject]) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains(problem) == true, "\(String(describing: error))")
        #expect(error?.message.contains("TokenEndpoint(server:answer:route:)") == true)
    }

    @Test func `a template may end with a query, whose values are encoded`() throws {
        let format = TokenAnswerFormat(tokenKey: "t")
        let server = try Self.url("https://t.example/a")
        let endpoint = try TokenEndpoint(server: server, path: "/token?vehicleId={id}", answer: format)
        let start = "/a/token?vehicleId="
        #expect(
            Self.paths(endpoint) == [
                "\(start)veh-3", "\(start)trip-7", "\(start)dv-12", nil, "\(start)shp-881", nil,
            ])
        let odd = try endpoint.url(for: .driver(try VehicleID(checking: "a&b=c d+e")))
        #expect(odd.absoluteString == "https://t.example/a/token?vehicleId=a%26b%3Dc%20d%2Be")
        let withTask = try TokenEndpoint(
            server: server, path: "token?of={kind}:{id}&task={task}&plain=a b?", answer: format)
        #expect(Self.paths(withTask)[3] == "/a/token?of=delivery_driver%3Adv-12&task=task-21&plain=a%20b%3F")
        #expect(Self.paths(withTask)[0] == nil, "there is no task")
    }

    @Test(arguments: [
        ("token#{id}", "leave it out"), ("%2e%2e/{id}", "encoded for you"), ("token?id={id}%20", "encoded for you"),
        ("token?{id}", "name=value"), ("token?", "name=value"), ("token?a={id}&", "name=value"),
        ("token?={id}", "name=value"), ("token?{kind}={id}", "name=value"), ("?vehicleId={id}", "is empty"),
    ]) func `a template that would be sent as something else is refused`(path: String, fix: String) throws {
        let error = #expect(throws: TokenClientError.self) {
            try TokenEndpoint(
                server: try Self.url("https://t.example"), path: path, answer: TokenAnswerFormat(tokenKey: "t"))
        }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains(fix) == true)
    }

    @Test(arguments: ["", "/", "a/{id", "a/{vehicle}", "a?x={id", "a?x={vehicle}"])
    func `a broken template is refused`(path: String) throws {
        let error = #expect(throws: TokenClientError.self) {
            try TokenEndpoint(
                server: try Self.url("https://t.example"), path: path, answer: TokenAnswerFormat(tokenKey: "t"))
        }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test(arguments: [
        ("veh 3", "veh%203"), ("100%", "100%25"), ("..server", "..server"), ("a&b=c;d", "a%26b%3Dc%3Bd"),
        ("%2e%2e%2Fserver", "%252e%252e%252Fserver"), ("vé", "v%C3%A9"), ("🚕", "%F0%9F%9A%95"), ("a\\b", "a%5Cb"),
        ("a+b", "a%2Bb"), ("~-_.", "~-_."),
    ]) func `an id is one path segment whatever it holds`(id: String, segment: String) throws {
        let endpoint = try TokenEndpoint.fleetpass(try Self.url("https://t.example/base"))
        let url = try endpoint.url(for: .driver(try VehicleID(checking: id)))
        #expect(url.absoluteString == "https://t.example/base/token/driver/\(segment)")
        #expect(url.standardized.absoluteString == url.absoluteString)
        #expect(url.host == "t.example")
    }

    @Test(arguments: ["../server", "a/b", "..", ".", "*", "a?b", "a#b", "https://evil.example", ""])
    func `an id that could lead elsewhere is not an id`(id: String) {
        #expect(VehicleID(id) == nil)
    }

    @Test(arguments: ["../server", "/etc", "https://evil.example/x", "a?b#c"])
    func `a custom route cannot leave its place either`(text: String) throws {
        let endpoint = try TokenEndpoint(
            server: try Self.url("https://t.example"), answer: { _ in TokenAnswerFormat(tokenKey: "t") },
            route: { _ in TokenEndpoint.Route(segments: ["token", text], query: [(name: "q", value: text)]) })
        let url = try endpoint.url(for: .fleetReader)
        #expect(url.host == "t.example" && url.standardized.absoluteString.hasPrefix("https://t.example/token/"))
        #expect(url.fragment == nil && url.absoluteString.split(separator: "/").count == 4)
    }

    @Test(arguments: ["", ".", ".."]) func `an empty or relative segment is refused`(segment: String) throws {
        let endpoint = try TokenEndpoint(
            server: try Self.url("https://t.example"), answer: { _ in TokenAnswerFormat(tokenKey: "t") },
            route: { _ in TokenEndpoint.Route(segments: ["token", segment]) })
        #expect(throws: TokenClientError.self) { try endpoint.url(for: .fleetReader) }
    }

    // MARK: Where tokens may travel

    @Test(arguments: [
        "https://tokens.example.com", "HTTPS://tokens.example.com", "http://localhost:8080", "http://127.0.0.1:1",
        "http://127.200.3.4", "http://[::1]:8080",
    ]) func `https and this machine are allowed`(server: String) throws {
        _ = try TokenEndpoint.fleetpass(try Self.url(server))
    }

    @Test(arguments: [
        "http://tokens.example.com", "http://127.0.0.1.evil.example", "http://localhost.evil.example",
        "http://10.0.0.1",
        "http://127.1", "http://127.0.0.1.5", "http://127.0.0.256", "http://0x7f.0.0.1", "http://128.0.0.1",
        "http://[::2]",
        "ftp://localhost",
        "ws://localhost", "http://127.0.0.+1", "http://0127.0.0.1",
    ]) func `plain http to another machine is refused`(server: String) throws {
        let error = #expect(throws: TokenClientError.self) { try TokenEndpoint.fleetpass(try Self.url(server)) }
        #expect(error?.code == .insecureURL)
    }

    @Test(arguments: [
        "tokens.example.com", "/token", "https:///token", "https://user:pw@t.example", "https://user@t.example",
        "https://t.example/?key=1",
        "https://t.example/#x",
    ]) func `an address that is not a plain absolute one is refused`(server: String) throws {
        let error = #expect(throws: TokenClientError.self) { try TokenEndpoint.fleetpass(try Self.url(server)) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.description.contains("pw") == false)
    }
}
