// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

@Suite struct RFC3339Tests {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2025-02-05T17:02:32.543Z", 1_738_774_952.543),
            ("2025-02-05t17:02:32.543000000z", 1_738_774_952.543), ("2025-02-05T18:02:32+01:00", 1_738_774_952),
            ("2025-02-05T12:32:32-04:30", 1_738_774_952), ("2025-02-05T17:02:32", 1_738_774_952),
            ("2024-02-29T23:59:59Z", 1_709_251_199), ("2000-02-29T00:00:00Z", 951_782_400),
            ("1969-12-31T23:59:59.5Z", -0.5), ("0001-01-01T00:00:00Z", -62_135_596_800),
            ("9999-12-31T23:59:59Z", 253_402_300_799), ("2016-12-31T23:59:60Z", 1_483_228_800),
        ]
    )
    func `a time is read`(text: String, seconds: Double) {
        #expect(RFC3339.date(text)?.timeIntervalSince1970 == seconds)
    }

    @Test(
        arguments: [
            "", "2025", "2025-02-05", "2025-02-05T17:02", "2025-02-05T17:02:32.Z", "2025-13-05T17:02:32Z",
            "2025-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2025-04-31T00:00:00Z", "2025-02-05T24:00:00Z",
            "2025-02-05T17:60:32Z", "2025-02-05T17:02:61Z", "2025-02-05 17:02:32Z", "2025-02-05T17:02:32+0100",
            "2025-02-05T17:02:32Zz", "2025-02-05T17:02:32 Z", "+025-02-05T17:02:32Z", "２025-02-05T17:02:32Z",
            "2025-02-05T17:02:32+24:00", "0000-01-01T00:00:00Z",
        ]
    )
    func `what is no time is refused`(text: String) {
        #expect(RFC3339.date(text) == nil)
    }

    @Test(
        arguments: [
            ("2025-02-05T17:02:32Z", 1_738_774_952), ("2025-02-05t17:02:32.5z", 1_738_774_952.5),
            ("2025-02-05T18:02:32+01:00", 1_738_774_952), ("2025-02-05T17:02:32", nil), ("2025-02-05T17:02:32.5", nil),
            ("2016-12-31T23:59:60Z", nil), ("2025-02-05T17:02:32+", nil), ("2025-02-05T17:02:32+01:00Z", nil),
        ] as [(String, Double?)])
    func `a strict reader asks for a zone and knows no leap second`(text: String, seconds: Double?) {
        #expect(RFC3339.date(text, isStrict: true)?.timeIntervalSince1970 == seconds)
    }

    @Test func `days of 2500 years come back from their text`() {
        for day in stride(from: -719_162, through: 200_000, by: 13) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400 + 45_296.789)
            let back = RFC3339.date(RFC3339.text(date))
            guard let back, abs(back.timeIntervalSince(date)) < 0.001 else {
                Issue.record("\(RFC3339.text(date)) does not come back.")
                return
            }
        }
    }

    @Test(
        arguments: [
            (0.0, "1970-01-01T00:00:00.000Z"), (-0.001, "1969-12-31T23:59:59.999Z"),
            (1_738_774_952.9996, "2025-02-05T17:02:33.000Z"), (1e300, "9999-12-31T23:59:59.999Z"),
            (-1e300, "0001-01-01T00:00:00.000Z"), (.nan, "0001-01-01T00:00:00.000Z"),
        ]
    )
    func `a time is written in UTC with milliseconds`(seconds: Double, text: String) {
        #expect(RFC3339.text(Date(timeIntervalSince1970: seconds)) == text)
    }
}
