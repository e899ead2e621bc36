// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
public import FleetTokens

/// The limits of a token server; what is `nil` has none.
public struct RequestLimits: Sendable {
    /// Of each caller.
    public var perCaller: RateLimit?
    /// Of tokens for one and the same subject, such as one vehicle, whoever asks.
    public var perSubject: RateLimit?
    /// Of all together.
    public var global: RateLimit?
    /// Of each caller's requests that the policy refuses; and, counted by themselves, of the records of those that fail.
    public var refusedPerCaller: RateLimit?

    /// Describes limits.
    public init(
        perCaller: RateLimit? = nil, perSubject: RateLimit? = nil, global: RateLimit? = nil,
        refusedPerCaller: RateLimit? = nil
    ) {
        self.perCaller = perCaller
        self.perSubject = perSubject
        self.global = global
        self.refusedPerCaller = refusedPerCaller
    }
}

/// A request that comes too soon.
public struct RateLimitExceeded: Error, Hashable, Sendable {
    /// Whose limit it is.
    public enum Scope: String, Hashable, Sendable {
        /// The caller's own.
        case caller
        /// The caller's own, on what the policy refuses.
        case refusals
        /// The subject's.
        case subject
        /// Everybody's.
        case global
        /// An address's that sent wrong credentials.
        case address
    }

    /// Whose limit it is.
    public var scope: Scope
    /// When the next request would be admitted.
    public var retryAfter: Duration

    /// What to tell whoever asked.
    var message: String {
        let whose =
            switch self.scope {
            case .caller: "This caller asks"
            case .refusals: "This caller asks for what it may not have"
            case .subject: "Tokens for this subject are asked for"
            case .global: "All callers together ask"
            case .address: "This address sends wrong credentials"
            }
        return "\(whose) more often than is allowed; come again after the time in Retry-After."
    }
}

/// Admits requests within limits; it does nothing but count, in bounded memory.
public final class RequestLimiter: Sendable {
    /// How many callers, and how many subjects, are remembered.
    public static let capacity = 200_000

    private struct State {
        var callers = RecentEntries<CallerID, TokenBucket>(capacity: RequestLimiter.capacity)
        var refusals = RecentEntries<CallerID, TokenBucket>(capacity: RequestLimiter.capacity)
        var failures = RecentEntries<CallerID, TokenBucket>(capacity: RequestLimiter.capacity)
        var subjects = RecentEntries<String, TokenBucket>(capacity: RequestLimiter.capacity)
        var all = TokenBucket()
    }

    private let limits: RequestLimits
    private let time: TimeSource
    private let state = Locked(State())

    /// Makes a limiter.
    ///
    /// - Parameters:
    ///   - limits: The limits.
    ///   - clock: What the limits are counted on.
    public init(_ limits: RequestLimits, clock: some Clock<Duration> = ContinuousClock()) {
        self.limits = limits
        self.time = TimeSource(clock: clock)
    }

    /// Admits a request of a known caller, before it is decided on.
    ///
    /// A caller beyond its own limits takes nothing from the others' share.
    ///
    /// - Parameter caller: Who asks.
    /// - Throws: ``RateLimitExceeded``.
    public func admit(_ caller: CallerID) throws(RateLimitExceeded) {
        let refusal = self.state.withLock { state -> RateLimitExceeded? in
            let now = self.time.uptime
            if let limit = self.limits.refusedPerCaller, let refusals = state.refusals[caller] {
                let wait = refusals.wait(at: now, limit: limit)
                guard wait == .zero else { return RateLimitExceeded(scope: .refusals, retryAfter: wait) }
            }
            var own = state.callers[caller] ?? TokenBucket()
            if let limit = self.limits.perCaller {
                let wait = own.wait(at: now, limit: limit)
                guard wait == .zero else { return RateLimitExceeded(scope: .caller, retryAfter: wait) }
                own.take(at: now, limit: limit)
            }
            if let limit = self.limits.global {
                let wait = state.all.wait(at: now, limit: limit)
                guard wait == .zero else { return RateLimitExceeded(scope: .global, retryAfter: wait) }
                state.all.take(at: now, limit: limit)
            }
            if self.limits.perCaller != nil { state.callers[caller] = own }
            return nil
        }
        if let refusal { throw refusal }
    }

    /// Takes note that the policy refused a caller.
    func noteRefusal(of caller: CallerID) {
        guard let limit = self.limits.refusedPerCaller else { return }
        self.state.withLock { state in
            var refusals = state.refusals[caller] ?? TokenBucket()
            refusals.take(at: self.time.uptime, limit: limit)
            state.refusals[caller] = refusals
        }
    }

    /// Admits the record of a request that failed for want of something that is down.
    ///
    /// It counts for records of its kind alone: nobody is turned away for what failed.
    ///
    /// - Parameter caller: Who asked.
    /// - Returns: Whether it is to be kept.
    func admitsFailureRecord(of caller: CallerID) -> Bool {
        guard let limit = self.limits.refusedPerCaller else { return true }
        return self.state.withLock { state -> Bool in
            let now = self.time.uptime
            var failures = state.failures[caller] ?? TokenBucket()
            guard failures.wait(at: now, limit: limit) == .zero else { return false }
            failures.take(at: now, limit: limit)
            state.failures[caller] = failures
            return true
        }
    }

    /// Admits a token that is about to be issued; one that reaches everything of a kind has no subject.
    ///
    /// - Parameter type: The token.
    /// - Throws: ``RateLimitExceeded``.
    public func admit(_ type: TokenType) throws(RateLimitExceeded) {
        guard let limit = self.limits.perSubject, let subject = Self.subject(of: type) else { return }
        let refusal = self.state.withLock { state -> RateLimitExceeded? in
            let now = self.time.uptime
            var bucket = state.subjects[subject] ?? TokenBucket()
            let wait = bucket.wait(at: now, limit: limit)
            guard wait == .zero else { return RateLimitExceeded(scope: .subject, retryAfter: wait) }
            bucket.take(at: now, limit: limit)
            state.subjects[subject] = bucket
            return nil
        }
        if let refusal { throw refusal }
    }

    /// Takes back the admission of a token that could not be issued, which is nobody's fault who asks for it.
    ///
    /// - Parameter type: The token.
    func giveBack(_ type: TokenType) {
        guard let limit = self.limits.perSubject, let subject = Self.subject(of: type) else { return }
        self.state.withLock { state in
            guard var bucket = state.subjects[subject] else { return }
            bucket.giveBack(limit: limit)
            state.subjects[subject] = bucket
        }
    }

    /// What a token's limit goes by: its role and the one thing that it is for, whatever tasks of a vehicle it names.
    private static func subject(of type: TokenType) -> String? {
        guard let claims = try? type.claims, !claims.namesNoResource else { return nil }
        if case .deliveryTrustedDriver(let vehicle, _) = type { return "\(type.role) \(vehicle.value)" }
        return "\(type.role) \(claims.summary)"
    }
}
