// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Testing

@Suite struct PercentCodingTests {
    @Test(arguments: [
        ("", ""), ("aZ09-._~", "aZ09-._~"), ("a b", "a%20b"), ("50%+/?#&=", "50%25%2B%2F%3F%23%26%3D"), ("\n", "%0A"),
        ("Zoë", "Zo%C3%AB"), ("\u{FEFF}x", "%EF%BB%BFx"), ("\u{FFFD}", "%EF%BF%BD"), ("🚕", "%F0%9F%9A%95"),
    ])
    func `a text comes back from its escapes`(text: String, encoded: String) {
        #expect(PercentCoding.encode(text) == encoded)
        #expect(PercentCoding.decode(encoded[...]) == text)
        #expect(PercentCoding.decode(encoded[...], plusIsSpace: true) == text)
    }

    @Test func `escapes may be in lower case, and a plus is a space in queries alone`() {
        #expect(PercentCoding.decode("%c3%ab+%2b") == "ë++")
        #expect(PercentCoding.decode("%c3%ab+%2b", plusIsSpace: true) == "ë +")
    }

    @Test(arguments: [
        "%", "%2", "%zz", "a%", "%+1", "%FF", "%C3", "%C3x", "%C0%AF", "%ED%A0%80", "%F4%90%80%80", "%80", "%２0",
    ])
    func `a broken escape and what is no UTF-8 are refused`(encoded: String) {
        #expect(PercentCoding.decode(encoded[...]) == nil)
    }
}
