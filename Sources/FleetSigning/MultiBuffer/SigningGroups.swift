// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetTokens

/// Brings together those who want a signature at the same time, so that one call can make several.
///
/// Nobody waits for others to come. The first caller yields once, so that others that are ready can join, and then signs for
/// itself and for all that have joined, up to the size of a group; the next one signs for those that are left over. Callers
/// on other threads are led by one of their own, so that groups are signed on all processors at once.
final class SigningGroups: Sendable {
    /// Makes a signature for each digest, in their order; `nil` for one that could not be made.
    typealias Sign = @Sendable ([SHA256Digest]) -> [[UInt8]?]

    private enum Turn {
        case lead
        case signed([UInt8]?)
    }

    private struct Asker {
        let digest: SHA256Digest
        let turn: UnsafeContinuation<Turn, Never>
    }

    private struct State {
        /// Whether somebody is about to sign for who asks now.
        var isLed = false
        var askers: [Asker] = []
    }

    private let state = Locked(State())
    private let size: Int
    private let letOthersGo: @Sendable () async -> Void
    private let sign: Sign

    /// Makes groups.
    ///
    /// - Parameters:
    ///   - size: How many signatures are made at once at most.
    ///   - letOthersGo: Lets those go on that are ready.
    ///   - sign: Makes the signatures, without waiting for anything.
    init(
        upTo size: Int, letOthersGo: @escaping @Sendable () async -> Void = { await Task.yield() },
        sign: @escaping Sign
    ) {
        (self.size, self.letOthersGo, self.sign) = (size, letOthersGo, sign)
    }

    /// Signs a digest, together with those of others; `nil` where that could not be done.
    func signature(for digest: SHA256Digest) async -> [UInt8]? {
        if case .signed(let signature) = await self.turn(for: digest) { return signature }
        await self.letOthersGo()
        let (others, next) = self.state.withLock { state in
            let others = state.askers.prefix(self.size - 1)
            state.askers.removeFirst(others.count)
            let next = state.askers.isEmpty ? nil : state.askers.removeFirst()
            state.isLed = next != nil
            return (others, next)
        }
        next?.turn.resume(returning: .lead)
        let signatures = self.sign([digest] + others.map(\.digest))
        for (asker, signature) in zip(others, signatures.dropFirst()) {
            asker.turn.resume(returning: .signed(signature))
        }
        return signatures.first ?? nil
    }

    private func turn(for digest: SHA256Digest) async -> Turn {
        await withUnsafeContinuation { turn in
            let leads = self.state.withLock { state in
                guard state.isLed else {
                    state.isLed = true
                    return true
                }
                state.askers.append(Asker(digest: digest, turn: turn))
                return false
            }
            if leads { turn.resume(returning: .lead) }
        }
    }
}
