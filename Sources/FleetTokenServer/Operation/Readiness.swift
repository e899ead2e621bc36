// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetPostgreSQL
import FleetSigning
public import FleetTokens
public import Foundation
public import Logging

/// Whether a token server can do its work: its signers sign, its store takes records, its clock is right.
public final class Readiness: Sendable {
    /// One thing that must hold.
    public enum Check: String, CaseIterable, Sendable {
        /// Every role's trial token was made and verified.
        case canary
        /// The clock is that of the servers that are asked; goes evenly, or has for a while since it was set; and is the
        /// database's, or not before the last record in a file, unless it was left alone for a while.
        case clock
        /// The list of revocations that is followed is of now.
        case revocations
        /// The store can be read, and takes records.
        case store
        /// Keys of every trusted account are at hand.
        case trust
    }

    /// How long is waited for the store's answer: longer than a look waits for others who hold the store.
    static let storeLimit = Duration.seconds(3)
    /// What is wrong with a store that did not keep the last record.
    private static let refusal = "the last record was not kept"

    private let issuer: TokenIssuer
    private let served: @Sendable () -> Set<Role>
    /// The roles that were served at some look, as one that no longer is has lost its signer.
    private let seenRoles = Locked<Set<Role>>([])
    private let store: TokenServerStore
    private let metrics: TokenServerMetrics
    private let followed: [Check: @Sendable () -> String?]
    private let upstreamClocks: UpstreamClocks?
    private let time: TimeSource
    /// What is wrong with the store.
    private let storeLook: TimedLook<TokenServerStore.Problem?>
    /// What the store tells of the clock.
    private let clockLook: TimedLook<StoredClock?>
    private let clockDoubts: Locked<ClockDoubts>
    private let log: ReadinessLog

    /// Watches a server whose roles may become more while it runs, such as by a key file that is put into its folder.
    ///
    /// - Parameters:
    ///   - issuer: Issues the trial tokens.
    ///   - servedRoles: The roles that are served, asked for at each look; one that was served is tried ever after.
    ///   - store: The store.
    ///   - metrics: Shows what was found.
    ///   - followed: What else must hold, each asked for what is wrong with it.
    ///   - clock: What the date is held against, and what is waited by.
    ///   - now: The date.
    ///   - logger: Hears of every change.
    public convenience init(
        issuer: TokenIssuer, servedRoles: @escaping @Sendable () -> Set<Role>, store: TokenServerStore,
        metrics: TokenServerMetrics, followed: [Check: @Sendable () -> String?] = [:],
        clock: some Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Date = { Date() },
        logger: Logger
    ) {
        self.init(
            issuer: issuer, servedRoles: servedRoles, store: store, metrics: metrics, followed: followed,
            upstreamClocks: nil, time: TimeSource(clock: clock, now: now), logger: logger)
    }

    /// Watches a server, with what other servers say of the time.
    init(
        issuer: TokenIssuer, servedRoles: @escaping @Sendable () -> Set<Role>, store: TokenServerStore,
        metrics: TokenServerMetrics, followed: [Check: @Sendable () -> String?], upstreamClocks: UpstreamClocks?,
        time: TimeSource = TimeSource(clock: ContinuousClock()), logger: Logger
    ) {
        self.issuer = issuer
        self.served = servedRoles
        self.store = store
        self.metrics = metrics
        self.followed = followed
        self.upstreamClocks = upstreamClocks
        self.time = time
        let limit = Readiness.storeLimit
        let late = TokenServerStore.Problem(words: "the store did not answer within 3 s")
        self.storeLook = TimedLook(within: limit, orElse: late, time: time) { await store.problem() }
        self.clockLook = TimedLook(within: limit, orElse: nil, time: time) {
            await StoredClock(in: store, now: { time.date })
        }
        self.clockDoubts = Locked(ClockDoubts(now: time.date, uptime: time.uptime))
        var atStart = followed.compactMapValues { $0() }
        atStart[.canary] = "no trial token was made yet"
        self.log = ReadinessLog(atStart: Self.named(atStart), logger: logger)
    }

    /// Problems with the checks' names.
    private static func named(_ problems: [Check: String]) -> [String: String] {
        Dictionary(uniqueKeysWithValues: problems.map { ($0.rawValue, $1) })
    }

    /// What did not hold at the last look.
    private var failing: [Check: String] {
        let problems = self.log.problems.compactMap { name, problem in Check(rawValue: name).map { ($0, problem) } }
        return Dictionary(uniqueKeysWithValues: problems)
    }

