// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
public import FleetTokens
public import Foundation
public import Logging

/// Answers requests for tokens: finds out who asks, asks the policy, mints, and records what was decided.
///
/// A token leaves only after its record is durable. ``TokenRoutes`` ask it over HTTP; a server of another kind, such as one
/// for gRPC, asks it by ``issue(_:or:for:)``.
public struct TokenDesk: Sendable {
    private let issuer: TokenIssuer
    private let authenticator: any CallerAuthenticator
    private let policy: any TokenPolicy
    private let limiter: RequestLimiter?
    private let audit: (any AuditLog)?
    private let metrics: TokenServerMetrics
    private let now: @Sendable () -> Date
    private let logger: Logger
    private let strangers: RecurringLog
    private let failures: RecurringLog

    /// Makes a desk.
    ///
    /// - Parameters:
    ///   - issuer: Issues the tokens.
    ///   - authenticator: Finds out who asks.
    ///   - policy: Decides what they may have.
    ///   - limiter: Admits requests within limits; `nil` for none. What comes too soon is counted and not recorded.
    ///   - audit: Keeps what was decided; `nil` keeps nothing.
    ///   - metrics: Counts what was decided.
    ///   - now: The clock that decisions are made by.
    ///   - logger: Hears of failures and, at `debug`, of each token's fingerprint.
    public init(
        issuer: TokenIssuer, authenticator: any CallerAuthenticator, policy: any TokenPolicy = RolePolicy(),
        limiter: RequestLimiter? = nil, audit: (any AuditLog)? = nil,
        metrics: TokenServerMetrics = TokenServerMetrics(),
        now: @escaping @Sendable () -> Date = { Date() }, logger: Logger
    ) {
        self.issuer = issuer
        self.authenticator = authenticator
        self.policy = policy
        self.limiter = limiter
        self.audit = audit
        self.metrics = metrics
        self.now = now
        self.logger = logger
        self.strangers = RecurringLog("caller refused", level: .info, logger: logger, now: now)
        self.failures = RecurringLog("token not issued", level: .error, logger: logger, now: now)
    }

    /// The steps that depend on something that can be down.
    enum Step: String {
        case authentication = "authentication_failed"
        case policy = "policy_failed"
        case signing = "signing_failed"
        case audit = "audit_failed"
    }

    /// Answers one request.
    ///
    /// - Parameters:
    ///   - type: The token that is asked for. Whatever it is, the policy decides; the routes ask for no server's token.
    ///   - alternative: What will do as well, where the policy refuses that.
    ///   - request: What the request says of its sender.
    /// - Returns: The token, recorded.
    /// - Throws: ``TokenDeskRefusal``; `TokenError` for claims that no token can have; or `CancellationError`.
    public func issue(
        _ type: TokenType, or alternative: TokenType? = nil, for request: CallerRequest
    ) async throws -> IssuedToken {
        let start = ContinuousClock.now
        do {
            let (granted, issued) = try await self.decide(type, or: alternative, request)
            self.metrics.granted(granted.role, took: .now - start)
            return issued
        } catch let refusal as TokenDeskRefusal {
            self.metrics.refused(type.role, refusal, took: .now - start)
            throw refusal
        }
    }

    private func decide(
        _ asked: TokenType, or alternative: TokenType?, _ request: CallerRequest
    ) async throws -> (granted: TokenType, issued: IssuedToken) {
        let arrival = self.now()
        let caller = try await self.caller(of: request)
        try self.admitting { () throws(RateLimitExceeded) in try self.limiter?.admit(caller.id) }
        let time = self.now()
        var record = AuditRecord(
            time: time, caller: caller, address: request.clientAddress, role: asked.role, claims: try asked.claims,
            decision: .refused)
        let (type, decision) = try await self.step(.policy, refused: &record) {
            let first = try await self.policy.decide(asked, for: caller, at: time)
            guard !first.isGranted, let alternative else { return (asked, first) }
            let second = try await self.policy.decide(alternative, for: caller, at: time)
            return second.isGranted ? (alternative, second) : (asked, first)
        }
        if type.role != asked.role {
            record.role = type.role
            record.claims = try type.claims
        }
        switch decision {
        case .granted(let rule): record.rule = rule
        case .refused(let rule, let reason):
            record.rule = rule
            record.reason = reason
            try await self.refuse(type, record)
        }
        try self.admitting { () throws(RateLimitExceeded) in try self.limiter?.admit(type) }
        let issued = try await self.countingSuccess(of: type) {
            let issued = try await self.step(.signing, refused: &record) { try await self.issuer.issue(type) }
            record.decision = .granted
            record.token = AuditRecord.Token(
                fingerprint: TokenVerifier.fingerprint(of: issued.token.compactSerialization), keyID: issued.keyID,
                expiresAt: Int64(issued.expiresAt.timeIntervalSince1970))
            try await self.keep(record)
            return issued
        }
        // A clock that was set back says nothing.
        let isFresh = (0...Self.stale).contains(self.now().timeIntervalSince(arrival))
        if !isFresh { try await self.confirm(type, for: caller, of: request, record) }
        return (type, issued)
    }

