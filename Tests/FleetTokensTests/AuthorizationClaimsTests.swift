// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Testing

@Suite struct AuthorizationClaimsTests {
    /// Every token type with the claims object and role of its reference.
    static let types: [(TokenType, Role, String)] = {
        guard let trip = TripID("trip-7"), let vehicle = VehicleID("veh-3"), let tracking = TrackingID("shp-881"),
            let task = TaskID("task-21"), let van = DeliveryVehicleID("dv-12"),
            let custom = try? AuthorizationClaims(vehicle: .only(vehicle), additional: ["depot": "north"])
        else { return [] }
        return [
            (.consumer(trip), .consumer, #"{"tripid":"trip-7"}"#),
            (.driver(vehicle), .driver, #"{"vehicleid":"veh-3"}"#),
            (.server, .server, #"{"tripid":"*","vehicleid":"*"}"#),
            (
                .fleetReader, .fleetReader,
                #"{"deliveryvehicleid":"*","taskid":"*","trackingid":"*","tripid":"*","vehicleid":"*"}"#
            ),
            (.deliveryConsumer(tracking), .deliveryConsumer, #"{"trackingid":"shp-881"}"#),
            (.deliveryConsumerTask(task), .deliveryConsumer, #"{"taskid":"task-21"}"#),
            (.deliveryUntrustedDriver(van), .deliveryUntrustedDriver, #"{"deliveryvehicleid":"dv-12"}"#),
            (.deliveryTrustedDriver(van, task: nil), .deliveryTrustedDriver, #"{"deliveryvehicleid":"dv-12"}"#),
            (
                .deliveryTrustedDriver(van, task: task), .deliveryTrustedDriver,
                #"{"deliveryvehicleid":"dv-12","taskid":"task-21"}"#
            ),
            (
                .deliveryFleetReader, .deliveryFleetReader,
                #"{"deliveryvehicleid":"*","taskid":"*","trackingid":"*"}"#
            ),
            (.deliveryServer, .deliveryServer, #"{"deliveryvehicleid":"*","taskid":"*","trackingid":"*"}"#),
            (.batchTaskCreation(.any), .deliveryServer, #"{"taskids":["*"]}"#),
            (.batchTaskCreation(.only([task])), .deliveryServer, #"{"taskids":["task-21"]}"#),
            (.custom(.driver, custom), .driver, #"{"depot":"north","vehicleid":"veh-3"}"#),
        ]
    }()

    @Test func `every token type has its claims and role`() throws {
        #expect(Self.types.count == 14)
        for (type, role, json) in Self.types {
            #expect(type.role == role)
            #expect(try type.claims.summary == json)
        }
    }

    @Test func `claims survive writing and reading`() throws {
        for (type, _, json) in Self.types {
            let object = try #require(try JSONValue(parsing: json.utf8).object)
            #expect(try AuthorizationClaims(json: object) == type.claims)
        }
    }

    @Test(arguments: [
        #"{"taskids":["a"],"deliveryvehicleid":"d"}"#, #"{"taskids":["a"],"trackingid":"s"}"#,
        #"{"taskids":["a"],"vehicleid":"v"}"#, #"{"taskids":["a"],"tripid":"t"}"#, #"{"taskids":["a"],"taskid":"a"}"#,
        #"{"taskids":[]}"#, #"{"taskids":["*","a"]}"#, #"{"taskids":"a"}"#,
        #"{"taskids":[1]}"#, #"{"trackingid":"s","taskid":"a"}"#, #"{"trackingid":"s","deliveryvehicleid":"d"}"#,
        #"{"trackingid":"*","taskid":"a"}"#, #"{"trackingid":"*","deliveryvehicleid":"d"}"#, #"{"vehicleid":""}"#,
        #"{"vehicleid":7}"#, #"{"vehicleid":null}"#, #"{"vehicleid":["*"]}"#, #"{"tripid":"a/b"}"#,
    ])
    func `combinations and values that the guide forbids are refused`(json: String) throws {
        let object = try #require(try JSONValue(parsing: json.utf8).object)
        #expect(throws: TokenError.self) { try AuthorizationClaims(json: object) }
    }

    @Test(arguments: [#"["*","a"]"#, #"["a","*"]"#, #"["*","*"]"#])
    func `a wildcard among other tasks is told by its rule`(list: String) throws {
        let object = try #require(try JSONValue(parsing: #"{"taskids":\#(list)}"#.utf8).object)
        let error = #expect(throws: TokenError.self) { try AuthorizationClaims(json: object) }
        #expect(error?.code == .invalidClaims)
        #expect(
            error?.message
                == #"The claim taskids holds "*" beside others; the wildcard must be its only element."#)
    }

    @Test func `of an unknown claim that is no string the name is kept, and nothing is claimed by it`() throws {
        let object = try #require(try JSONValue(parsing: #"{"taskIds":["a"],"Vehicle":{}}"#.utf8).object)
        let claims = try AuthorizationClaims(json: object)
        #expect(claims.ignoredNames == ["Vehicle", "taskIds"])
        #expect(claims.isEmpty && claims.summary == "{}")
    }

    @Test func `every unknown claim is named as ignored, whatever its value is`() throws {
        let json = #"{"vehicleid":"v","vehicleId":"v","depot":"north","TripID":1}"#
        let claims = try AuthorizationClaims(json: try #require(try JSONValue(parsing: json.utf8).object))
        #expect(claims.ignoredNames == ["TripID", "depot", "vehicleId"])
    }

    @Test(arguments: [#"{"x":"y"}"#, #"{"tripId":"t"}"#, #"{"depot":"north","tripId":1}"#, "{}"])
    func `claims that are ignored are as good as none`(json: String) throws {
        let object = try #require(try JSONValue(parsing: json.utf8).object)
        let claims = try AuthorizationClaims(json: object)
        #expect(claims.isEmpty)
        #expect(claims.ignoredNames == object.keys.sorted())
    }

    @Test func `an additional claim cannot pose as a known one`() {
        #expect(throws: TokenError.self) { try AuthorizationClaims(additional: ["vehicleid": "*"]) }
    }
}
