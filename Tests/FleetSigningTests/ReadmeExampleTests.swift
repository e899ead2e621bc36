// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import Testing

@Suite struct ReadmeExampleTests {
    @Test func `the backend's example mints what a verifier takes for that vehicle`() async throws {
        let key = try ServiceAccountKey(
            generatingFor: "driver@demo-fleet.iam.gserviceaccount.com", projectID: "demo-fleet")
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try key.keyFile.write(to: file)

        let token = try await DriverTokens(keyFile: file).token(forVehicle: "veh-3")

        let verifier = TokenVerifier(keys: TrustedKeySet([try key.publicKey(role: .driver)]))
        let examined = try verifier.verify(token, at: Date())
        #expect(examined.claims.authorization?.vehicle == .only(try VehicleID(checking: "veh-3")))
    }
}
