// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Who waits for the end of a fetch, and for what.
package struct TokenWaiters: Sendable {
    /// Who takes any token that is good for a call made now.
    package var callers: Set<TokenCacheMachine.CallerID> = []
    /// Who wants the token in hand to live so long.
    package var lives: [TokenCacheMachine.CallerID: Duration] = [:]

    package var isEmpty: Bool { self.callers.isEmpty && self.lives.isEmpty }

    mutating func formUnion(_ others: Self) {
        self.callers.formUnion(others.callers)
        self.lives.merge(others.lives) { _, other in other }
    }

    /// Says whether the caller was there.
    mutating func remove(_ caller: TokenCacheMachine.CallerID) -> Bool {
        self.callers.remove(caller) != nil || self.lives.removeValue(forKey: caller) != nil
    }

    mutating func takeCallers() -> Set<TokenCacheMachine.CallerID> {
        defer { self.callers = [] }
        return self.callers
    }

    /// Takes out those whose wanted life passes a test.
    mutating func takeLives(where isMeant: (Duration) -> Bool) -> [TokenCacheMachine.CallerID: Duration] {
        let taken = self.lives.filter { isMeant($0.value) }
        for caller in taken.keys { self.lives[caller] = nil }
        return taken
    }
}
