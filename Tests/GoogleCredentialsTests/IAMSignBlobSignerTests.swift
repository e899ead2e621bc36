// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTestSupport
import Testing

@testable import GoogleCredentials

@Suite struct IAMSignBlobSignerTests {
    @Test(.timeLimit(.minutes(1)))
    func `the calls that signBlob makes for one token share their time limit`() async throws {
        let world = World()
        let credential = try await world.metadata()
        let calls = Counter()
        world.network.answer { request, index in
            guard request.url.hasSuffix(":signBlob") else { return try await Google.answer(request, index) }
            let isFirst = calls.next() == 1
            // The limit of the call.
            await world.clock.waitForSleepers(1)
            world.clock.advance(by: .seconds(10))
            if !isFirst { try await world.clock.sleep(for: .seconds(3600)) }
            return try await Google.answer(request, index)
        }
        let settings = IAMSigning(
            retries: RetryPolicy(attempts: 1, limit: .seconds(15)), hedges: false, verifiesWithPublishedKeys: false)
        let signer = try await credential.signer(
            impersonating: Google.account, method: .signBlob, settings: settings)
        let error = await #expect(throws: SigningError.self) { try await signer.sign(payload: Array("{}".utf8)) }
        let cause = error?.cause as? CredentialError
        #expect(cause?.code == .timedOut)
        #expect(cause?.message.contains("did not answer within 15.0 seconds") == true, "\(cause?.message ?? "")")
        #expect(calls.value == 2)
    }
}
