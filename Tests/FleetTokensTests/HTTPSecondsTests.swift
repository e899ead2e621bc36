// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Testing

@Suite struct HTTPSecondsTests {
    @Test(arguments: [
        ("0", 0), ("30", 30), (" 30\t", 30), ("007", 7), ("99999999999999999999", Int64.max), ("", nil), (" ", nil),
        ("+5", nil), ("-5", nil), ("1.5", nil), ("3 0", nil), ("３0", nil), ("soon", nil),
    ])
    func `a number of seconds is digits alone, but for blanks round it`(text: String, seconds: Int64?) {
        #expect(HTTPSeconds.number(text) == seconds)
    }

    @Test func `of several waits the longest counts, of several ages the first`() {
        let headers = [
            (name: "Retry-After", value: "soon, 30"), (name: "retry-after", value: "60,7"),
            (name: "age", value: "120, 5"), (name: "Age", value: "7"),
        ]
        #expect(HTTPSeconds.retryAfter(in: headers) == .seconds(60))
        #expect(HTTPSeconds.age(in: headers) == .seconds(120))
        #expect(HTTPSeconds.retryAfter(in: []) == nil)
        #expect(HTTPSeconds.age(in: []) == .zero)
    }

    @Test(
        arguments: [
            ("Thu, 01 Jan 2026 00:05:00 GMT", nil, 100), ("Thu, 01 Jan 2026 00:05:00 GMT", 0, 100),
            ("Thu, 01 Jan 2026 01:00:00 GMT", nil, 0), (nil, 1_767_225_990, 10), (nil, nil, nil), ("today", nil, nil),
        ] as [(String?, Int64?, Int64?)])
    func `a date to wait for counts from the answer's own, and else from the clock that is named`(
        date: String?, now: Int64?, seconds: Int64?
    ) {
        let wait = [(name: "Retry-After", value: "Thu, 01 Jan 2026 00:06:40 GMT")]
        let headers = wait + (date.map { [(name: "Date", value: $0)] } ?? [])
        #expect(HTTPSeconds.retryAfter(in: headers, now: now) == seconds.map { .seconds($0) })
    }
}
