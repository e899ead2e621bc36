// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient
public import FleetTokens

/// A `TokenProvider` without a token server.
public final class StubTokenProvider: TokenProvider {
    private struct State: Sendable {
        var subjects: [TokenSubject] = []
        var invalidated: [FleetToken] = []
    }

    private let state = Locked(State())
    private let answer: @Sendable (TokenSubject, Int) async throws -> FleetToken

    /// Hands out what a closure says.
    ///
    /// - Parameter answer: Gets the subject and how many tokens were invalidated so far; may wait to be slow.
    public init(answer: @escaping @Sendable (TokenSubject, Int) async throws -> FleetToken) {
        self.answer = answer
    }

    /// Hands out one good token per subject, and another one after each invalidation.
    public convenience init() {
        self.init { subject, invalidations in TestTokens.token(for: subject, serial: invalidations) }
    }

    /// Whose tokens were asked for, in order.
    public var subjects: [TokenSubject] { self.state.withLock(\.subjects) }
    /// The tokens that were given back as refused, in order.
    public var invalidated: [FleetToken] { self.state.withLock(\.invalidated) }

    /// Hands out a token.
    ///
    /// - Parameter subject: Whose.
    /// - Returns: What the closure says.
    /// - Throws: What the closure throws.
    public func token(for subject: TokenSubject) async throws -> FleetToken {
        let invalidations = self.state.withLock { state in
            state.subjects.append(subject)
            return state.invalidated.count
        }
        return try await self.answer(subject, invalidations)
    }

    /// Takes note of a refused token.
    public func invalidate(_ token: FleetToken, for subject: TokenSubject) {
        self.state.withLock { $0.invalidated.append(token) }
    }
}
