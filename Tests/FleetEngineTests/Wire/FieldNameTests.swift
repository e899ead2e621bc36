// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FleetEngine

@Suite struct FieldNameTests {
    @Test(arguments: [
        ("last_location", "last_location", true), ("lastLocation", "last_location", true),
        ("lastLocation.rawLocation", "last_location", true), ("last_location", "last_location.raw_location", true),
        ("lastLocation.rawLocation", "last_location.raw_location", true),
        ("lastLocation.rawLocation.latitude", "last_location.raw_location", true),
        ("last_location2", "last_location", false), ("last_location", "last_location2", false),
        ("lastlocation", "last_location", false), ("last_Location", "last_location", false),
        ("LastLocation", "last_location", false), ("last", "last_location", false),
        ("lastLocation.location", "last_location.raw_location", false), ("past_locations", "last_location", false),
        ("route", "route", true), ("routes", "route", false), ("route.", "route", true), (".route", "route", false),
        ("", "route", false),
    ])
    func `a path meets a field that it is, is a part of, or is above`(path: String, field: String, meets: Bool) {
        #expect(FieldName.meets(path, field) == meets)
        // As where both are spelled alike and compared as texts.
        let name = FieldName.snakeCase(path)
        #expect(meets == (name == field || name.hasPrefix(field + ".") || field.hasPrefix(name + ".")))
    }
}
