// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

/// The defects of the published sample apps' token code, in the order of the page `docs/fetcher-defects.md`.
@Suite(.timeLimit(.minutes(10))) struct SampleAppDefectTests {
    @Test func `sample app 1: a date is not added to now`() async throws {
        try await Defect.dateAddedToNow.prove()
    }
    @Test func `sample app 2: a life in milliseconds does not last a thousand times as long`() async throws {
        try await Defect.millisecondsFromNow.prove()
    }
    @Test func `sample app 3: a new vehicle does not get the answer on its way for the old one`() async throws {
        try await Defect.sharedFlight.prove()
    }
    @Test func `sample app 4: tokens are cached, fetched within a limit and never logged`() async throws {
        try await Defect.secretInLog.prove()
    }
    @Test func `sample app 5: a network that forgets a request holds nobody up`() async throws {
        try await Defect.noLimit.prove()
    }
    @Test func `sample app 6: a broken connection is reported as one`() async throws {
        try await Defect.causeLost.prove()
    }
    @Test func `sample app 7: an id arrives as it is, whatever characters it holds`() async throws {
        try await Defect.rawID.prove()
    }
}
