// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Testing

@Suite struct BearerSchemeTests {
    @Test(arguments: [
        ("Bearer a.b.c", "a.b.c"), ("bearer a", "a"), ("BEARER a", "a"), ("  Bearer   a  ", "a"), ("Bearer a b", "a b"),
        ("Bearer é", "é"),
    ])
    func `what follows the scheme is the credential, however the scheme is spelt`(header: String, credential: String) {
        #expect(BearerScheme.credential(in: header).map(String.init) == credential)
    }

    @Test(arguments: [
        "", " ", "Bearer", "Bearer ", "Bearera", "Basic a", "Bear a", "Bearers a", "Bearer\ta",
    ])
    func `another scheme, or nothing behind it, is no credential`(header: String) {
        #expect(BearerScheme.credential(in: header) == nil)
    }

    @Test func `a credential of several words is told from one`() {
        #expect(BearerScheme.isDivided("a b"))
        #expect(!BearerScheme.isDivided("a.b.c"))
    }
}
