// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Signs with the first of several signers of one account that can.
///
/// Each rung has a breaker: after three failures in a row it is passed over, for a second at first and for 30 at most,
/// and then one caller at a time looks whether it has recovered. A rung whose tokens do not say what was to be signed,
/// do not verify, or are of a withdrawn key, has failed; one that throws ``SigningError/Code/heldBack`` has not. A rung that
/// has not signed within ``patience`` has failed too, unless it is the last: whoever waits for a token waits for the next
/// rung's.
public final class SignerLadder: PayloadSigner {
    /// How long a rung may take before the next one is asked: 3 s, as the project's own apps give a fetch 8 s in all.
    public static let patience: Duration = .seconds(3)

    /// The account of every rung.
    public let account: String

    /// How one rung has fared.
    public struct RungStatistics: Hashable, Sendable {
        /// How often it was asked for a signature and answered or failed.
        public var attempts = 0
        /// How often it failed.
        public var failures = 0
        /// Whether it is passed over at present.
        public var isPassedOver = false
    }

    private struct State {
        var breakers: [CircuitBreaker]
        var statistics: [RungStatistics]
        var lastError: (any Error)?
    }

    private let rungs: [any PayloadSigner]
    private let revocations: RevocationList?
    private let state: Locked<State>
    private let time: TimeSource

    /// Makes a ladder.
    ///
    /// - Parameters:
    ///   - rungs: The signers, the preferred one first; all for the same account, as tokens name one issuer.
    ///   - revocations: The keys that are withdrawn; `nil` where none can be.
    ///   - clock: Measures how long a rung is passed over.
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidKey`` for no rungs or rungs of several accounts.
    public init(
        _ rungs: [any PayloadSigner], revocations: RevocationList? = nil,
        clock: some Clock<Duration> = ContinuousClock()
    ) throws(SigningError) {
        guard let account = rungs.first?.account, rungs.allSatisfy({ $0.account == account }) else {
            throw SigningError(
                code: .invalidKey,
                message: "A ladder needs at least one signer, all for the same account; make one ladder per account."
            )
        }
        self.account = account
        self.rungs = rungs
        self.revocations = revocations
        self.state = Locked(
            State(breakers: rungs.map { _ in CircuitBreaker() }, statistics: rungs.map { _ in RungStatistics() }))
        self.time = TimeSource(clock: clock)
    }

    /// How each rung has fared, in the ladder's order.
    public var statistics: [RungStatistics] {
        self.state.withLock { state in
            zip(state.statistics, state.breakers).map { statistics, breaker in
                var statistics = statistics
                statistics.isPassedOver = breaker.isOpen
                return statistics
            }
        }
    }

    /// Signs a payload with the first rung that can.
    ///
    /// - Parameter payload: The claims, as JSON.
    /// - Returns: The finished token.
    /// - Throws: ``SigningError`` with ``SigningError/Code/signingFailed`` and the last rung's error, or with
    ///   ``SigningError/Code/tokenTooLong``; `CancellationError`.
    public func sign(payload: [UInt8]) async throws -> SignedToken {
        var lastError: (any Error)?
        for (index, rung) in self.rungs.enumerated() {
            let now = self.time.uptime
            guard let pass = self.state.withLock({ $0.breakers[index].admit(at: now) }) else { continue }
            do {
                let signed = try await self.sign(payload, with: rung, isLast: index == self.rungs.count - 1)
                try self.checkKey(of: signed.check(against: payload))
                self.state.withLock { state in
                    state.breakers[index].succeed()
                    state.statistics[index].attempts += 1
                }
                return signed
            } catch {
                if Task.isCancelled || error is CancellationError {
                    self.state.withLock { $0.breakers[index].abandon(pass) }
                    throw CancellationError()
                }
                if let error = error as? SigningError, error.code == .tokenTooLong {
                    // The rung did its work, and no other could make the token shorter.
                    self.state.withLock { $0.breakers[index].abandon(pass) }
                    throw error
                }
                if (error as? SigningError)?.code == .heldBack {
                    self.state.withLock { $0.breakers[index].abandon(pass) }
                    lastError = error
                    continue
                }
                let now = self.time.uptime
                self.state.withLock { state in
                    state.breakers[index].fail(pass, at: now)
                    state.statistics[index].attempts += 1
                    state.statistics[index].failures += 1
                    state.lastError = error
                }
                lastError = error
            }
        }
        throw self.failure(lastError)
    }

    private func sign(
        _ payload: [UInt8], with rung: any PayloadSigner, isLast: Bool
    ) async throws -> SignedToken {
        guard !isLast else { return try await rung.sign(payload: payload) }
        let timeout = SigningError(
            code: .signingFailed, message: "A signer of \(self.account) did not sign within \(Self.patience).")
        return try await self.time.wait(atMost: Self.patience, orThrow: timeout) {
            try await rung.sign(payload: payload)
        }
    }

    private func checkKey(of parts: CompactJWS) throws(SigningError) {
        guard let keyID = parts.keyID, self.revocations?.holds(keyID: keyID) == true else { return }
        throw SigningError(
            code: .signingFailed,
            message: "The key \(keyID.shown(upTo: 64)) of \(self.account) is withdrawn; let another one sign.")
    }

    /// The error of a call that no rung could serve, with the reason of the last rung that failed.
    private func failure(_ lastError: (any Error)?) -> SigningError {
        let cause = lastError ?? self.state.withLock { $0.lastError }
        let reason = (cause as? SigningError).map { " \($0.message)" } ?? ""
        return SigningError(
            code: .signingFailed,
            message: lastError == nil
                ? "Every signer of \(self.account) failed lately and is passed over; it is tried again in 30 s at "
                    + "most.\(reason)"
                : "No signer of \(self.account) could sign.\(reason)",
            cause: cause
        )
    }
}
