// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenServer
import FleetTokens
import Foundation
import Testing

@Suite struct IssuedTokenTests {
    @Test func `a fake of the issuer can hand out tokens`() {
        let now = Date(timeIntervalSince1970: 1_767_225_600)
        let token = FleetToken("a.b.c")
        let issued = IssuedToken(
            token: token, issuedAt: now, expiresAt: now + 3300, expiresIn: .seconds(3299), refreshAfter: .seconds(1800),
            keyID: "k1")
        #expect(issued.token == token && issued.issuedAt == now && issued.expiresAt == now + 3300)
        #expect(issued.expiresIn == .seconds(3299) && issued.refreshAfter == .seconds(1800) && issued.keyID == "k1")
    }
}
