// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens

/// The client's token cache without its surroundings: events go in, actions come out.
///
/// It reads no clock, starts nothing, and every random choice follows from its seed. Its promises hold for any order
/// of events, as long as the instants do not go back:
/// one fetch per subject; every call ends once; a valid token is never hidden by an error or a slow server, nor replaced by
/// one that ends sooner; nothing expired is handed out; no state that a good answer does not lead out of.
package struct TokenCacheMachine: Sendable {
    /// A token that reaches its floor within this time of its arrival counts as too short to fetch again at once.
    static let shortWindow = Duration.seconds(60)
    /// The part of the refresh window over which refreshes spread; the rest is kept for fetching without a caller waiting.
    static let spread = 0.8
    /// The engine refuses tokens that end further ahead.
    static let longestLife = Duration.seconds(3600)
    /// How long the life of the last token from the server is taken for what the server gives.
    static let lifeMemory = Duration.seconds(300)

    let configuration: TokenCacheConfiguration
    /// The source of every random choice; settable, so that a proof can try each choice at each step.
    package var random: SplitMix64
    /// What is known about each subject.
    package internal(set) var entries: [TokenSubject: TokenCacheEntry] = [:]
    /// Whether the app's session is over.
    var isClosed = false
    var uses: UInt64 = 0
    var flights: UInt64 = 0

    /// Starts with nothing cached.
    ///
    /// - Parameters:
    ///   - configuration: The rules; validated by the caller.
    ///   - seed: What every random choice follows from.
    package init(configuration: TokenCacheConfiguration, seed: UInt64) {
        self.configuration = configuration
        self.random = SplitMix64(seed: seed)
    }

    /// How many subjects are remembered.
    package var count: Int { self.entries.count }

    /// Where a subject stands.
    package func phase(of subject: TokenSubject, at now: MonotonicInstant) -> Phase {
        self.entries[subject]?.phase(at: now) ?? .none
    }

    /// The token of a fresh subject, or `nil` when ``handle(_:at:)`` must decide; the path that is taken nearly always.
    package mutating func freshToken(for subject: TokenSubject, at now: MonotonicInstant) -> FleetToken? {
        guard let index = self.entries.index(forKey: subject), let held = self.entries.values[index].held,
            now < held.refreshAt
        else { return nil }
        self.uses += 1
        self.entries.values[index].lastUse = self.uses
        return held.grant.token
    }

    /// Takes in one event.
    ///
    /// - Parameters:
    ///   - event: What happened.
    ///   - now: When it happened.
    /// - Returns: What is to be done, in this order.
    package mutating func handle(_ event: Event, at now: MonotonicInstant) -> [Action] {
        switch event {
        case .requested(let subject, let caller):
            return self.request(subject, TokenWaiters(callers: [caller]), at: now)
        case .ensured(let subject, let caller, let life):
            return self.request(subject, TokenWaiters(lives: [caller: life]), at: now)
        case .cancelled(let subject, let caller):
            guard self.entries[subject]?.flight?.waiters.remove(caller) == true else { return [] }
            return [.resume([caller], .cancelled)]
        case .restored(let id, let grant): return self.restore(id, grant, at: now)
        case .fetched(let id, let grant): return self.land(id, grant, at: now)
        case .failed(let id, let error): return self.fail(id, error, at: now)
        case .patienceEnded(let id): return self.endPatience(id, at: now)
        case .deadlinePassed(let id, let step, let others):
            let actions = self.fail(id, self.timeIsUp(for: step, after: others), at: now)
            return actions.isEmpty ? [] : [.stopFetch(id)] + actions
        case .invalidated(let subject, let token): return self.invalidate(token, of: subject, at: now)
        case .pausesLifted:
            self.liftPauses(at: now)
            return []
        case .closed: return self.close()
        }
    }

    private func timeIsUp(for step: FetchStep, after others: [FetchStep: Duration]) -> TokenClientError {
        let limit = self.configuration.fetchTimeout
        let spent = others.values.reduce(.zero, +)
        var time = "\(limit)"
        // Nearly all of the time is as good as all of it; with less, the step is not the one to blame.
        if spent * 10 > limit, let slowest = others.max(by: { $0.value < $1.value }) {
            time =
                "the \(max(limit - spent, .zero).inMilliseconds) left of \(limit), of which the \(slowest.key.name) took "
                + "\(slowest.value.inMilliseconds)"
        }
        let end = step == .server ? "." : ", so the token server was not asked."
        return TokenClientError(code: .timedOut, message: "The \(step.name) did not answer within \(time)\(end)")
    }
}

extension TokenCacheMachine.FetchStep {
    fileprivate var name: String {
        switch self {
        case .store: "token store"
        case .credentials: "app's credentials closure"
        case .proof: "app's proof closure (App Attest, DeviceCheck or the like)"
        case .server: "token server"
        }
    }
}

extension Duration {
    /// The same to the nearest millisecond, for people.
    fileprivate var inMilliseconds: Self { .milliseconds(Int64((self / .milliseconds(1)).rounded())) }
}
