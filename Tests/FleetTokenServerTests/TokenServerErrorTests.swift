// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenServer
import Foundation
import Testing

@Suite struct TokenServerErrorTests {
    @Test func `the message is the localized description`() {
        let error: any Error = TokenServerError(code: .roleNotServed, message: "No signer for drivers.")
        #expect(error.localizedDescription == "No signer for drivers.")
    }
}
