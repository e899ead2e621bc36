// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// Watches a day from outside, on the server's clock, and notes every broken promise.
struct DayObserver {
    /// A report that asks for a token.
    struct Asking {
        let subject: TokenSubject
        let at: Duration
        /// Whether a wait cannot be helped: no valid token, or one in its last minutes that nobody asked for lately.
        let isCold: Bool
        /// When the last token ends, by the server's count.
        let validUntil: Duration?
    }

    private struct Minted {
        let subject: TokenSubject
        let expiresAt: Duration
        /// Whether it came soon after it was asked for, and so with its whole life.
        let isWhole: Bool
    }

    /// The cache counts from the start of the fetch, a few seconds before the server's own count.
    private static let countingMargin = Duration.seconds(2)

    private(set) var violations: [String] = []
    var figures = DayFigures()
    var now = Duration.zero
    var wokeAt = Duration.zero
    var lastReports: [TokenSubject: Duration] = [:]
    private let day: DriversDay
    private var minted: [FleetToken: Minted] = [:]
    private var tokens: [TokenSubject: FleetToken] = [:]
    /// When the last fetch of a subject began, unless it failed or its token was refused.
    private var lastGoodFetch: [TokenSubject: Duration] = [:]

    init(_ day: DriversDay) {
        self.day = day
    }

    mutating func violate(_ what: String) {
        self.violations.append("seed \(self.day.seed), at \(self.now): \(what)")
    }

    func current(_ subject: TokenSubject) -> FleetToken? { self.tokens[subject] }

    // MARK: - Fetches

    mutating func fetchBegan(_ subject: TokenSubject) {
        self.figures.fetches += 1
        if let last = self.lastGoodFetch[subject], self.now - last < .seconds(1800) {
            self.violate("a fetch \(self.now - last) after a good one")
        }
        self.lastGoodFetch[subject] = nil
    }

    mutating func arrived(_ token: FleetToken, of subject: TokenSubject, asked start: Duration, until end: Duration) {
        self.minted[token] = Minted(subject: subject, expiresAt: end, isWhole: self.now - start < .seconds(60))
        // An answer that slept along with the phone may be over, and is no news then.
        guard start + DriversDay.tokenLife > self.now else { return }
        self.tokens[subject] = token
        self.lastGoodFetch[subject] = start
        let trouble = max(self.day.lastTokenTrouble(before: self.now) ?? .zero, self.wokeAt)
        let recovery = self.now - trouble
        if recovery <= .seconds(90) { self.figures.longestRecovery = max(self.figures.longestRecovery, recovery) }
    }

    mutating func refused(_ subject: TokenSubject) {
        self.tokens[subject] = nil
        self.lastGoodFetch[subject] = nil
    }

    // MARK: - Reports

    func asking(for subject: TokenSubject) -> Asking {
        let minted = self.tokens[subject].flatMap { self.minted[$0] }
        return Asking(
            subject: subject, at: self.now, isCold: self.isCold(subject), validUntil: minted?.expiresAt)
    }

    private func isCold(_ subject: TokenSubject) -> Bool {
        guard let token = self.tokens[subject], let minted = self.minted[token] else { return true }
        let life = minted.expiresAt - self.now
        let isAwake = self.wokeAt == .zero || self.wokeAt + .seconds(10) <= self.now
        let isSteady = isAwake && (self.lastReports[subject].map { $0 + .seconds(60) > self.now } ?? false)
        // The cache counts from the start of the fetch, a few seconds before the server's own count.
        return life <= .seconds(8) || (life < .seconds(308) && !(isSteady && minted.isWhole))
    }

    mutating func got(_ wait: Duration, _ asking: Asking) {
        self.noteWait(wait)
        self.figures.locationAge += self.awake(wait)
        if self.awake(wait) > DriversDay.patience, self.couldHaveToken(asking) {
            self.violate("a report waited \(wait) although there was a valid token")
        }
        guard wait > .zero else { return }
        self.figures.waitedCold += 1
        if !asking.isCold {
            self.figures.delayed += 1
            self.violate("a report waited \(wait) although its token was good")
        }
    }

    /// A report without a token is excused by a trouble that is not longer over than one back-off.
    mutating func gotNothing(_ wait: Duration, _ asking: Asking) {
        self.noteWait(wait)
        self.figures.locationAge += DriversDay.interval
        self.figures.starved += 1
        if self.couldHaveToken(asking) { self.violate("a report failed although there was a valid token") }
        let trouble = max(self.day.lastTokenTrouble(before: self.now) ?? .zero, self.wokeAt)
        let oneBackOff = Duration.seconds(60 + 10 + 8)
        if self.now - trouble > oneBackOff || trouble == .zero {
            self.figures.delayed += 1
            self.violate("a report had no token \(self.now - trouble) after the server's return")
        }
    }

    /// Whether a token that was there from the start, and that nobody refused since, was valid long enough to be had.
    private func couldHaveToken(_ asking: Asking) -> Bool {
        guard let validUntil = asking.validUntil, self.tokens[asking.subject] != nil else { return false }
        return validUntil > max(asking.at, self.wokeAt) + DriversDay.patience + Self.countingMargin
    }

    private mutating func noteWait(_ wait: Duration) {
        self.figures.longestWait = max(self.figures.longestWait, self.awake(wait))
    }

    /// The part of a wait that ends now through which the phone was awake.
    private func awake(_ wait: Duration) -> Duration {
        min(wait, self.wokeAt == .zero ? wait : self.now - self.wokeAt)
    }

    mutating func sent(_ token: FleetToken, for subject: TokenSubject) {
        guard let minted = self.minted[token] else { return self.violate("a token from nowhere") }
        if minted.subject != subject { self.violate("another vehicle's token") }
        if minted.expiresAt <= self.now { self.violate("an expired token went to the engine") }
    }

    /// Takes note of further reports on the same fresh token.
    mutating func passed(_ reports: Int, for subject: TokenSubject) {
        guard reports > 0, let token = self.tokens[subject] else { return }
        let start = self.now
        self.now = start + DriversDay.interval * reports
        self.sent(token, for: subject)
        self.lastReports[subject] = self.now
        self.now = start
        self.figures.reports += reports
        self.countSent(reports)
    }

    mutating func countSent(_ reports: Int) {
        if self.day.isNetworkUp(at: self.now) {
            self.figures.delivered += reports
        } else {
            self.figures.withoutNetwork += reports
        }
    }
}
