// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FleetPostgreSQL

@Suite struct PostgreSQLAddressTests {
    @Test(arguments: [
        ("postgresql://u@a/d", 5, "5"), ("postgresql://u@a,b/d", 5, "2"), ("postgresql://u@a,b/d", 9, "4"),
        ("postgresql://u@a,b,c,d/d", 5, "2"), ("host=a,b hostaddr=10.0.0.1,10.0.0.2", 8, "4"),
        ("postgresql://u@a,b/d?connect_timeout=7", 5, "7"), ("postgresql://u@a/d?connect_timeout=0", 5, "5"),
        ("postgresql://u@a/d?connect_timeout=-1", 5, "5"), ("postgresql://u@a/d?connect_timeout=soon", 5, "soon"),
    ])
    func `each host has what the address says, or its share of the limit`(
        text: String, limit: Int, seconds: String
    ) throws {
        #expect(try PostgreSQLAddress(text).connectTimeout(sharing: .seconds(limit)) == seconds)
    }
}