    /// What does not hold, in words; empty when the server is ready.
    public var problems: [Check: String] {
        var problems = self.failing
        // Told as it is now: it costs nothing to ask.
        for (check, problem) in self.followed { problems[check] = problem() }
        if problems[.store] == nil, self.store.refusesRecords { problems[.store] = Self.refusal }
        return problems
    }

    /// Looks at everything once.
    ///
    /// - Returns: Whether all of it holds; `false` where the look was cancelled, which finds out no more than it had.
    @discardableResult
    public func check() async -> Bool {
        // Told before anything else is looked at, which may wait for others.
        await self.checkStore()
        var failing: [Check: String] = [:]
        failing[.canary] = await self.canaryProblem()
        failing[.clock] = await self.clockProblem()
        for (check, problem) in self.followed { failing[check] = problem() }
        // What was cancelled found nothing out.
        guard !Task.isCancelled else { return false }
        failing[.store] = self.failing[.store]
        self.note(failing)
        return failing.isEmpty
    }

    /// Looks at the store alone, which costs next to nothing; one that does not answer within 3 seconds has a problem.
    public func checkStore() async {
        // Told although the store may take records again by now: whoever asked for a token was refused one.
        if self.store.refusesRecords { self.note(Self.refusal, of: .store) }
        let problem = await self.storeLook.finding()
        guard !Task.isCancelled else { return }
        self.note(problem?.words, of: .store, cause: problem?.cause)
    }

    private func note(_ problem: String?, of check: Check, cause: (any Error)? = nil) {
        var failing = self.failing
        failing[check] = problem
        self.note(failing, cause: cause)
    }

    /// Takes over what does not hold, shows it and logs what is new, with its cause where the words do not tell it.
    private func note(_ failing: [Check: String], cause: (any Error)? = nil) {
        for check in Check.allCases { self.metrics.readiness(of: check, holds: failing[check] == nil) }
        self.log.note(Self.named(failing), cause: cause.map(Self.line))
    }

    private func canaryProblem() async -> String? {
        let served = self.served()
        let roles = self.seenRoles.withLock { seen -> Set<Role> in
            seen.formUnion(served)
            return seen
        }
        // Side by side: a role whose signer is slow keeps no other waiting.
        let problems = await withTaskGroup(of: (Role, String?).self) { group in
            for role in roles { group.addTask { (role, await self.problem(of: role)) } }
            var problems: [Role: String] = [:]
            for await (role, problem) in group {
                self.metrics.canary(of: role, isUp: problem == nil)
                problems[role] = problem
            }
            return problems
        }
        guard !problems.isEmpty else { return nil }
        return "no trial token for "
            + problems.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0): \($1)" }.joined(separator: " | ")
    }

    /// Makes a token that reaches one thing that nobody has, and throws it away.
    private func problem(of role: Role) async -> String? {
        do {
            let claims = try AuthorizationClaims(
                trip: .only(try TripID(checking: "fleetpass-canary")), additional: ["canary": "true"])
            let issued = try await self.issuer.issue(.custom(role, claims))
            return issued.expiresIn > .zero ? nil : "the token had ended already; set the clock right"
        } catch {
            return Self.line(error)
        }
    }

    /// An error on one line.
    private static func line(_ error: any Error) -> String {
        let text = (error as? SigningError)?.message ?? (error as? TokenServerError)?.message ?? "\(error)"
        return text.split(separator: "\n").map { $0.trimmingPrefix(while: \.isWhitespace) }.joined(separator: "; ")
    }

    private func clockProblem() async -> String? {
        let stored = await self.clockLook.finding()
        var lastRecord: Date?
        if case .lastRecord(let time) = stored { lastRecord = time }
        let (now, uptime) = (self.time.date, self.time.uptime)
        let others = self.upstreamClocks?.readings(at: self.time.date)
        let problem = self.clockDoubts.withLock {
            $0.problem(now: now, uptime: uptime, others: others ?? [], lastRecord: lastRecord)
        }
        guard problem == nil, case .shared(let clock) = stored else { return problem }
        return clock.problem
    }

    /// What a store tells of the time.
    private enum StoredClock: Sendable {
        /// The clock of the database that several servers share.
        case shared(DatabaseClock)
        /// When the last record in a file was made.
        case lastRecord(Date)

        /// Asks a store; `nil` where it has no records, or cannot be read, which its own check tells.
        init?(in store: TokenServerStore, now: @escaping @Sendable () -> Date) async {
            do {
                if let clock = try await store.databaseClock(by: now) {
                    self = .shared(clock)
                } else if let last = try await AuditReader(store: store).lastTime() {
                    self = .lastRecord(last)
                } else {
                    return nil
                }
            } catch {
                return nil
            }
        }
    }
}
