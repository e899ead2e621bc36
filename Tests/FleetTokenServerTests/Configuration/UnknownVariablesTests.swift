// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenServer
import Testing

@Suite struct UnknownVariablesTests {
    private func unknown(_ names: String...) -> [String] {
        TokenServerConfiguration.unknownVariables(in: Dictionary(uniqueKeysWithValues: names.map { ($0, "x") }))
    }

    @Test func `a variable of a section that is for no setting in it is named`() {
        #expect(
            self.unknown("FLEETPASS_LISTEN_PRT", "FLEETPASS_CALLERS_OIDC_ACME_ISUER", "FLEETPASS_LISTEN_PORT_")
                == ["FLEETPASS_CALLERS_OIDC_ACME_ISUER", "FLEETPASS_LISTEN_PORT_", "FLEETPASS_LISTEN_PRT"])
    }

    @Test func `settings' variables and those of other programs are let be`() {
        let found = self.unknown(
            "FLEETPASS_LISTEN_PORT", "FLEETPASS_PROVIDER", "FLEETPASS_CALLERS_OIDC_ACME_ISSUER",
            "FLEETPASS_SIGNERS_DRIVER_WAYS", "FLEETPASS_SECRET", "FLEETPASS_PORT_8080_TCP", "LISTEN_PRT", "PATH")
        #expect(found.isEmpty)
    }
}
