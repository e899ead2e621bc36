// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FleetSigning

@Suite struct UpstreamAddressTests {
    @Test(arguments: [
        "https://keys.example/set?key=1", "HTTPS://keys.example", "http://localhost:8080/x", "http://127.0.0.1",
        "http://127.0.0.2:1?x=1", "http://127.200.3.4/", "http://[::1]:8080/x",
        "https://keys.example/" + String(repeating: "a", count: 2027),
    ])
    func `https and this machine are acceptable`(url: String) {
        #expect(UpstreamAddress.isAcceptable(url))
    }

    @Test(arguments: [
        "http://keys.example", "http://127.0.0.1.evil.example", "http://localhost.evil.example/", "http://127.1",
        "http://0127.0.0.1", "http://[::1]evil.example", "http://[::2]", "http://localhost@evil.example",
        "https://u:p@keys.example", "https://keys.example/#x", "https://", "https:///x", "ftp://localhost",
        "keys.example", "https://keys.example/ x", "", "https://keys.example/" + String(repeating: "a", count: 2028),
    ])
    func `anything else is not`(url: String) {
        #expect(!UpstreamAddress.isAcceptable(url))
    }

    @Test(arguments: [
        ("https://u:p@keys.example:1/a@b?c=d", "https://keys.example:1/a@b"),
        ("https://a@b:p@keys.example", "https://keys.example"), ("https://keys.example?c=d@e", "https://keys.example"),
        ("https://keys.example/a", "https://keys.example/a"), ("u@keys", "u@keys"),
    ])
    func `one is told without its user and its query`(url: String, shown: String) {
        #expect(UpstreamAddress.shown(url) == shown)
    }
}
