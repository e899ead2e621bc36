// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import Foundation
import GoogleCredentials
import Testing

@Suite struct CredentialErrorTests {
    @Test func `the message is the localized description, with the error underneath`() {
        let cause = UpstreamError(.unreachable)
        let error: any Error = CredentialError(code: .unavailable, message: "IAM is away.", cause: cause)
        #expect(error.localizedDescription == "IAM is away.")
        #expect((error as NSError).userInfo[NSUnderlyingErrorKey] as? UpstreamError == cause)
    }
}
