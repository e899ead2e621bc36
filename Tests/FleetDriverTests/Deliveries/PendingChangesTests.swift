// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import Testing

@testable import FleetDriver

@Suite struct PendingChangesTests {
    private let refusal = DriverError(code: .stopGone, message: "It is gone.")
    private let failure = EngineFailure(stage: .connection, code: .unavailable, message: "No route.")

    @Test func `a refusal that came meanwhile says more than why a wait failed`() {
        var changes = PendingChanges<String>()
        let number = changes.add("arrived")
        changes.remove({ $0 == number }, refusal: self.refusal)
        let told = changes.endWait(number, CancellationError())
        #expect((told as? DriverError)?.code == .stopGone)
    }

    @Test(arguments: [false, true]) func `a refusal that nobody waits for is said to be one`(isRefused: Bool) {
        var changes = PendingChanges<String>()
        let abandoned = changes.add("enroute")
        _ = changes.endWait(abandoned, self.failure)
        let waiting = changes.add("arrived")
        let refusal = isRefused ? self.refusal : nil
        #expect(changes.remove({ $0 == waiting }, refusal: refusal) == false)
        #expect(changes.remove({ $0 == abandoned }, refusal: refusal) == isRefused)
    }

    @Test func `a refusal is kept for nobody but a caller who waits for it, and told once`() {
        var changes = PendingChanges<String>()
        let (waiting, abandoned) = (changes.add("enroute"), changes.add("arrived"))
        _ = changes.endWait(abandoned, self.failure)
        changes.remove({ $0 <= abandoned }, refusal: self.refusal)
        let told = [waiting, abandoned, waiting].map { changes.endWait($0, nil) != nil }
        #expect(told == [true, false, false])
    }
}