    /// Finds out who asks; what nobody is known by is told of.
    private func caller(of request: CallerRequest) async throws -> Caller {
        let found: Result<Caller?, CallerRefusal> = try await self.step(.authentication) {
            do {
                return .success(try await self.authenticator.caller(of: request))
            } catch let refusal as CallerRefusal {
                return .failure(refusal)
            }
        }
        switch found {
        case .success(let caller?): return caller
        case .success(nil): break
        case .failure(let refusal):
            self.tellOfStranger(request, refusal.reason.rawValue, "\(refusal)")
            throw TokenDeskRefusal.unknown(refusal.reason)
        }
        switch request.bearer {
        case nil:
            guard let certificate = request.clientCertificate else {
                self.tellOfStranger(request, "none", "absent: No credential was sent that callers are known by.")
                break
            }
            self.tellOfStranger(
                request, "certificate", "absent: The client's certificate is nobody's: \(certificate.shown).")
        case .some(let bearer) where UserToken.hasForm(bearer):
            self.tellOfStranger(request, "token", "absent: The user's token is of no issuer that is configured.")
        case .some: self.tellOfStranger(request, "secret", "absent: The bearer credential is nobody's.")
        }
        throw TokenDeskRefusal.unknown(nil)
    }

    private func tellOfStranger(_ request: CallerRequest, _ cause: String, _ reason: String) {
        self.strangers.note(
            cause,
            [
                "reason": "\(reason)", "address": "\(request.clientAddress ?? "unknown")",
                "issuer": "\(request.bearer.flatMap(UserToken.init)?.issuer.map(UserToken.shown) ?? "none")",
            ])
    }

    /// Takes back what an admitted token took of its subject's limit where it fails for want of something that is down.
    private func countingSuccess<Result>(of type: TokenType, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let refusal as TokenDeskRefusal {
            if refusal.outcome == .failed { self.limiter?.giveBack(type) }
            throw refusal
        }
    }

    /// The caller and the policy's decision are looked at again where finding out who asks, deciding, signing and recording
    /// took longer, in seconds; a webhook's answer is used for as long as it is kept.
    ///
    /// A withdrawal waits for that long, and so includes a token that was recorded sooner. The second look sees that the
    /// account or the grant of another has ended meanwhile.
    static let stale: TimeInterval = 0.1

    /// Finds out again who asks, and asks the policy again, as it took long to decide or to sign; what is not granted any
    /// more is recorded and not handed out.
    private func confirm(
        _ type: TokenType, for caller: Caller, of request: CallerRequest, _ granted: AuditRecord
    ) async throws {
        var record = granted
        record.decision = .refused
        record.token = nil
        record.time = Int64((self.now().timeIntervalSince1970 * 1000).rounded(.down))
        // As the token is recorded as granted, that it was not handed out is recorded whatever the limits say.
        let found = try await self.step(.authentication, refused: &record, isLimited: false) {
            do {
                return try await self.authenticator.caller(of: request)
            } catch is CallerRefusal {
                return nil
            }
        }
        guard let found, found.id == caller.id else {
            record.reason = "The caller is not known any more."
            try await self.keep(record)
            throw TokenDeskRefusal.unknown(nil)
        }
        let decision = try await self.step(.policy, refused: &record, isLimited: false) {
            try await self.policy.decide(type, for: found, at: self.now())
        }
        guard case .refused(let rule, let reason) = decision else { return }
        record.rule = rule
        record.reason = reason
        try await self.refuse(type, record)
    }

    private func refuse(_ type: TokenType, _ record: AuditRecord) async throws {
        self.limiter?.noteRefusal(of: record.callerID)
        try await self.keep(record)
        throw TokenDeskRefusal.refused(type.role)
    }

    /// Refuses what comes too soon.
    private func admitting(_ body: () throws(RateLimitExceeded) -> Void) throws(TokenDeskRefusal) {
        do throws(RateLimitExceeded) {
            try body()
        } catch {
            throw .limited(error)
        }
    }

    private func keep(_ record: AuditRecord) async throws {
        try await self.step(.audit) { try await self.audit?.append(record) }
        self.logger.debug(
            "token \(record.decision == .granted ? "issued" : "refused")",
            metadata: [
                "caller": "\(record.caller)", "subject": "\(record.callerID)", "role": "\(record.role)",
                "rule": "\(record.rule ?? "none")", "reason": "\(record.reason ?? "none")",
                "fingerprint": "\(record.token?.fingerprint ?? "none")",
            ]
        )
    }

    /// Runs a step for a known caller, and records its failure, where it is limited as often as the limits let it.
    private func step<Result>(
        _ step: Step, refused record: inout AuditRecord, isLimited: Bool = true, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await self.step(step, body)
        } catch let refusal as TokenDeskRefusal {
            record.reason = refusal.label
            if !isLimited || self.limiter?.admitsFailureRecord(of: record.callerID) ?? true {
                try await self.keep(record)
            }
            throw refusal
        }
    }

    /// Runs a step; its failure is logged in full and answered as a passing one, but for a role that nothing signs for.
    private func step<Result>(_ step: Step, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as CancellationError {
            throw error
        } catch {
            self.failures.note("\(step.rawValue) \(error)", ["step": "\(step.rawValue)", "error": "\(error)"])
            // To come again helps nobody until the operator did something.
            let isServed = (error as? TokenServerError)?.code != .roleNotServed
            throw isServed ? TokenDeskRefusal.failed(step) : .notServed
        }
    }
}
