// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Testing

@testable import FleetEngine

@Suite struct HTTPQueryTests {
    private static let fields: [String: QueryField] = [
        "vehicleId": .text, "updateMask": .mask, "onTripOnly": .flag, "tripTypes": .enumerations,
        "vehicleState": .enumeration, "requiredAttributes": .texts, "viewport": .viewport, "header": .header,
    ]

    @Test(arguments: [
        ("", "{}"),
        ("vehicleId=veh-1", #"{"vehicleId":"veh-1"}"#),
        ("vehicle_id=veh-1", #"{"vehicleId":"veh-1"}"#),
        ("vehicleId=a%20b+c%2Bd", #"{"vehicleId":"a b c+d"}"#),
        ("vehicleId=17", #"{"vehicleId":"17"}"#),
        ("vehicleId=a=b", #"{"vehicleId":"a=b"}"#),
        ("onTripOnly=true", #"{"onTripOnly":true}"#),
        ("vehicleState=ONLINE", #"{"vehicleState":"ONLINE"}"#),
        ("vehicleState=2", #"{"vehicleState":2}"#),
        ("tripTypes=SHARED&tripTypes=2", #"{"tripTypes":["SHARED",2]}"#),
        ("requiredAttributes=a:b", #"{"requiredAttributes":["a:b"]}"#),
        (
            "viewport.low.latitude=1.0&viewport.high.latitude=2&viewport.low.longitude=-3",
            #"{"viewport":{"high":{"latitude":"2"},"low":{"latitude":"1.0","longitude":"-3"}}}"#
        ),
        ("header.regionCode=US&header.sdk_type=2", #"{"header":{"regionCode":"US","sdkType":2}}"#),
        ("$prettyPrint=true&%24alt=json", "{}"),
        ("alt=json&key=k&prettyPrint=false&fields=name,vehicleState&quotaUser=u", "{}"),
    ])
    func `a query becomes fields`(query: String, json: String) throws {
        let query = try HTTPQuery(query, allowed: Self.fields)
        #expect(String(decoding: JSONValue.object(query.fields).serialized, as: UTF8.self) == json)
        #expect(!query.wantsEnumNumbers)
    }

    @Test(
        arguments: [
            ("vehicleId=veh-1", nil), ("updateMask=", []),
            ("updateMask=vehicle_state,lastLocation.heading", ["vehicle_state", "lastLocation.heading"]),
            ("update_mask=last_location.supplementalLocation", ["last_location.supplementalLocation"]),
            ("updateMask=*", ["*"]), ("updateMask=state,", ["state", ""]), ("updateMask=,state", ["", "state"]),
            ("updateMask=+state", [" state"]), ("updateMask=attributes[0],state_", ["attributes[0]", "state_"]),
            ("updateMask=%C3%BC%2Cstate", ["\u{FC}", "state"]),
        ] as [(String, [String]?)])
    func `a mask becomes paths, whatever they are`(query: String, paths: [String]?) throws {
        let query = try HTTPQuery(query, allowed: Self.fields)
        #expect(query.mask == paths)
        #expect(query.fields["updateMask"] == nil)
    }

    @Test func `a field that is named like a system parameter is bound`() throws {
        let query = try HTTPQuery("key=k&fields=f", allowed: ["key": .text])
        #expect(String(decoding: JSONValue.object(query.fields).serialized, as: UTF8.self) == #"{"key":"k"}"#)
    }

    @Test(arguments: [
        "%24alt=json%3Benum-encoding%3Dint", "$alt=json;enum-encoding=int", "alt=json;enum-encoding=int",
    ])
    func `a client may ask for the numbers of enumerations`(query: String) throws {
        #expect(try HTTPQuery(query, allowed: [:]).wantsEnumNumbers)
    }

    @Test(arguments: [
        "nonsense=1", "header.nonsense=1", "header=1", "vehicleId.x=1", "viewport.low=1", "vehicleId=a&vehicle_id=b",
        "updateMask=state&update_mask=", "updateMask.x=1",
        "onTripOnly=yes", "vehicleId=%zz", "%FF=1", "vehicle__id=1", "access_token=secret", ".=1", "=1",
    ])
    func `a query that fits no field is refused`(query: String) {
        let error = #expect(throws: EngineError.self) { try HTTPQuery(query, allowed: Self.fields) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("secret") == false)
    }
}
