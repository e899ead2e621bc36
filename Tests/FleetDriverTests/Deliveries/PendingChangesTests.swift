// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import Testing

@testable import FleetDriver

@Suite struct PendingChangesTests {
    private let refusal = DriverError(code: .stopGone, message: "It is gone.")

    @Test func `a refusal that came meanwhile says more than why a wait failed`() {
        var changes = PendingChanges<String>()
        let number = changes.add("arrived")
        changes.remove({ $0 == number }, refusal: self.refusal)
        let told = changes.endWait(number, CancellationError())
        #expect((told as? DriverError)?.code == .stopGone)
    }

    @Test func `a refusal is kept for nobody but a caller who waits for it, and told once`() {
        var changes = PendingChanges<String>()
        let (waiting, abandoned) = (changes.add("enroute"), changes.add("arrived"))
        let failure = EngineFailure(stage: .connection, code: .unavailable, message: "No route.")
        _ = changes.endWait(abandoned, failure)
        changes.remove({ $0 <= abandoned }, refusal: self.refusal)
        let told = [waiting, abandoned, waiting].map { changes.endWait($0, nil) != nil }
        #expect(told == [true, false, false])
    }
}
