// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation

/// A fetcher as an app's team might write one: right as it stands, and wrong in the samples' ways by ``Flaw``.
final class SampleShapedFetcher: FetcherUnderTest {
    private struct Slot: Sendable {
        let token: String
        /// On the clock of ``SampleShapedFetcher/now``, in seconds.
        let endsAt: Double
    }

    private struct Failure: Sendable {
        let error: any Error
        let retryAt: Double
    }

    private struct State: Sendable {
        var slots: [FetcherContext: Slot] = [:]
        var waiting: [FetcherContext: [Completion]] = [:]
        var failures: [FetcherContext: Failure] = [:]
        var lastKey: FetcherContext?
    }

    private enum Decision: Sendable {
        case answer(String?, (any Error)?)
        case wait
        case load
    }

    private let surroundings: FetcherSurroundings
    private let flaws: Set<Flaw>
    private let exchange: SampleShapedExchange
    private let transport: any HTTPTransport
    private let state = Locked(State())
    private let torn = TornSlot()

    init(_ surroundings: FetcherSurroundings, flaws: Set<Flaw>) throws {
        self.surroundings = surroundings
        self.flaws = flaws
        self.exchange = SampleShapedExchange(surroundings: surroundings, flaws: flaws)
        self.transport = surroundings.makeTransport()
        let url = URL(string: surroundings.address)
        guard url?.host != nil || self.has(.addressNotChecked) else {
            throw TokenClientError(code: .invalidConfiguration, message: "The address is not a URL.")
        }
        guard url?.scheme == "https" || self.has(.plainHTTPAccepted) || self.has(.addressNotChecked) else {
            throw TokenClientError(code: .insecureURL, message: "Use https.")
        }
    }

    func fetchToken(for context: FetcherContext?, completion: @escaping Completion) {
        let complete = self.has(.synchronousCompletion) ? completion : self.later(completion)
        guard let context, context.id != nil else {
            if self.has(.silentWithoutID) { return }
            guard self.has(.missingIDClearsCache) else {
                return complete(nil, TokenClientError(code: .invalidConfiguration, message: "There is no id."))
            }
            self.state.withLock { $0.slots = [:] }
            return self.load(for: FetcherContext(nil), alone: complete)
        }
        guard context.id != "" || self.has(.emptyIDAccepted) else {
            return complete(nil, TokenClientError(code: .invalidConfiguration, message: "The id is empty."))
        }
        if self.has(.tornWrites), let token = self.torn.token(for: context, at: self.now) {
            return complete(token, nil)
        }

        let key = self.key(of: context)
        let now = self.now
        let decision = self.state.withLock { state in
            state.lastKey = key
            return self.decide(key, at: now, in: &state, complete)
        }
        switch decision {
        case .answer(let token, let error): complete(token, error)
        case .wait: break
        case .load: self.load(for: key, alone: self.has(.noSingleFlight) ? complete : nil)
        }
    }

    func dropToken(_ token: String, for context: FetcherContext) {
        guard !self.has(.noWayToDropToken) else { return }
        self.state.withLock { state in
            if state.slots[self.key(of: context)]?.token == token { state.slots[self.key(of: context)] = nil }
        }
    }

    private func later(_ completion: @escaping Completion) -> Completion {
        let queue: DispatchQueue? =
            if self.has(.completionOnMainQueue) {
                .main
            } else if self.has(.completionOnSessionQueue) {
                DispatchQueue(label: "session")
            } else {
                nil
            }
        return { token, error in
            if let queue { queue.async { completion(token, error) } } else { Task { completion(token, error) } }
        }
    }

    private func has(_ flaw: Flaw) -> Bool { self.flaws.contains(flaw) }

    /// The clock on which tokens end, in seconds.
    private var now: Double {
        self.has(.phoneDateTrusted)
            ? self.surroundings.phoneDate() : self.surroundings.clock.now.sinceStart / .seconds(1)
    }

