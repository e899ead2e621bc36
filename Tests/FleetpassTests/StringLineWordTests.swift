// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import fleetpass

@Suite struct StringLineWordTests {
    @Test(arguments: ["", "veh-3", "acme-login/driver-7", "https://x.example/?q", #"a\b"#, "[1,2]"])
    func `a word stands as it is`(value: String) {
        #expect(value.lineWord == value)
    }

    @Test(arguments: [
        ("a rule=x reason=none", #""a rule=x reason=none""#),
        ("a=b", #""a=b""#),
        (#"say "x" \ y"#, #""say \"x\" \\ y""#),
        ("it's", #""it's""#),
        ("a\nb\tc\r", #""a\nb\tc\r""#),
        ("a\u{1B}[2J", #""a\u{1B}[2J""#),
        ("a\u{7F}", #""a\u{7F}""#),
        ("andr\u{E9}", #""andr\u{00E9}""#),
        ("a\u{202E}b", #""a\u{202E}b""#),
    ])
    func `what could pass for more than one value is quoted`(value: String, written: String) {
        #expect(value.lineWord == written)
    }
}
