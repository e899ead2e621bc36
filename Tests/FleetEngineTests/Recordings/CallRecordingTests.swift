// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTestSupport
import FleetTokens
import Foundation
import Logging
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct CallRecordingTests {
    @Test(
        .enabled(if: RecordedExchange.exists("lmfs.json"), "The recordings are not at hand."),
        arguments: [("two-trips-bay-area.json", 542), ("lmfs.json", 669)])
    func `a recording of the service is read whole, and comes back from an export`(name: String, count: Int) throws {
        let exchanges = try RecordedExchange.read(name)
        #expect(exchanges.count == count)
        for exchange in exchanges { try Self.checkMessages(exchange) }
        let recording = CallRecording(exchanges.map(\.call))
        let again = try CallRecording(parsing: recording.exported)
        #expect(again.calls.count == count)
        for (first, second) in zip(recording.calls, again.calls) { #expect(first == second) }
    }

    /// Every field and value that was kept is one of the API.
    private static func checkMessages(_ exchange: RecordedExchange) throws {
        switch exchange.call.method {
        case .createTrip:
            let _: CreateTrip.Request = try exchange.request()
            let _: Trip = try exchange.response()
        case .updateTrip:
            let _: UpdateTrip.Request = try exchange.request()
            let _: Trip = try exchange.response()
        case .updateVehicle:
            let _: UpdateVehicle.Request = try exchange.request()
            let _: Vehicle = try exchange.response()
        case .updateDeliveryVehicle:
            let request: UpdateDeliveryVehicle.Request = try exchange.request()
            #expect(request.deliveryVehicle.name.hasSuffix("deliveryVehicles/\(exchange.call.resourceID ?? "")"))
            let _: DeliveryVehicle = try exchange.response()
        case .createTask:
            let _: CreateTask.Request = try exchange.request()
            let _: DeliveryTask = try exchange.response()
        case .updateTask:
            let _: UpdateTask.Request = try exchange.request()
            let _: DeliveryTask = try exchange.response()
        default: Issue.record("unforeseen: \(exchange.call.name)")
        }
    }

    private static let entry = """
        {"timestamp":"2026-01-02T03:04:05.5Z","logName":"projects/acme/logs/fleetengine.googleapis.com%2Fupdate_vehicle",\
        "jsonPayload":{"@type":"type.googleapis.com/maps.fleetengine.v1.UpdateVehicleLog",\
        "request":{"vehicleId":"v-1","updateMask":"vehicleState,lastLocation","vehicle":{"state":"VEHICLE_STATE_ONLINE",\
        "supportedTrips":["EXCLUSIVE_TRIP","SHARED_TRIP"],"vehicleType":{"vehicleCategory":"AUTO"},"navStatus":null,\
        "lastLocation":{"locSensor":"LOCATION_SENSOR_ROAD_SNAPPED_LOCATION_PROVIDER","speed":{"value":4}},"extra":1}}}}
        """

    @Test func `the log's names and values become the API's`() throws {
        let call = try #require(CallRecording(parsing: Data(Self.entry.utf8)).calls.first)
        let vehicle: JSONObject = [
            "vehicleState": .string("ONLINE"), "supportedTripTypes": .array([.string("EXCLUSIVE"), .string("SHARED")]),
            "vehicleType": .object(["category": .string("AUTO")]),
            "lastLocation": .object([
                "locationSensor": .string("ROAD_SNAPPED_LOCATION_PROVIDER"), "speed": .integer(4),
            ]),
        ]
        #expect(
            call.request == [
                "name": .string("providers/acme/vehicles/v-1"), "vehicle": .object(vehicle),
                "updateMask": .string("vehicleState,lastLocation"),
            ])
        #expect(call.method == .updateVehicle)
        #expect(call.resourceID == "v-1")
        #expect(call.time == Date(timeIntervalSince1970: 1_767_323_045.5))
    }

    private static let handles: [(name: String, request: String, segment: String?)] = [
        ("CreateTrip", #""tripId":"t-1","trip":{"currentRouteSegmentHandle":"h"}"#, nil),
        ("UpdateTrip", #""tripId":"t-1","updateMask":"tripStatus","trip":{"currentRouteSegmentHandle":"h"}"#, nil),
        ("UpdateTrip", #""tripid":"t-1","updatemask":"view","trip":{"currentroutesegmenthandle":"h"}"#, nil),
        ("UpdateVehicle", #""updateMask":"currentRouteSegment","vehicle":{"currentRouteSegmentHandle":"h"}"#, "h"),
        ("UpdateVehicle", #""updatemask":"current_route_segment","vehicle":{"currentroutesegmenthandle":"h"}"#, "h"),
        ("CreateVehicle", #""vehicle":{"currentRouteSegment":"s"}"#, "s"),
    ]

    @Test(arguments: handles)
    func `a handle that the log writes in every request is none of a segment, unless the mask names that`(
        name: String, request: String, segment: String?
    ) throws {
        let payload = #"{"@type":"x.\#(name)Log","request":{\#(request)},"response":{}}"#
        let text = #"{"timestamp":"2026-01-02T03:04:05Z","jsonPayload":\#(payload)}"#
        let call = try #require(CallRecording(parsing: Data(text.utf8)).calls.first)
        #expect(call.resource?["currentRouteSegment"]?.string == segment)
    }

    @Test func `a trip that was created as documented departs in nothing, whatever handle the log has`() throws {
        let place = #"{"point":{"latitude":1,"longitude":2}}"#
        let trip = #""tripType":"EXCLUSIVE_TRIP","pickupPoint":\#(place),"currentRouteSegmentHandle":"h""#
        let request = #"{"tripId":"t-1","trip":{"dropoffPoint":\#(place),\#(trip)}}"#
        let response = #"{"name":"providers/acme/trips/t-1"}"#
        let payload = #"{"@type":"x.CreateTripLog","request":\#(request),"response":\#(response)}"#
        let text =
            #"{"timestamp":"2026-01-02T03:04:05Z","logName":"projects/acme/logs/x","jsonPayload":\#(payload)}"#
        let (report, unread) = try CallRecording(parsing: Data(text.utf8)).examineDeviations()
        #expect(unread == 0)
        #expect(report.deviations.isEmpty)
    }

    @Test func `calls that overlap can be put in the order in which they took effect`() throws {
        func at(_ second: String) -> String { "2026-01-02T03:04:\(second)Z" }
        func vehicle(_ id: String, located second: String, mask: String = "last_location") -> String {
            let location = #"{"servertime":"\#(at(second))"}"#
            let request = #"{"vehicleid":"\#(id)","vehicle":{"lastlocation":{}},"updatemask":"\#(mask)"}"#
            return #""request":\#(request),"response":{"lastlocation":\#(location)}"#
        }
        func trip(_ status: String, _ response: String) -> String {
            #""request":{"tripid":"t-1","trip":{"status":"TRIP_STATUS_\#(status)"}},"response":{\#(response)}"#
        }
        let calls = [
            ("CreateVehicle", "01.1", vehicle("v-1", located: "01")),
            ("CreateTrip", "01.5", trip("NEW", "")),
            // Its answer repeats where the vehicle was before.
            ("UpdateVehicle", "02", vehicle("v-1", located: "01")),
            ("UpdateVehicle", "05.9", vehicle("v-1", located: "05.8")),
            ("UpdateTrip", "06.5", trip("ENROUTE_TO_INTERMEDIATE_DESTINATION", #""pickuptime":"\#(at("05.2"))""#)),
            ("UpdateTrip", "07", trip("ENROUTE_TO_DROPOFF", #""pickuptime":"\#(at("05.2"))""#)),
            // Told long ago, before the recording began, and not yet.
            ("UpdateVehicle", "30", vehicle("v-2", located: "10")),
            // A report that is older than the recording is repeated by what tells no location.
            ("UpdateVehicle", "30.5", vehicle("v-3", located: "25", mask: "waypoints")),
            ("UpdateVehicle", "30.8", vehicle("v-3", located: "26", mask: "vehicleState,lastLocation.heading")),
            ("UpdateTrip", "31", trip("COMPLETE", #""dropofftime":"\#(at("40"))""#)),
        ]
        let lines = calls.map { name, second, payload in
            #"{"timestamp":"\#(at(second))","jsonPayload":{"@type":"x.\#(name)Log",\#(payload)}}"#
        }
        let recording = try CallRecording(parsing: Data((lines + ["torn"]).joined(separator: "\n").utf8))
        let ordered = recording.inOrderOfWork
        #expect(ordered.calls.map { recording.calls.firstIndex(of: $0) } == [0, 1, 2, 4, 3, 5, 8, 6, 7, 9])
        #expect(ordered.tornLines == recording.tornLines)
    }

    @Test func `an array, an object that holds one, and lines of either are the same recording`() throws {
        let one = try CallRecording(parsing: Data("[\(Self.entry),\(Self.entry)]".utf8))
        #expect(one.calls.count == 2)
        #expect(try CallRecording(parsing: Data(#"{"rawLogs":[\#(Self.entry),\#(Self.entry)]}"#.utf8)) == one)
        #expect(try CallRecording(parsing: Data("\(Self.entry)\n\(Self.entry)\n".utf8)) == one)
        // As the API of Cloud Logging answers, and exports that were joined.
        let answer = #"{"entries":[\#(Self.entry),\#(Self.entry)],"nextPageToken":"x"}"#
        #expect(try CallRecording(parsing: Data(answer.utf8)) == one)
        #expect(try CallRecording(parsing: Data("[\(Self.entry)]\n[\(Self.entry)]\n".utf8)) == one)
        let parts = [#"{"rawLogs":[\#(Self.entry)]}"#, "[]", Self.entry]
        #expect(try CallRecording(parsing: Data(parts.joined(separator: "\n").utf8)) == one)
    }

    @Test(arguments: ["[\(Self.entry)]", "\(Self.entry)", "\(Self.entry)\n\(Self.entry)\n"])
    func `a byte order mark is passed over`(text: String) throws {
        let recording = try CallRecording(parsing: Data("\u{FEFF}\(text)".utf8))
        #expect(try recording == CallRecording(parsing: Data(text.utf8)))
        #expect(recording.tornLines.isEmpty)
    }

    @Test(
        arguments: [
            ("\(Self.entry)\n\(Self.entry)\n\(Self.entry.prefix(40))", [3]),
            ("\(Self.entry)\n\(Self.entry.prefix(40))\(Self.entry)\n\(Self.entry)\n", [2]),
            ("\(Self.entry.prefix(40))\n\n\(Self.entry)\nnonsense\n\(Self.entry)\n", [1, 4]),
            ("\(Self.entry)\n\(Self.entry)\n", []),
            ("\(Self.entry)\r\n\r\n \t\r\n\(Self.entry)\r\n\r\nnonsense\r\n\r\n", [6]),
        ] as [(String, [Int])])
    func `torn lines, as a killed recorder leaves them, are passed over and named`(text: String, torn: [Int]) throws {
        let recording = try CallRecording(parsing: Data(text.utf8))
        #expect(recording.calls.count == 2)
        #expect(recording.tornLines == torn)
    }

    @Test func `entries of something else are passed over and named`() throws {
        let others = [#"{"jsonPayload":{"@type":"x.v1.UpdateVehicleLocationLog"}}"#, #"{"textPayload":"hello"}"#]
        let text = "[\(others[0]),\(Self.entry),\(others[1])]"
        let recording = try CallRecording(parsing: Data(text.utf8)).inOrderOfWork
        #expect(recording.calls.count == 1)
        #expect(
            recording.otherEntries == [
                .init(number: 1, type: "UpdateVehicleLocationLog"), .init(number: 3, type: ""),
            ])
    }

    @Test func `an entry that an export holds twice is one call`() throws {
        func entry(_ id: String, log: String = "projects/acme/logs/x", second: Int = 5) -> String {
            let start = #"{"insertId":"\#(id)","logName":"\#(log)","timestamp":"2026-01-02T03:04:0\#(second)Z","#
            return start + #""jsonPayload":{"@type":"x.GetVehicleLog","request":{"vehicleId":"v-1"},"response":{}}}"#
        }
        // What differs in one of the three is another entry.
        let lines = [entry("a"), entry("b"), entry("a", second: 6), entry("a", log: "projects/acme/logs/y")]
        let recording = try CallRecording(parsing: Data(lines.joined(separator: "\n").utf8))
        #expect(recording.calls.count == 4)
        #expect(recording.repeatedEntries.isEmpty)
        let joined = try CallRecording(parsing: Data((lines + lines).joined(separator: "\n").utf8)).inOrderOfWork
        #expect(joined.calls == recording.calls)
        #expect(joined.repeatedEntries == [5, 6, 7, 8])
        #expect(joined.exported == recording.exported)
    }

    @Test func `a recorder leaves a torn line alone and goes on below it`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("\(Self.entry)\n\(Self.entry.prefix(40))".utf8).write(to: URL(filePath: path))
        for _ in 1...2 {
            let recorder = try CallRecorder(appendingTo: path, logger: Logger(label: "test"))
            Self.recordRefusal(in: recorder)
            recorder.finish()
            try await recorder.run()
        }
        let recording = try CallRecording(parsing: Data(contentsOf: URL(filePath: path)))
        #expect(recording.calls.map(\.status) == ["OK", "NOT_FOUND", "NOT_FOUND"])
        #expect(recording.tornLines == [2])
    }

    private static func recordRefusal(in recorder: CallRecorder) {
        let answer: Result<Vehicle, EngineError> = .failure(
            EngineError(code: .notFound, reason: "NOT_FOUND", message: "none"))
        let request = GetVehicle.Request.with { $0.name = "providers/acme/vehicles/v-1" }
        recorder.record(.getVehicle, request, answer, at: TestClock.start)
    }

    @Test func `a token in the wrong place is written by its fingerprint`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl")
        defer { try? FileManager.default.removeItem(at: path) }
        let recorder = try CallRecorder(appendingTo: path.path, logger: Logger(label: "test"))
        let token = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhIn0.c2lnbmF0dXJl_-"
        let request = GetVehicle.Request.with { $0.name = "providers/acme/vehicles/\(token)" }
        let answer: Result<Vehicle, EngineError> = .failure(
            EngineError(code: .invalidArgument, reason: "ID", message: "\(token)? \(token.dropLast(4)), eyJa.b"))
        recorder.record(.getVehicle, request, answer, at: TestClock.start)
        recorder.finish()
        try await recorder.run()
        let text = try String(contentsOf: path, encoding: .utf8)
        let shown = "token-\(FleetToken(token).fingerprint)"
        #expect(!text.contains("eyJpc3MiOiJhIn0"))
        #expect(text.contains("vehicles/\(shown)\"") || text.contains("vehicles\\/\(shown)\""))
        #expect(text.contains("\(shown)? token-") && text.contains(", eyJa.b"))
        #expect(try CallRecording(parsing: Data(text.utf8)).calls.first?.resourceID == shown)
    }

    /// The same from each place to the end, which takes very long for long texts.
    private static func replacedSlowly(in text: String) -> String {
        let header = #/[ \t\n\r]*\{[ \t\n\r]*"/#.matchingSemantics(.unicodeScalar)
        var rest = Array(text.utf8)
        var result: [UInt8] = []
        while let first = rest.first {
            let parts = rest.split(separator: UInt8(ascii: "."), maxSplits: 2, omittingEmptySubsequences: false)
                .map { part in part.prefix(while: Base64URL.isCharacter) }
            if parts.count == 3, parts[0].endIndex == parts[1].startIndex - 1,
                parts[1].endIndex == parts[2].startIndex - 1, !parts[1].isEmpty, !parts[2].isEmpty,
                let bytes = Base64URL.decode(parts[0]), let read = String(validating: bytes, as: UTF8.self),
                read.prefixMatch(of: header) != nil, read.contains(#/\}[ \t\n\r]*$/#.matchingSemantics(.unicodeScalar))
            {
                let token = FleetToken(String(decoding: rest[..<parts[2].endIndex], as: UTF8.self))
                result += "token-\(token.fingerprint)".utf8
                rest = Array(rest[parts[2].endIndex...])
            } else {
                result.append(first)
                rest.removeFirst()
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    @Test(arguments: [
        #"{"alg":"RS256"}"#, #"{ "alg":"RS256"}"#, "{\n  \"alg\": 1}", "{\r\n\t\"alg\": 1}", #" {"alg":1}"#,
        "\n\n\n\n{\n\"alg\":1}",
    ])
    func `a token is found however its header is written`(header: String) {
        let token = [header, #"{"iss":"a"}"#, "signature"].map {
            String(decoding: Base64URL.encode($0.utf8), as: UTF8.self)
        }
        .joined(separator: ".")
        let shown = "token-\(FleetToken(token).fingerprint)"
        for (before, after) in [("", ""), ("vehicles/", "\""), ("x-", "?"), ("a.b.", ".c"), ("Bearer_", " ")] {
            let text = WrittenTokens.replaced(in: Array("\(before)\(token)\(after)".utf8))
            #expect(String(decoding: text, as: UTF8.self) == "\(before)\(shown)\(after)")
        }
    }

    @Test(arguments: [
        "news.example.com", "eyes.are.blue", "1.2.3", "e30.e30.x", "eyJ.eyJ.eyJ", "ewe_x.y.z", "IA.IA.IA",
        "eyJhbGciOi..x", "calls.2026-01-02.jsonl", "ValleyLine.stop.4", "DisneyLand.bus.12", "eyJhIjox.y.z",
    ])
    func `what has dots and is no token stays as it is`(text: String) {
        #expect(WrittenTokens.replaced(in: Array(text.utf8)) == Array(text.utf8))
    }

    @Test func `tokens are found where they are, in any text`() {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<10_000 {
            let words = [
                "eyJ", "eyAi", "ewoi", "ICAg", "IHsi", "eyJ9", "ey J9", "In0", "fQ", "fSAg", "fQo", "e", "y", "J", "a",
                "-",
                "_", ".", ".", ".", " ", "\"", "ü",
            ]
            let text = (0..<Int.random(in: 0...30, using: &generator)).map { _ in
                words.randomElement(using: &generator) ?? ""
            }
            .joined()
            #expect(
                String(decoding: WrittenTokens.replaced(in: Array(text.utf8)), as: UTF8.self)
                    == Self.replacedSlowly(in: text), "\(text)")
        }
        // Each of these places begins what could be a token; a look from each of them to the end would take for ever.
        for word in ["eyJ", "eyJ.", "IHsg", "IHsg.", "ICAg"] {
            let long = String(repeating: word, count: 1 << 18) + (word == "IHsg" ? ".a.b" : "")
            #expect(WrittenTokens.replaced(in: Array(long.utf8)) == Array(long.utf8))
        }
    }

    @Test(arguments: [nil, 0o600, 0o644])
    func `a file that is there and open to other users is warned of`(mode: Int?) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        if let mode {
            let isMade = FileManager.default.createFile(
                atPath: path, contents: nil, attributes: [.posixPermissions: mode])
            try #require(isMade)
        }
        let log = RecordedLog()
        _ = try CallRecorder(appendingTo: path, logger: log.logger)
        let warning = "the recording is open to other users"
        #expect(log.messages(at: .warning) == (mode == 0o644 ? [warning] : []))
        #expect(log.metadata(of: warning).allSatisfy { $0 == ["file": "\(path)", "next": "chmod 600 \(path)"] })
    }

    @Test func `calls that would wait beyond the limit are left out`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let log = RecordedLog()
        let recorder = try CallRecorder(appendingTo: path, logger: log.logger, maximumWaiting: 1000)
        for _ in 1...10 { Self.recordRefusal(in: recorder) }
        #expect(log.messages(at: .error) == ["a call is missing in the recording"])
        #expect((1...1000).contains(recorder.bytesWaiting))
        recorder.finish()
        try await recorder.run()
        #expect(recorder.bytesWaiting == 0)
        #expect((1...9).contains(try CallRecording(parsing: Data(contentsOf: URL(filePath: path))).calls.count))
    }

    @Test func `a file that takes no calls is told of every ten seconds at most, and once that it takes them again`()
        async throws
    {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let (log, clock, written) = (RecordedLog(), TestClock(TestClock.start), Locked(0))
        let recorder = try CallRecorder(
            appendingTo: path, logger: log.logger, maximumWaiting: 1 << 20, now: { clock.now },
            append: { _, _ in
                let number = written.withLock { number in
                    number += 1
                    return number
                }
                switch number {
                case ...100: throw POSIXError(.ENOSPC)
                case 102: clock.advance(by: 10)
                case 200: throw POSIXError(.ENOSPC)
                default: break
                }
            })
        for _ in 1...210 { Self.recordRefusal(in: recorder) }
        recorder.finish()
        try await recorder.run()
        #expect(
            log.messages(at: .error) == [
                "a call is missing in the recording", "a call is missing in the recording",
            ])
        #expect(log.messages(at: .notice) == ["calls are recorded again"])
    }

    @Test func `recorders of one file leave each other's calls`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let recorders = [
            try CallRecorder(appendingTo: path, logger: Logger(label: "test")),
            try CallRecorder(appendingTo: path, logger: Logger(label: "test")),
        ]
        for recorder in recorders {
            for _ in 1...2 { Self.recordRefusal(in: recorder) }
            recorder.finish()
            try await recorder.run()
        }
        let recording = try CallRecording(parsing: Data(contentsOf: URL(filePath: path)))
        #expect(recording.calls.count == 4)
        #expect(recording.tornLines.isEmpty)
    }

    @Test func `after a file was cut short, lines stand at its beginning`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl")
        defer { try? FileManager.default.removeItem(at: path) }
        let file = try CallRecorder.file(appendingTo: path.path)
        try CallRecorder.append(Array("first".utf8), to: file)
        try FileHandle(forWritingTo: path).truncate(atOffset: 0)
        try CallRecorder.append(Array("second".utf8), to: file)
        #expect(try String(contentsOf: path, encoding: .utf8) == "second\n")
    }

    @Test func `a line that was written in part only takes no other with it, whoever wrote it`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl")
        defer { try? FileManager.default.removeItem(at: path) }
        let file = try CallRecorder.file(appendingTo: path.path)
        let other = try CallRecorder.file(appendingTo: path.path)
        for torn in [file, other] {
            try torn.write(contentsOf: Data(Self.entry.utf8.prefix(40)))
            for _ in 1...2 { try CallRecorder.append(Array(Self.entry.utf8), to: file) }
        }
        let recording = try CallRecording(parsing: Data(contentsOf: path))
        #expect(recording.calls.count == 4)
        #expect(recording.tornLines == [1, 4])
    }

    private static let answers: [(recorded: String, httpStatus: Int, word: String?, isAlike: Bool)] = [
        (#""response":{}"#, 200, nil, true),
        (#""response":{}"#, 404, "NOT_FOUND", false),
        (#""errorResponse":{"code":"PERMISSION_DENIED"}"#, 403, "PERMISSION_DENIED", true),
        (#""errorResponse":{"code":"PERMISSION_DENIED"}"#, 401, "UNAUTHENTICATED", false),
        (#""errorResponse":{"code":"PERMISSION_DENIED"}"#, 503, "UNAVAILABLE", false),
        (#""errorResponse":{"code":"PERMISSION_DENIED"}"#, 403, nil, false),
        (#""errorResponse":{"code":"PERMISSION_DENIED"}"#, 200, nil, false),
        (#""errorResponse":{"code":"ALREADY_EXISTS"}"#, 409, "ABORTED", false),
        (#""errorResponse":{"code":"UNAVAILABLE"}"#, 503, "UNAVAILABLE", true),
        (#""errorResponse":{"httpStatusCode":404}"#, 404, "NOT_FOUND", true),
        (#""errorResponse":{"httpStatusCode":404}"#, 401, "UNAUTHENTICATED", false),
    ]

    @Test(arguments: answers)
    func `an answer is the recorded one by its status word`(
        recorded: String, httpStatus: Int, word: String?, isAlike: Bool
    ) throws {
        let payload = #"{"@type":"x.GetVehicleLog","request":{},\#(recorded)}"#
        let text = #"{"timestamp":"2026-01-02T03:04:05Z","jsonPayload":\#(payload)}"#
        let call = try #require(CallRecording(parsing: Data(text.utf8)).calls.first)
        #expect(call.endsAlike(httpStatus: httpStatus, word: word) == isAlike)
    }

    @Test(arguments: [
        ("GetVehicle", #"{"name":"providers/acme/vehicles/v"}"#, true),
        ("GetVehicle", "{}", false),
        ("GetVehicle", #"{"name":7}"#, false),
        ("GetVehicle", "<html>Welcome.</html>", false),
        ("CreateTrip", "{}", false),
        ("UpdateTask", "{}", false),
        ("GetTaskTrackingInfo", "{}", false),
        ("UpdateVehicleAttributes", #"{"attributes":[]}"#, true),
        ("DeleteVehicle", "{}", true),
        ("DeleteVehicle", "", false),
        ("DeleteVehicle", "[]", false),
        ("ListTasks", "{}", true),
        ("BatchCreateTasks", #"{"tasks":[]}"#, true),
    ])
    func `a success is an object, and of a resource it has a name`(name: String, body: String, isAnswer: Bool) throws {
        let payload = #"{"@type":"x.\#(name)Log","request":{},"response":{}}"#
        let text = #"{"timestamp":"2026-01-02T03:04:05Z","jsonPayload":\#(payload)}"#
        let call = try #require(CallRecording(parsing: Data(text.utf8)).calls.first)
        #expect(call.mayBeAnswered(by: Data(body.utf8)) == isAnswer)
    }

    @Test(arguments: [
        ("", "holds no entries"), ("[]", "holds no entries"), ("[1]", "entry 1 is not an object"),
        ("{}", "its entry 1 has no type, and none is a call"),
        (#"[{"jsonPayload":{"@type":"x.Nothing"}},{}]"#, "its entry 1 is of the type \"Nothing\", and none is a call"),
        (#"[{"jsonPayload":{"@type":"x.A\u001b\u000aB"}}]"#, #"is of the type "A\u001b\u000aB", and none is a call"#),
        ("{\n{", "is not JSON"), ("[\n1\n]\n[\n2\n]\n", "is not JSON: "),
        ("nonsense\nnonsense\n", "is not JSON"), ("1\nnonsense\n{}\n2\n", "entry 1 is not an object"),
        ("\(entry)\nnonsense\n[2]\n{}\n", "entry 2 is not an object"),
        (
            #"{"timestamp":"noon","jsonPayload":{"@type":"maps.fleetengine.v1.GetTripLog"}}"#,
            "the timestamp \"noon\""
        ),
        (
            #"{"timestamp":"no\u001bon","jsonPayload":{"@type":"maps.fleetengine.v1.GetTripLog"}}"#,
            #"the timestamp "no\u001bon""#
        ),
    ])
    func `what is no recording is named`(text: String, part: String) throws {
        let error = try #require(throws: CallRecordingError.self) { try CallRecording(parsing: Data(text.utf8)) }
        #expect(error.message.contains(part), "\(error.message)")
    }

    @Test func `what an engine recorded can be read, refusals too and no tokens`() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let recorder = try CallRecorder(appendingTo: path, logger: Logger(label: "test"))
        let clock = TestClock(TestClock.start)
        let engine = Engine(
            store: MemoryStore(), verifier: TextVerifier(), recorder: recorder, now: { clock.now })
        let request = CreateVehicle.Request.with {
            $0.parent = "providers/acme"
            $0.vehicleID = "v-1"
            $0.vehicle.vehicleState = .online
            $0.vehicle.supportedTripTypes = [.exclusive]
            $0.vehicle.maximumCapacity = 4
            $0.vehicle.vehicleType.category = .auto
        }
        let created = try await engine.perform(CreateVehicle.self, request, token: serverToken)
        await #expect(throws: EngineError.self) {
            try await engine.perform(CreateVehicle.self, request, token: serverToken)
        }
        // Who is nobody could fill the disk.
        await #expect(throws: EngineError.self) { try await engine.perform(CreateVehicle.self, request, token: nil) }
        recorder.finish()
        try await recorder.run()

        let bytes = try Data(contentsOf: URL(filePath: path))
        #expect(!String(decoding: bytes, as: UTF8.self).contains(serverToken))
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        let calls = try CallRecording(parsing: bytes).calls
        #expect(calls.map(\.status) == ["OK", "ALREADY_EXISTS"])
        let exchange = RecordedExchange(call: try #require(calls.first), time: clock.now)
        #expect(try exchange.request() as CreateVehicle.Request == request)
        #expect(try exchange.response() as Vehicle == created)
        #expect(exchange.call.time == clock.now)
    }

    @Test(arguments: [
        (["vehicle_state", "last_location.heading"], "vehicleState,lastLocation.heading", "OK"),
        (["vehicleState", "lastLocation.heading"], "vehicleState,lastLocation.heading", "OK"),
        (["*", "vehicle_state"], "*,vehicleState", "INVALID_ARGUMENT"),
        (["vehicle_state,last_location", "vehicle__state"], "vehicle_State", "INVALID_ARGUMENT"),
    ])
    func `an update is recorded whole, however its mask is spelt`(
        paths: [String], mask: String, status: String
    ) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let recorder = try CallRecorder(appendingTo: path, logger: Logger(label: "test"))
        let engine = Engine(
            store: MemoryStore(), verifier: TextVerifier(), recorder: recorder, now: { TestClock.start })
        let creation = CreateVehicle.Request.with {
            $0.parent = "providers/acme"
            $0.vehicleID = "v-1"
            $0.vehicle = .sample
        }
        _ = try await engine.perform(CreateVehicle.self, creation, token: serverToken)
        let update = UpdateVehicle.Request.with {
            $0.name = "providers/acme/vehicles/v-1"
            $0.vehicle.vehicleState = .online
            $0.vehicle.lastLocation.heading = 90
            $0.updateMask.paths = paths
        }
        _ = try? await engine.perform(UpdateVehicle.self, update, token: serverToken)
        recorder.finish()
        try await recorder.run()

        let recording = try CallRecording(parsing: Data(contentsOf: URL(filePath: path)))
        #expect(recording.examineDeviations().unread == 0)
        let call = try #require(recording.about("v-1").calls.last)
        #expect(call.method == .updateVehicle)
        #expect(call.status == status)
        #expect(call.request["updateMask"] == .string(mask))
        #expect(call.resource?["vehicleState"] == .string("ONLINE"))
    }

    @Test func `a recording can be cut down to what one id is about`() throws {
        let recording = try CallRecording(parsing: Data(Self.entry.utf8))
        #expect(recording.about("v-1") == recording)
        #expect(recording.about("v-2").calls.isEmpty)
    }

    @Test(arguments: [("SearchTrips", "vehicleid"), ("SearchTrips", "vehicleId"), ("SearchVehicles", "tripid")])
    func `a search is about the vehicle or trip that it names`(name: String, key: String) throws {
        let payload = #"{"@type":"x.\#(name)Log","request":{"\#(key)":"id-1"},"response":{}}"#
        let text = #"{"timestamp":"2026-01-02T03:04:05Z","jsonPayload":\#(payload)}"#
        let recording = try CallRecording(parsing: Data(text.utf8))
        #expect(recording.about("id-1") == recording)
        #expect(recording.about("id-2").calls.isEmpty)
    }

    @Test(arguments: [
        ("UpdateTrip", #"{"tripid":"t-2","trip":{"vehiclewaypoints":[{"tripid":"t-3"},{"tripid":"id-1"}]}}"#),
        ("CreateTrip", #"{"tripId":"t-2","trip":{"vehicleWaypoints":[{"tripId":"id-1"}]}}"#),
        ("UpdateVehicle", #"{"vehicleId":"v-1","vehicle":{"waypoints":[{"tripId":"id-1"}]}}"#),
    ])
    func `an order of stops is about the trips that it names`(name: String, request: String) throws {
        let payload = #"{"@type":"x.\#(name)Log","request":\#(request),"response":{}}"#
        let text = #"{"timestamp":"2026-01-02T03:04:05Z","jsonPayload":\#(payload)}"#
        let recording = try CallRecording(parsing: Data(text.utf8))
        #expect(recording.about("id-1") == recording)
        #expect(recording.about("id-2").calls.isEmpty)
    }

    @Test func `the calls of several providers can be told apart`() throws {
        let lines = [("a", "response"), ("b", "response"), ("c", "errorResponse")].map { provider, end in
            let payload = #"{"@type":"x.GetVehicleLog","request":{"vehicleId":"v-1"},"\#(end)":{"code":"NOT_FOUND"}}"#
            let name = "projects/\(provider)/logs/x"
            return #"{"timestamp":"2026-01-02T03:04:05Z","logName":"\#(name)","jsonPayload":\#(payload)}"#
        }
        let recording = try CallRecording(parsing: Data(lines.joined(separator: "\n").utf8))
        // Who asks for another's vehicle is refused.
        #expect(recording.providers == ["a", "b"])
        #expect(recording.of(provider: "b").calls.map(\.resourceName) == ["providers/b/vehicles/v-1"])
        #expect(recording.of(provider: "d").calls.isEmpty)
    }

    @Test func `a file that cannot be made is an error`() {
        #expect(throws: CallRecordingError.self) {
            try CallRecorder(appendingTo: "/nowhere/at/all.jsonl", logger: Logger(label: "test"))
        }
    }
}
