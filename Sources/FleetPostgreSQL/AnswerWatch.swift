// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Tells a server that answers nobody from one that is busy with a long statement.
///
/// That one statement takes long says nothing. A new connection is tried when nothing came on any connection for a
/// while; if it is not answered either, the server is in doubt until anything comes from it. So it is after an attempt
/// to connect that failed while nothing came elsewhere. One job at a time may then find out more.
struct AnswerWatch {
    /// How long nothing comes before a new connection is tried, and between such tries.
    static let patience: Duration = .seconds(3)

    /// What callers are told while the server is in doubt.
    private(set) var doubt: PostgreSQLError?
    /// How often the server fell silent; a connection made before the last time may lead nowhere.
    private(set) var silences = 0
    /// Whether a job that was let in despite the doubt is under way.
    private(set) var isTrying = false
    private var lastAnswer: ContinuousClock.Instant
    private var lastProbe: ContinuousClock.Instant
    private var isProbing = false

    init(at now: ContinuousClock.Instant) {
        self.lastAnswer = now
        self.lastProbe = now
    }

    /// Takes note that something came; says whether that ended a doubt.
    mutating func answered(at now: ContinuousClock.Instant) -> Bool {
        self.lastAnswer = now
        self.isTrying = false
        defer { self.doubt = nil }
        return self.doubt != nil
    }

    /// Takes note of an attempt to connect that failed; says whether the server is in doubt by it.
    mutating func failed(_ error: PostgreSQLError, begun start: ContinuousClock.Instant) -> Bool {
        // What came meanwhile shows that the server is there.
        guard self.lastAnswer < start else { return false }
        self.doubt = error
        return true
    }

    /// Says whether a connection that has waited since `start` is to try a new one now.
    mutating func beginsProbe(waitingSince start: ContinuousClock.Instant, at now: ContinuousClock.Instant) -> Bool {
        guard !self.isProbing, now - max(start, self.lastAnswer, self.lastProbe) >= Self.patience else { return false }
        self.isProbing = true
        return true
    }

    /// Takes note that a probe has ended.
    mutating func endProbe(at now: ContinuousClock.Instant) {
        self.isProbing = false
        self.lastProbe = now
    }

    /// Takes note that a probe was not answered; says whether the server is in doubt by it.
    mutating func fellSilent(_ error: PostgreSQLError, begun start: ContinuousClock.Instant) -> Bool {
        guard self.failed(error, begun: start) else { return false }
        self.silences += 1
        return true
    }

    /// Takes note that a job is let in; while the server is in doubt, it is the one that finds out more.
    mutating func admitted() {
        self.isTrying = self.doubt != nil
    }

    /// Takes note that the job that was to find out more has ended, or never began.
    mutating func endTrial() {
        self.isTrying = false
    }
}
