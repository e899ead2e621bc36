// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import Testing

@Suite struct FleetEngineCallErrorTests {
    @Test func `a fake of the client can fail as the client does`() {
        let cause = TokenRefusal.missing
        let error = FleetEngineCallError(code: .noToken, message: "There is no token.", cause: cause)
        #expect(error.code == .noToken && error.message == "There is no token.")
        #expect(error.cause as? TokenRefusal == cause)
        #expect((error as any Error).localizedDescription == "There is no token.")
    }
}
