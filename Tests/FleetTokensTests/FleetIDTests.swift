// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

@Suite struct FleetIDTests {
    @Test(arguments: [
        "veh-3", "a", String(repeating: "x", count: 64), "Fahrzeug Ä", "車両-12", "a*b", "...", "vehicle@depot+1",
    ])
    func `ids that the service takes are kept as they are`(text: String) throws {
        #expect(try VehicleID(checking: text).value == text)
    }

    @Test(arguments: [
        ("", "is empty"), ("*", "wildcard"), (".", "relative"), ("..", "relative"), ("a/b", "\"/\""), ("a:b", "\":\""),
        ("a?b", "\"?\""), ("a,b", "\",\""), ("a#b", "\"#\""), ("a\nb", "U+A"), ("a\u{85}b", "U+85"),
        ("a\u{7F}b", "U+7F"), ("a\u{9F}b", "U+9F"), ("a\u{1F}b", "U+1F"),
        (String(repeating: "x", count: 65), "longer than 64"),
        (String(repeating: "é", count: 100_000), "longer than 64"),
    ])
    func `ids that the service refuses are refused with the reason`(text: String, reason: String) {
        let error = #expect(throws: TokenError.self) { try TripID(checking: text) }
        #expect(error?.code == .invalidIdentifier)
        #expect(error?.message.contains(reason) == true)
        #expect(error?.message.contains("trip id") == true)
        #expect((error as (any Error)?)?.localizedDescription == error?.message)
    }

    @Test func `two spellings of one text are one id`() throws {
        let composed = try TaskID(checking: "caf\u{E9}")
        let decomposed = try TaskID(checking: "cafe\u{301}")
        #expect(composed == decomposed)
        #expect(Array(decomposed.value.unicodeScalars) == Array("caf\u{E9}".unicodeScalars))
    }

    @Test func `length is counted in scalars after normalisation`() throws {
        // 64 composed letters arrive as 128 scalars.
        let id = try VehicleID(checking: String(repeating: "e\u{301}", count: 64))
        #expect(id.value.unicodeScalars.count == 64)
    }

    @Test(arguments: [33, 40, 64, 128])
    func `marks that are too many to normalise are refused, and not left out`(count: Int) {
        let marks = String(repeating: "\u{344}", count: count)
        for text in [marks, "a" + marks, "\u{1D15E}" + marks, marks + "q"] {
            let error = #expect(throws: TokenError.self) { try VehicleID(checking: text) }
            #expect(error?.code == .invalidIdentifier)
        }
    }

    @Test func `as many marks as can be normalised are taken`() throws {
        // A mark of two: alone, 32 of them are as long as an id may be.
        for (text, scalars) in [
            (String(repeating: "\u{344}", count: 32), 64), ("a" + String(repeating: "\u{344}", count: 31), 62),
            (String(repeating: "\u{301}", count: 60), 60), ("\u{F40}\u{F7D}\u{F75}", 4),
        ] {
            #expect(try VehicleID(checking: text).value.unicodeScalars.count == scalars)
        }
    }

    @Test func `no JSON text decodes to a wildcard`() {
        #expect(throws: TokenError.self) { try JSONDecoder().decode(VehicleID.self, from: Data(#""*""#.utf8)) }
        #expect(throws: TokenError.self) { try JSONDecoder().decode(VehicleID.self, from: Data(#""\u002a""#.utf8)) }
    }
}

@Suite struct ResourceNameTests {
    @Test(arguments: [
        "providers/acme", "providers/acme/vehicles/v", "providers/acme/trips/t", "providers/acme/billableTrips/t",
        "providers/acme/deliveryVehicles/d", "providers/acme/tasks/k", "providers/acme/taskTrackingInfo/s",
    ])
    func `a name reads and writes the same`(name: String) throws {
        #expect(try ResourceName(checking: name).description == name)
    }

    @Test func `an id may begin with an accent, which is one character together with the slash before it`() throws {
        let name = "providers/\u{301}p/trips/\u{301}"
        let resource = try ResourceName(checking: name)
        #expect(try resource == .trip(ProviderID(checking: "\u{301}p"), TripID(checking: "\u{301}")))
        #expect(resource.segments == ["providers", "\u{301}p", "trips", "\u{301}"])
    }

    @Test(arguments: [
        "", "providers", "providers/", "provider/acme/trips/t", "providers/acme/trips", "providers/acme/trips/",
        "providers/acme/trips/*", "providers/acme/cars/c", "providers/acme/trips/t/x", "/providers/acme/trips/t",
    ])
    func `a wrong name is an error`(name: String) {
        #expect(throws: TokenError.self) { try ResourceName(checking: name) }
    }
}
