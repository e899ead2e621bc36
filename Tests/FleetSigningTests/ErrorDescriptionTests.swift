// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import Foundation
import Testing

@Suite struct ErrorDescriptionTests {
    @Test func `the message is the localized description, with the error underneath`() {
        let cause = UpstreamError(.timedOut)
        let error: any Error = SigningError(code: .signingFailed, message: "The signer failed.", cause: cause)
        #expect(error.localizedDescription == "The signer failed.")
        #expect((error as NSError).userInfo[NSUnderlyingErrorKey] as? UpstreamError == cause)
    }

    @Test func `why a service gave no answer is the localized description`() {
        let error: any Error = UpstreamError(.unreachable, detail: "its name is not known")
        #expect(error.localizedDescription == "The other service could not be reached: its name is not known.")
    }
}
