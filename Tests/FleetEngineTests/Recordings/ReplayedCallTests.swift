// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

@testable import FleetEngine

@Suite struct ReplayedCallTests {
    private typealias Call = (name: String, request: String, answer: String?)

    /// A recording of one call each second; refused ones have no answer.
    private static func recording(_ calls: Call...) throws -> CallRecording { try self.recording(calls) }

    private static func recording(_ calls: [Call]) throws -> CallRecording {
        let lines = calls.enumerated().map { second, call in
            let end = call.answer.map { #""response":\#($0)"# } ?? #""errorResponse":{"code":"NOT_FOUND"}"#
            let payload = #"{"@type":"x.\#(call.name)Log","request":\#(call.request),\#(end)}"#
            let time = "2026-01-02T03:04:0\(second)Z"
            return #"{"timestamp":"\#(time)","logName":"projects/old/x","jsonPayload":\#(payload)}"#
        }
        return try CallRecording(parsing: Data(lines.joined(separator: "\n").utf8))
    }

    /// What is created first, as `collection/id`, with the bodies.
    private static func creations(_ recording: CallRecording) throws -> [(name: String, body: JSONObject)] {
        let calls = try recording.presumed(for: ProviderID(checking: "acme"))[0] ?? []
        return try calls.filter { $0.verb == "POST" }.map { call in
            #expect(call.path.prefix(3) == ["v1", "providers", "acme"])
            let body = try JSONValue(parsing: call.body ?? Data()).object
            return (name: "\(call.path.last ?? "")/\(call.query.first?.value ?? "")", body: try #require(body))
        }
    }

    private static let leastVehicle: JSONObject = [
        "vehicleState": .string("OFFLINE"), "supportedTripTypes": .array([.string("EXCLUSIVE")]),
        "maximumCapacity": .integer(1), "vehicleType": .object(["category": .string("AUTO")]),
    ]

    private static let leastTask = #""task":{"state":"OPEN","taskDuration":"60s","type":"UNAVAILABLE"}"#

    @Test func `vehicles that only trips name are created before these`() throws {
        let creations = try Self.creations(
            Self.recording(
                (
                    "UpdateTrip", #"{"tripId":"t-1","updateMask":"tripStatus","trip":{"status":"COMPLETE"}}"#,
                    #"{"vehicleId":"v-1","tripType":"SHARED","vehicleWaypoints":[{"tripId":"t-9"}]}"#
                ),
                ("GetTrip", #"{"tripId":"t-2"}"#, #"{"vehicleId":"v-2"}"#),
                ("GetVehicle", #"{"vehicleId":"v-2"}"#, #"{"vehicleState":"ONLINE"}"#),
                ("CreateTrip", #"{"tripId":"t-3","trip":{"vehicleId":"v-3"}}"#, "{}"),
                ("UpdateTrip", #"{"tripId":"t-3","updateMask":"vehicleId","trip":{"vehicleId":"v-4"}}"#, nil)
            ))
        let names = ["vehicles/v-2", "vehicles/v-1", "vehicles/v-3", "trips/t-1", "trips/t-2"]
        try #require(creations.map(\.name) == names)
        var online = Self.leastVehicle
        online["vehicleState"] = .string("ONLINE")
        #expect(creations[0].body == online)
        #expect(creations[1].body == Self.leastVehicle)
        #expect(creations[3].body["tripType"] == .string("SHARED"))
        #expect(creations[3].body["pickupPoint"] != nil)
        #expect(creations[3].body["vehicleWaypoints"] == nil)
    }

    @Test func `an id that begins with an accent is not lost`() throws {
        let recording = try Self.recording(
            (
                "UpdateVehicle", #"{"vehicleId":"\u0301","vehicle":{"state":"VEHICLE_STATE_ONLINE"}}"#,
                #"{"name":"providers/\u0301p/vehicles/\u0301"}"#
            ), ("GetTrip", #"{"name":"providers/\u0301p/trips/\u0301"}"#, #"{"vehicleId":"\u0301"}"#))
        #expect(recording.calls.map(\.resourceID) == ["\u{301}", "\u{301}"])
        #expect(recording.calls.map(\.provider) == ["\u{301}p", "old"])
        #expect(recording.about("\u{301}").calls.count == 2)
        #expect(try CallRecording(parsing: recording.exported).calls.map(\.resourceID) == ["\u{301}", "\u{301}"])
        #expect(try Self.creations(recording).map(\.name) == ["vehicles/\u{301}", "trips/\u{301}"])
    }

    @Test func `a vehicle of which only attributes are told is made whole`() throws {
        let creations = try Self.creations(
            Self.recording(
                ("UpdateVehicleAttributes", #"{"vehicleId":"v-1"}"#, #"{"attributes":[{"key":"a","value":"b"}]}"#)))
        var vehicle = Self.leastVehicle
        vehicle["attributes"] = .array([.object(["key": .string("a"), "value": .string("b")])])
        #expect(creations.map(\.name) == ["vehicles/v-1"])
        #expect(creations.first?.body == vehicle)
    }

    @Test func `what is deleted before anything else is made whole`() throws {
        let creations = try Self.creations(
            Self.recording(
                ("DeleteTrip", #"{"tripId":"t-1"}"#, "{}"), ("DeleteTask", #"{"taskId":"k-1"}"#, "{}"),
                ("DeleteVehicle", #"{"vehicleId":"v-1"}"#, "{}")))
        try #require(creations.map(\.name) == ["vehicles/v-1", "tasks/k-1", "trips/t-1"])
        #expect(creations[0].body == Self.leastVehicle)
        #expect(creations[1].body["type"] == .string("UNAVAILABLE"))
        #expect(creations[1].body["state"] == .string("OPEN"))
        #expect(Set(creations[2].body.keys) == ["tripType", "pickupPoint"])
    }

    @Test func `a tracking id that is asked for has an open task`() throws {
        let point = #"{"point":{"latitude":1,"longitude":2}}"#
        let creations = try Self.creations(
            Self.recording(
                ("GetTaskTrackingInfo", #"{"trackingId":"s-1"}"#, #"{"state":"OPEN","plannedLocation":\#(point)}"#),
                ("GetTaskTrackingInfo", #"{"trackingId":"s-1"}"#, "{}")))
        #expect(creations.map(\.name) == ["tasks/s-1"])
        let task: JSONObject = [
            "trackingId": .string("s-1"), "type": .string("DELIVERY"), "state": .string("OPEN"),
            "taskDuration": .string("60s"),
            "plannedLocation": .object(["point": .object(["latitude": .integer(1), "longitude": .integer(2)])]),
        ]
        #expect(creations.first?.body == task)
    }

    @Test func `what is asked for again and again is there once, as its first answer shows it`() throws {
        let stops = #"{"waypoints":[{"tripId":"t-1","waypointType":"DROP_OFF_WAYPOINT_TYPE"}]}"#
        let calls: [Call] = [
            ("GetTaskTrackingInfo", #"{"trackingId":"s-1"}"#, #"{"state":"OPEN"}"#),
            ("GetVehicle", #"{"vehicleId":"v-1"}"#, stops),
            ("GetTaskTrackingInfo", #"{"trackingId":"s-1"}"#, #"{"state":"CLOSED"}"#),
            ("GetVehicle", #"{"vehicleId":"v-1"}"#, stops),
            ("GetTaskTrackingInfo", #"{"trackingId":"s-1"}"#, #"{"state":"CLOSED"}"#),
            ("CreateTask", #"{"taskId":"k-1","task":{"trackingId":"s-1"}}"#, "{}"),
            ("GetTaskTrackingInfo", #"{"trackingId":"s-1"}"#, #"{"state":"CLOSED"}"#),
        ]
        let once = try Self.recording(Array(calls.prefix(2))).presumed(for: ProviderID(checking: "acme"))
        let often = try Self.recording(calls).presumed(for: ProviderID(checking: "acme"))
        func told(_ presumed: [Int: [ReplayedCall]]) -> [Int: [String]] {
            presumed.mapValues { calls in
                calls.map { "\($0.verb) \($0.path) \($0.query) \(String(decoding: $0.body ?? Data(), as: UTF8.self))" }
            }
        }
        #expect(told(often) == told(once))
        let creations = try Self.creations(Self.recording(calls))
        #expect(creations.map(\.name) == ["vehicles/v-1", "tasks/s-1"])
        #expect(creations.last?.body["state"] == .string("OPEN"))
    }

    @Test func `a task that is known has the tracking id`() throws {
        let stop = #"{"stop":{"tasks":[{"taskId":"s-2"}]}}"#
        let creations = try Self.creations(
            Self.recording(
                ("GetTaskTrackingInfo", #"{"trackingId":"s-1"}"#, "{}"),
                ("GetTask", #"{"taskId":"k-1"}"#, #"{"trackingId":"s-1","type":"PICKUP"}"#),
                ("GetTaskTrackingInfo", #"{"trackingId":"s-2"}"#, "{}"),
                (
                    "UpdateDeliveryVehicle",
                    #"{"deliveryVehicleId":"d-1","deliveryVehicle":{"remainingVehicleJourneySegments":[\#(stop)]}}"#,
                    "{}"
                ),
                ("CreateTask", #"{"taskId":"k-3","task":{"trackingId":"s-3"}}"#, "{}"),
                ("GetTaskTrackingInfo", #"{"trackingId":"s-3"}"#, "{}"),
                ("GetTaskTrackingInfo", #"{"trackingId":"s-4"}"#, nil)
            ))
        #expect(creations.map(\.name) == ["deliveryVehicles/d-1", "tasks/k-1", "tasks/s-2"])
        #expect(creations.map { $0.body["trackingId"]?.string } == [nil, "s-1", "s-2"])
        #expect(creations.map { $0.body["type"]?.string } == [nil, "PICKUP", "DELIVERY"])
    }

    @Test func `what a refused call names need not have been there`() throws {
        let stop = #"{"stop":{"tasks":[{"taskId":"nobody"}]}}"#
        let creations = try Self.creations(
            Self.recording(
                (
                    "UpdateDeliveryVehicle",
                    #"{"deliveryVehicleId":"d-1","deliveryVehicle":{"remainingVehicleJourneySegments":[\#(stop)]}}"#,
                    nil
                ),
                ("UpdateTrip", #"{"tripId":"t-1","updateMask":"vehicleId","trip":{"vehicleId":"v-1"}}"#, nil)
            ))
        #expect(creations.isEmpty)
    }

    /// What is done first, as `verb collection/id`, with the fields that an update sets.
    private static func start(_ calls: Call...) throws -> [String] {
        let recording = try Self.recording(calls)
        return try (recording.presumed(for: ProviderID(checking: "acme"))[0] ?? []).map { call in
            let (collection, last) = (call.path[3], call.query.first?.value ?? "")
            return call.verb == "POST"
                ? "POST \(collection)/\(last)" : "\(call.verb) \(collection)/\(call.path[4]) \(last)"
        }
    }

    @Test func `trips that only a vehicle shows have their places at its stops`() throws {
        func stop(_ trip: String, _ kind: String, _ latitude: Int) -> String {
            let location = #"{"point":{"latitude":\#(latitude),"longitude":2}}"#
            return #"{"tripId":"\#(trip)","type":"WAYPOINT_TYPE_\#(kind)","location":\#(location)}"#
        }
        let stops = [
            stop("t-1", "DROP_OFF", 1), stop("t-2", "PICKUP", 2), stop("t-3", "INTERMEDIATE_DESTINATION", 3),
            stop("t-2", "DROP_OFF", 4), stop("t-3", "DROP_OFF", 5), stop("t-5", "PICKUP", 6),
        ]
        let shown = #"{"waypoints":[\#(stops.joined(separator: ","))],"currentTrips":["t-1","t-4"]}"#
        let recording = try Self.recording(
            ("GetVehicle", #"{"vehicleId":"v-1"}"#, shown), ("CreateTrip", #"{"tripId":"t-5","trip":{}}"#, "{}"),
            // The trips of a vehicle that comes later come from nowhere.
            ("CreateVehicle", #"{"vehicleId":"v-2"}"#, "{}"),
            ("GetVehicle", #"{"vehicleId":"v-2"}"#, #"{"waypoints":[\#(stop("t-6", "PICKUP", 7))]}"#))
        func place(_ latitude: Int64) -> JSONValue {
            .object(["point": .object(["latitude": .integer(latitude), "longitude": .integer(2)])])
        }
        let nowhere: JSONValue = .object(["point": .object(["latitude": .integer(0), "longitude": .integer(0)])])
        let (vehicle, shared) = (JSONValue.string("v-1"), JSONValue.string("SHARED"))
        let creations = try Self.creations(recording)
        try #require(creations.map(\.name) == ["vehicles/v-1", "trips/t-1", "trips/t-2", "trips/t-3"])
        let trips: [JSONObject] = [
            ["vehicleId": vehicle, "tripType": shared, "pickupPoint": nowhere, "dropoffPoint": place(1)],
            ["vehicleId": vehicle, "tripType": shared, "pickupPoint": place(2), "dropoffPoint": place(4)],
            [
                "vehicleId": vehicle, "tripType": .string("EXCLUSIVE"), "pickupPoint": nowhere,
                "intermediateDestinations": .array([place(3)]), "dropoffPoint": place(5),
            ],
        ]
        #expect(creations.dropFirst().map(\.body) == trips)
        let updates = try (recording.presumed(for: ProviderID(checking: "acme"))[0] ?? []).filter { $0.verb == "PUT" }
        #expect(updates.map(\.path.last) == ["t-1", "t-3"])
        #expect(
            try updates.map { try JSONValue(parsing: $0.body ?? Data()).object?["tripStatus"]?.string } == [
                "ENROUTE_TO_DROPOFF", "ENROUTE_TO_INTERMEDIATE_DESTINATION",
            ])
    }

    @Test func `a trip that a vehicle shows later is not on it before`() throws {
        let stop =
            #"{"tripId":"t-1","type":"WAYPOINT_TYPE_DROP_OFF","location":{"point":{"latitude":1,"longitude":2}}}"#
        let recording = try Self.recording(
            ("GetVehicle", #"{"vehicleId":"v-1"}"#, #"{"currentTrips":["t-1"]}"#),
            ("GetVehicle", #"{"vehicleId":"v-1"}"#, #"{"waypoints":[\#(stop)]}"#),
            ("GetVehicle", #"{"vehicleId":"v-1"}"#, #"{"waypoints":[\#(stop)]}"#))
        let presumed = try recording.presumed(for: ProviderID(checking: "acme"))
        #expect(
            presumed.mapValues { $0.map { "\($0.verb) \($0.path[3])" } } == [
                0: ["POST vehicles"], 1: ["POST trips", "PUT trips"],
            ])
    }

    @Test func `what was over when the recording begins is over before its first call`() throws {
        let closed = #"{"state":"CLOSED","taskOutcome":"FAILED","taskOutcomeTime":"2026-01-01T00:00:00Z"}"#
        let start = try Self.start(
            ("GetTrip", #"{"tripId":"t-1"}"#, #"{"tripStatus":"COMPLETE","vehicleId":"v-1"}"#),
            ("UpdateTrip", #"{"tripId":"t-2","updateMask":"tripStatus"}"#, #"{"tripStatus":"COMPLETE"}"#),
            ("GetTask", #"{"taskId":"k-1"}"#, closed),
            ("UpdateTask", #"{"taskId":"k-2","updateMask":"state"}"#, #"{"state":"CLOSED"}"#),
            ("GetTaskTrackingInfo", #"{"trackingId":"s-1"}"#, #"{"state":"CLOSED"}"#))
        #expect(
            start == [
                "POST vehicles/v-1", "POST tasks/k-1", "POST tasks/k-2", "POST tasks/s-1", "POST trips/t-1",
                "POST trips/t-2", "PATCH tasks/k-1 state,taskOutcome,taskOutcomeTime", "PATCH tasks/s-1 state",
                "PUT trips/t-1 tripStatus",
            ])
    }

    @Test func `a delivery vehicle has its stops from the start, but for tasks that come later`() throws {
        let plan =
            "remainingVehicleJourneySegments,currentRouteSegment,currentRouteSegmentEndPoint,remainingDistanceMeters"
        func vehicle(_ tasks: String...) -> String {
            let stops = tasks.map { #"{"stop":{"tasks":[{"taskId":"\#($0)"}]}}"# }.joined(separator: ",")
            return #"{"remainingVehicleJourneySegments":[\#(stops)]}"#
        }
        let deletion: Call = ("DeleteDeliveryVehicle", #"{"deliveryVehicleId":"d-1"}"#, nil)
        let shown = #"{"deliveryVehicleId":"d-1"}"#
        #expect(
            try Self.start(
                deletion, ("GetDeliveryVehicle", shown, vehicle("k-1")),
                // Closed by a call that took it from the stops.
                ("UpdateDeliveryVehicle", shown, vehicle()), ("GetTask", #"{"taskId":"k-1"}"#, #"{"state":"CLOSED"}"#))
                == ["POST deliveryVehicles/d-1", "POST tasks/k-1", "PATCH deliveryVehicles/d-1 \(plan)"])
        let recording = try Self.recording(
            deletion, ("CreateTask", #"{"taskId":"k-2","task":{}}"#, "{}"),
            ("GetDeliveryVehicle", shown, vehicle("k-1", "k-2")))
        let presumed = try recording.presumed(for: ProviderID(checking: "acme"))
        let stops = try [0, 2].map { index in
            let body = try #require(presumed[index]?.last?.body)
            return try #require(JSONValue(parsing: body).object).stopTasks
        }
        #expect(stops == [["k-1"], ["k-1", "k-2"]])
    }

    @Test func `a trip is updated whatever version its destinations have, unless that was refused`() throws {
        let trip = #""intermediateDestinationIndex":1,"intermediateDestinationsVersion":"2026-01-01T00:00:00Z""#
        let request = #"{"tripId":"t-1","updateMask":"intermediateDestinationIndex","trip":{\#(trip)}}"#
        let recording = try Self.recording(("UpdateTrip", request, "{}"), ("UpdateTrip", request, nil))
        let calls = try recording.calls.map { try #require($0.replayed(for: ProviderID(checking: "acme"))) }
        let bodies = try calls.map { try #require(JSONValue(parsing: $0.body ?? Data()).object) }
        #expect(bodies.map { $0["intermediateDestinationIndex"]?.integer } == [1, 1])
        #expect(bodies.map { $0["intermediateDestinationsVersion"] != nil } == [false, true])
    }

    @Test func `times of devices become those of the replay, in the order of the recording`() throws {
        func located(_ times: String) -> String { #"{"vehicleId":"v-1","vehicle":{"lastlocation":{\#(times)}}}"# }
        let long = #""updatetime":"2026-01-02T03:03:50Z","flpupdatetime":"2026-01-02T03:03:49Z""#
        // On its way for longer than it is to the next call, and of a clock that is ahead.
        let ahead = #""updatetime":"2026-01-02T03:04:00.5Z","rawlocationtime":"2026-01-02T03:04:09Z""#
        let recording = try Self.recording(
            ("CreateVehicle", located(long), "{}"),
            ("UpdateVehicle", located(#"\#(ahead),"supplementallocationtime":"noon""#), "{}"))
        var times = ReplayTimes()
        let locations = try zip(recording.calls, [1_900_000_000.0, 1_900_000_004.0]).map { call, now in
            times.add(call, at: Date(timeIntervalSince1970: now))
            let body = try #require(call.replayed(for: ProviderID(checking: "acme"))?.timed(by: times).body)
            return try #require(JSONValue(parsing: body).object?["lastLocation"]?.object)
        }
        let first: JSONObject = [
            "updateTime": .string("2030-03-17T17:46:30Z"), "flpUpdateTime": .string("2030-03-17T17:46:29Z"),
        ]
        let second: JSONObject = [
            "updateTime": .string("2030-03-17T17:46:42Z"), "rawLocationTime": .string("2030-03-17T17:46:44Z"),
            "supplementalLocationTime": .string("noon"),
        ]
        #expect(locations == [first, second])
    }

    @Test func `a creation that went well is filled with what the log does not tell of it`() throws {
        let handle = #"{"pointHandle":"h","terminalPointId":{}}"#
        let trip = #"{"tripId":"t-1","trip":{"pickupPoint":\#(handle),"dropoffPoint":\#(handle)}}"#
        let whole = #"{"tripType":"SHARED","pickupPoint":{"point":{"latitude":1,"longitude":2}}}"#
        let batch = #"{"requests":[{"taskId":"k-1","task":{"trackingId":"s-1"}}]}"#
        let recording = try Self.recording(
            ("CreateTrip", trip, "{}"), ("CreateTrip", trip, nil), ("CreateVehicle", #"{"vehicleId":"v-1"}"#, "{}"),
            ("CreateTrip", #"{"tripId":"t-2","trip":\#(whole)}"#, "{}"), ("BatchCreateTasks", batch, "{}"))
        let calls = try recording.calls.map { try #require($0.replayed(for: ProviderID(checking: "acme"))) }
        let bodies = try calls.map { try #require(JSONValue(parsing: $0.body ?? Data()).object) }
        #expect(calls.map(\.isFilled) == [true, false, true, false, true])
        let point: JSONValue = .object(["latitude": .integer(0), "longitude": .integer(0)])
        #expect(bodies[0]["tripType"] == .string("EXCLUSIVE"))
        #expect(["pickupPoint", "dropoffPoint"].allSatisfy { bodies[0][$0]?.object?["point"] == point })
        #expect(bodies[1]["tripType"] == nil)
        #expect(bodies[2] == Self.leastVehicle)
        #expect(try bodies[3] == JSONValue(parsing: Data(whole.utf8)).object)
        let task = bodies[4]["requests"]?.array?.first?.object?["task"]?.object
        #expect(task?["type"] == .string("DELIVERY"))
        #expect(task?["plannedLocation"]?.object?["point"] == point)
    }

    @Test(arguments: [
        (#""errorResponse":{"code":"PERMISSION_DENIED"}"#, true),
        (#""errorResponse":{"code":"UNAUTHENTICATED"}"#, true),
        (#""errorResponse":{"httpStatusCode":403}"#, true), (#""errorResponse":{"httpStatusCode":401}"#, true),
        (#""errorResponse":{"code":"NOT_FOUND"}"#, false), (#""response":{}"#, false),
    ])
    func `a call is denied where its token was not enough`(end: String, isDenied: Bool) throws {
        let payload = #"{"@type":"x.GetVehicleLog","request":{"vehicleId":"v-1"},\#(end)}"#
        let text = #"{"timestamp":"2026-01-02T03:04:05Z","jsonPayload":\#(payload)}"#
        let call = try #require(CallRecording(parsing: Data(text.utf8)).calls.first)
        #expect(call.isDenied == isDenied)
    }

    @Test func `a read asks for the same view, and not by what its reader had`() throws {
        let version = #"RouteSegmentVersion":"2026-01-01T00:00:00Z""#
        let view = #""view":"JOURNEY_SHARING_V1S","routeformattype":"LAT_LNG_LIST_TYPE""#
        let recording = try Self.recording(
            ("GetTrip", #"{"tripId":"t-1",\#(view),"current\#(version)}"#, "{}"),
            ("GetVehicle", #"{"vehicleId":"v-1","current\#(version)}"#, "{}"))
        let calls = try recording.calls.map { try #require($0.replayed(for: ProviderID(checking: "acme"))) }
        #expect(calls.map(\.verb) == ["GET", "GET"])
        #expect(
            calls.map { $0.query.map { "\($0.name)=\($0.value)" } } == [
                ["view=JOURNEY_SHARING_V1S", "routeFormatType=LAT_LNG_LIST_TYPE"], [],
            ])
    }

    @Test(arguments: [
        (
            "ListVehicles", #""pagesize":5,"onTripOnly":true,"viewport":{"low":{"latitude":1.5}},"pageToken":"x""#,
            "GET vehicles?onTripOnly=true&pageSize=5&viewport.low.latitude=1.5&viewport.low.longitude=0"
        ),
        (
            "ListDeliveryVehicles", #""viewport":{"low":{},"high":{"latitude":60,"longitude":20}}"#,
            "GET deliveryVehicles?viewport.high.latitude=60&viewport.high.longitude=20&viewport.low.latitude=0"
                + "&viewport.low.longitude=0"
        ),
        (
            "BatchCreateTasks",
            #""parent":"providers/old","header":{"regionCode":"US"},"requests":["#
                + #"{"parent":"providers/old","taskId":"k-1"},{"parent":"providers/other","header":{"regionCode":"DE"}}]"#,
            #"POST tasks:batchCreate?{"header":{"regionCode":"US"},"requests":[{\#(Self.leastTask),"taskId":"k-1"},"#
                + #"{"header":{"regionCode":"DE"},"parent":"providers/other",\#(Self.leastTask)}]}"#
        ),
        (
            "ListVehicles", #""vehicletypecategories":["AUTO","TAXI"],"minimumcapacity":{"value":2}"#,
            "GET vehicles?minimumCapacity=2&vehicleTypeCategories=AUTO&vehicleTypeCategories=TAXI"
        ),
        ("ListDeliveryVehicles", #""filter":"attributes.a = b""#, "GET deliveryVehicles?filter=attributes.a = b"),
        ("ListTasks", #""header":{"languagecode":"en"},"pagetoken":"x""#, "GET tasks?"),
        ("SearchVehicles", #""count":2,"header":{"languagecode":"en"}"#, #"POST vehicles:search?{"count":2}"#),
        ("SearchTrips", #""vehicleid":"v-1","pagetoken":"x""#, #"POST trips:search?{"vehicleId":"v-1"}"#),
        (
            "ReportBillableTrip", #""name":"providers/old/billableTrips/t-1","countrycode":"US""#,
            #"POST billableTrips/t-1:report?{"countryCode":"US"}"#
        ),
    ])
    func `lists, searches and bills are asked for again, from their first page`(
        name: String, request: String, sent: String
    ) throws {
        let call = try #require(Self.recording((name, "{\(request)}", "{}")).calls.first)
        let replayed = try #require(call.replayed(for: ProviderID(checking: "acme")))
        #expect(replayed.path.prefix(3) == ["v1", "providers", "acme"])
        #expect(replayed.isDelivery == call.method.isDelivery)
        let path = replayed.path.dropFirst(3).joined(separator: "/") + replayed.action
        let query = replayed.query.map { "\($0.name)=\($0.value)" }.sorted().joined(separator: "&")
        let body = String(decoding: replayed.body ?? Data(), as: UTF8.self)
        #expect("\(replayed.verb) \(path)?\(query)\(body)" == sent)
    }

    @Test func `a page that was refused is asked for again, and a bill of no trip is not`() throws {
        let recording = try Self.recording(
            ("ListTasks", #"{"pageToken":"x"}"#, nil), ("ReportBillableTrip", #"{"countryCode":"US"}"#, "{}"))
        let provider = try ProviderID(checking: "acme")
        let replayed = recording.calls.compactMap { $0.replayed(for: provider) }
        #expect(replayed.map(\.path.last) == ["tasks"])
        #expect(replayed.first?.query.first?.value == "x")
    }

    @Test func `a list is read on by the tokens of now, and is not compared where it cannot be`() throws {
        let recording = try Self.recording(
            ("ListTasks", "{}", #"{"nextPageToken":"a"}"#),
            ("ListTasks", #"{"pageToken":"a"}"#, #"{"nextPageToken":"b"}"#),
            ("ListTasks", #"{"pageToken":"b"}"#, "{}"), ("ListTasks", #"{"pageToken":"c"}"#, "{}"),
            ("ListTasks", #"{"pageToken":""}"#, "{}"))
        var pages = ReplayPages()
        var sent: [String?] = []
        var compared: [Bool] = []
        for (call, answer) in zip(recording.calls, [#"{"nextPageToken":"x"}"#, "{}", "{}", "{}", "{}"]) {
            let replayed = try #require(call.replayed(for: ProviderID(checking: "acme"), pages: pages))
            sent.append(replayed.query.first?.value)
            compared.append(pages.hasPage(of: call))
            pages.add(call, answer: Data(answer.utf8))
        }
        #expect(sent == [nil, "x", nil, nil, nil])
        #expect(compared == [true, true, false, false, true])
    }

    @Test func `tokens of pages are not compared`() throws {
        let call = try #require(Self.recording(("ListTasks", "{}", #"{"nextPageToken":"a"}"#)).calls.first)
        var differences = ResponseDifferences(tolerance: nil)
        try differences.compare(call, with: Data(#"{"nextPageToken":"x","totalSize":1}"#.utf8))
        #expect(differences.counts.keys.map(\.field) == ["totalSize"])
    }

    @Test(arguments: [
        ("GetVehicle", "waypointsVersion", ["currentRouteSegment"]),
        ("GetVehicle", "currentRouteSegmentVersion", ["waypoints"]),
        ("GetTrip", "currentRouteSegmentVersion", ["remainingWaypoints"]),
        ("GetTrip", "remainingWaypointsVersion", ["currentRouteSegment", "route"]),
    ])
    func `what a reader may have had already is not compared`(name: String, version: String, fields: [String]) throws {
        let id = name == "GetTrip" ? "tripId" : "vehicleId"
        let request = #"{"\#(id)":"x","\#(version)":"2026-01-01T00:00:00Z"}"#
        let call = try #require(Self.recording((name, request, "{}")).calls.first)
        let rest = name == "GetTrip" ? #""route":[{}],"remainingWaypoints":[{}]"# : #""waypoints":[{}]"#
        var differences = ResponseDifferences(tolerance: nil)
        try differences.compare(call, with: Data(#"{"currentRouteSegment":"x",\#(rest)}"#.utf8))
        #expect(differences.counts.keys.map(\.field).sorted() == fields)
    }
}
