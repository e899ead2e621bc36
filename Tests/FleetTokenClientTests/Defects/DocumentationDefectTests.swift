// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

/// The defects of the documentation's fetchers, in the order of the page `docs/fetcher-defects.md`.
///
/// Each test runs one check three times: on our provider and on a right fetcher, where it finds nothing, and on that
/// fetcher with the defect switched on, where it must.
@Suite(.timeLimit(.minutes(10))) struct DocumentationDefectTests {
    @Test func `row 1: an expiry counts from where its contract says`() async throws {
        try await Defect.expiryReference.prove()
    }
    @Test func `row 2: milliseconds are not taken for seconds`() async throws {
        try await Defect.expiryUnit.prove()
    }
    @Test func `row 3: the request says whose token is wanted`() async throws {
        try await Defect.unscopedRequest.prove()
    }
    @Test func `row 4: an address that is none is refused before anything is fetched`() async throws {
        try await Defect.uncheckedAddress.prove()
    }
    @Test func `row 5: a refusal is reported with its status`() async throws {
        try await Defect.statusUnread.prove()
    }
    @Test func `row 6: a token with less than five minutes left is replaced first`() async throws {
        try await Defect.margin.prove()
    }
    @Test func `row 7: the phone's date decides nothing`() async throws {
        try await Defect.phoneDate.prove()
    }
    @Test func `row 8: a token and its vehicle are never torn apart`() async throws {
        try await Defect.noLock.prove()
    }
    @Test func `row 9: calls at once share one request`() async throws {
        try await Defect.parallelFetches.prove()
    }
    @Test func `row 10: the completion never runs inside the call`() async throws {
        try await Defect.synchronousCompletion.prove()
    }
    @Test func `row 11: a call ends even if the fetcher is released meanwhile`() async throws {
        try await Defect.releasedFetcher.prove()
    }
    @Test func `row 12: nothing of a released fetcher is touched`() async throws {
        try await Defect.releasedVariables.prove()
    }
    @Test func `row 13: a call without a vehicle ends with an error`() async throws {
        try await Defect.noContext.prove()
    }
    @Test func `row 14: a call without a trip neither empties the cache nor fetches`() async throws {
        try await Defect.noTrip.prove()
    }
    @Test func `row 15: an empty id is an error and nothing is asked for`() async throws {
        try await Defect.emptyID.prove()
    }
    @Test func `row 16: a body that is not one object is an error`() async throws {
        try await Defect.bodyUnchecked.prove()
    }
    @Test func `row 17: an answer without a token in it is an error`() async throws {
        try await Defect.tokenUnchecked.prove()
    }
    @Test func `row 18: an answer without an expiry does not cost a request per report in silence`() async throws {
        try await Defect.expiryMissing.prove()
    }
    @Test func `row 19: an answer for one vehicle is never kept for another`() async throws {
        try await Defect.lateAnswerKept.prove()
    }
    @Test func `row 20: a late answer for one vehicle costs another nothing`() async throws {
        try await Defect.lateAnswerEvicts.prove()
    }
    @Test func `row 21: one session serves every fetch`() async throws {
        try await Defect.sessions.prove()
    }
    @Test func `row 22: at the moment of its end a token is over, and each call ends in a task`() async throws {
        try await Defect.endOfLife.prove()
    }
    @Test func `row 23: a silent server delays no call beyond the reporting interval`() async throws {
        try await Defect.stuckServer.prove()
    }
    @Test func `row 24: a failing server is left in peace`() async throws {
        try await Defect.noBackOff.prove()
    }
    @Test func `row 25: a refused token and one that is over by its own word are not handed out`() async throws {
        try await Defect.refusedTokenKept.prove()
    }
    @Test func `row 26: the server learns who asks, over TLS, and nothing on the way may answer for it`() async throws {
        try await Defect.openServer.prove()
    }
    @Test func `row 27: a task narrows the token`() async throws {
        try await Defect.lostTask.prove()
    }
    @Test func `row 28: an expiry written as text is understood`() async throws {
        try await Defect.expiryAsText.prove()
    }
}