    private func key(of context: FetcherContext) -> FetcherContext {
        self.has(.taskIgnored) ? FetcherContext(context.id) : context
    }

    private func flight(of key: FetcherContext) -> FetcherContext {
        self.has(.oneFlightForAll) ? FetcherContext("any") : key
    }

    private func decide(
        _ key: FetcherContext, at now: Double, in state: inout State, _ complete: @escaping Completion
    ) -> Decision {
        let left = state.slots[key].map { $0.endsAt - now } ?? -1
        let token = left > 0 || (left == 0 && self.has(.endIncluded)) ? state.slots[key]?.token : nil
        if let token, left >= 300 || self.has(.noMargin) { return .answer(token, nil) }
        if let failure = state.failures[key], now < failure.retryAt, !self.has(.noBackOff) {
            return .answer(token, token == nil ? failure.error : nil)
        }
        guard !self.has(.noSingleFlight) else { return .load }
        let isUnderWay = state.waiting[self.flight(of: key)] != nil
        state.waiting[self.flight(of: key), default: []].append(complete)
        return isUnderWay ? .wait : .load
    }
}

// MARK: - Answers

extension SampleShapedFetcher {
    /// Asks the server, for one completion or for all that wait.
    private func load(for key: FetcherContext, alone complete: Completion?) {
        let transport = self.has(.sessionPerFetch) ? self.surroundings.makeTransport() : self.transport
        let startedAt = self.now
        let isReleased = self.has(.droppedWhenReleased) || self.has(.ownerUsedAfterRelease)
        let owner = isReleased ? nil : self
        Task { [weak self, exchange, flaws, surroundings, torn] in
            let result = await exchange.result(for: key, over: transport)
            if flaws.contains(.tornWrites), let token = try? result.get().token {
                await torn.write(
                    token, for: key, endsAt: startedAt + 3600, interruption: surroundings.interruption)
            }
            if let self {
                self.land(result, for: key, startedAt: startedAt, alone: complete)
            } else if flaws.contains(.ownerUsedAfterRelease) {
                surroundings.crash("a variable of the released fetcher was written")
            }
            withExtendedLifetime(owner) {}
        }
    }

    private func land(
        _ result: Result<SampleShapedExchange.Loaded, any Error>, for key: FetcherContext, startedAt: Double,
        alone complete: Completion?
    ) {
        let now = self.now
        let (completions, token, error) = self.state.withLock { state in
            let waiting = state.waiting.removeValue(forKey: self.flight(of: key)) ?? []
            let completions = complete.map { [$0] } ?? waiting
            switch result {
            case .success(let loaded):
                state.failures[key] = nil
                self.keep(loaded, for: key, startedAt: startedAt, in: &state)
                return (completions, loaded.token, nil as (any Error)?)
            case .failure(let error):
                state.failures[key] = Failure(error: error, retryAt: now + 1)
                let left = state.slots[key].map { $0.endsAt - now } ?? -1
                guard left > 0 || (left == 0 && self.has(.endIncluded)) else { return (completions, nil, error) }
                return (completions, state.slots[key]?.token, nil)
            }
        }
        if let token { self.surroundings.log(self.has(.tokenLogged) ? "fetched \(token)" : "fetched a token") }
        for complete in completions { complete(token, error) }
    }

    private func keep(
        _ loaded: SampleShapedExchange.Loaded, for key: FetcherContext, startedAt: Double, in state: inout State
    ) {
        guard let token = loaded.token, let life = loaded.life, !self.has(.noCache), !self.has(.tornWrites) else {
            return
        }
        let isNamedLate = self.has(.slotNamedByLastCall)
        if isNamedLate || self.has(.oneSlot) { state.slots = [:] }
        state.slots[isNamedLate ? state.lastKey ?? key : key] = Slot(token: token, endsAt: startedAt + life)
    }
}
