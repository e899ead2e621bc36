// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Signs with the first of several signers of one account that can.
///
/// Each rung has a breaker: after three failures in a row it is passed over, for a second at first and for 30 at most,
/// and then one caller at a time looks whether it has recovered. A rung whose tokens do not say what was to be signed,
/// or do not verify, has failed.
public final class SignerLadder: PayloadSigner {
    /// The account of every rung.
    public let account: String

    private let rungs: [any PayloadSigner]
    private let breakers: Locked<[CircuitBreaker]>
    private let time: TimeSource

    /// Makes a ladder.
    ///
    /// - Parameters:
    ///   - rungs: The signers, the preferred one first; all for the same account, as tokens name one issuer.
    ///   - clock: Measures how long a rung is passed over.
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidKey`` for no rungs or rungs of several accounts.
    public init(
        _ rungs: [any PayloadSigner], clock: some Clock<Duration> = ContinuousClock()
    ) throws(SigningError) {
        guard let account = rungs.first?.account, rungs.allSatisfy({ $0.account == account }) else {
            throw SigningError(
                code: .invalidKey,
                message: "A ladder needs at least one signer, all for the same account; make one ladder per account."
            )
        }
        self.account = account
        self.rungs = rungs
        self.breakers = Locked(rungs.map { _ in CircuitBreaker() })
        self.time = TimeSource(clock: clock)
    }

    /// Which rungs are passed over at present, in the ladder's order.
    public var passedOver: [Bool] { self.breakers.withLock { $0.map(\.isOpen) } }

    /// Signs a payload with the first rung that can.
    ///
    /// - Parameter payload: The claims, as JSON.
    /// - Returns: The finished token.
    /// - Throws: ``SigningError`` with ``SigningError/Code/signingFailed`` and the last rung's error;
    ///   `CancellationError`.
    public func sign(payload: [UInt8]) async throws -> SignedToken {
        var lastError: (any Error)?
        for (index, rung) in self.rungs.enumerated() {
            let now = self.time.uptime
            guard self.breakers.withLock({ $0[index].admit(at: now) }) else { continue }
            do {
                let signed = try await rung.sign(payload: payload)
                try signed.check(against: payload)
                self.breakers.withLock { $0[index].succeed() }
                return signed
            } catch {
                if Task.isCancelled || error is CancellationError {
                    self.breakers.withLock { $0[index].abandon() }
                    throw CancellationError()
                }
                let now = self.time.uptime
                self.breakers.withLock { $0[index].fail(at: now) }
                lastError = error
            }
        }
        throw SigningError(
            code: .signingFailed,
            message: lastError == nil
                ? "Every signer of \(self.account) failed lately and is passed over; it is tried again in 30 s at most."
                : "No signer of \(self.account) could sign.",
            cause: lastError
        )
    }
}
