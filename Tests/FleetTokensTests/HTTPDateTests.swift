// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

@Suite struct HTTPDateTests {
    @Test func `the standard's own example is read`() {
        #expect(HTTPDate.unixSeconds("Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
    }

    @Test func `every day of four centuries is written and read back, and agrees with Foundation`() {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        for day in stride(from: Int64(0), to: 400 * 366, by: 1) {
            let seconds = day * 86_400 + day % 86_400
            let text = HTTPDate.text(unixSeconds: seconds)
            #expect(HTTPDate.unixSeconds(text) == seconds)
            if day % 97 == 0 {
                #expect(formatter.string(from: Date(timeIntervalSince1970: TimeInterval(seconds))) == text)
            }
        }
    }

    @Test(arguments: [
        "", "Sun", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 99999999999999999999 08:49:37 GMT", "Sun, 06 Nov 1994 8:+9:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT",
    ]) func `anything else is not a date`(text: String) {
        #expect(HTTPDate.unixSeconds(text) == nil)
    }
}
