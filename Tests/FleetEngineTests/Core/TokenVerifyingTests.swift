// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

@testable import FleetEngine

@Suite struct TokenVerifyingTests {
    /// Refuses every token for one reason until it is asked for the key.
    private final class LearningVerifier: TokenVerifying {
        private let reason: TokenRefusal.Reason
        private let questions = Locked(0)

        init(_ reason: TokenRefusal.Reason) { self.reason = reason }

        var asked: Int { self.questions.withLock { $0 } }

        func verify(_ token: String, at now: Date) throws(TokenRefusal) -> ExaminedToken {
            guard self.asked > 0 else { throw .unauthenticated(self.reason, "It is refused.", fix: "Ask.") }
            return try TextVerifier().verify(token, at: now)
        }

        func learnKey(of token: String) async -> Bool {
            self.questions.withLock { $0 += 1 }
            return true
        }
    }

    @Test func `a key is asked for where none is known, or another account's alone, and for nothing else`() async {
        let reasons: [(TokenRefusal.Reason, Bool)] = [
            (.keyUnknown, true), (.issuerMismatch, true), (.signatureInvalid, false), (.tokenExpired, false),
        ]
        for (reason, isKeyLacking) in reasons {
            let verifier = LearningVerifier(reason)
            let engine = Engine(store: MemoryStore(), verifier: verifier)
            #expect(await engine.isGood(serverToken) == isKeyLacking)
            #expect(verifier.asked == (isKeyLacking ? 1 : 0))
        }
    }
}
