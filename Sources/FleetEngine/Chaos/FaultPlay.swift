// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// A script on its way: what struck how often, and what strikes next.
///
/// It has no clock of its own.
struct FaultPlay: Sendable {
    /// A call that may be struck.
    struct Call: Sendable {
        let target: FaultStep.Target
        var method: FleetMethod?
        var subjects: Set<EngineActivity.Subject> = []
    }

    let script: FaultScript
    /// How often each step struck.
    private(set) var strikes: [Int]
    private let start: Duration
    private let startDate: Date
    private var random: UInt64

    /// Begins a script.
    ///
    /// - Parameters:
    ///   - script: The script.
    ///   - start: When, by a clock that only goes forward.
    ///   - date: When, by the engine's clock.
    init(_ script: FaultScript, at start: Duration, date: Date) {
        self.script = script
        self.strikes = Array(repeating: 0, count: script.steps.count)
        self.start = start
        self.startDate = date
        self.random = script.seed
    }

    /// Decides what strikes a call before its token is known, and counts it.
    mutating func strike(_ call: Call, at uptime: Duration) -> FaultEffect {
        var effect = FaultEffect()
        for (index, step) in self.script.steps.enumerated() {
            guard self.isInForce(index, for: call, at: uptime), step.fault.isOfKeys || self.takes(index) else {
                continue
            }
            effect.add(step.fault, of: index)
            if effect.isDecided { break }
        }
        return effect
    }

    /// Decides whether a step took the key of a call's good token from the verifier, and counts it.
    ///
    /// - Returns: The step, as answers and lists name it; `nil` where the verifier has the key.
    mutating func strikeKey(of token: ExaminedToken, in call: Call, at uptime: Duration) -> String? {
        for (index, step) in self.script.steps.enumerated() {
            guard self.isInForce(index, for: call, at: uptime),
                step.fault.takesKey(of: token, since: self.startDate + step.after.seconds), self.takes(index)
            else { continue }
            return step.fault.mark(of: index)
        }
        return nil
    }

    private func isInForce(_ index: Int, for call: Call, at uptime: Duration) -> Bool {
        self.script.steps[index].applies(to: call) && self.state(of: index, at: uptime) == .active
    }

    /// Whether a step in force strikes once more, by its share; it is counted then.
    private mutating func takes(_ index: Int) -> Bool {
        let share = self.script.steps[index].share
        guard share >= 1 || self.chance() < share else { return false }
        self.strikes[index] += 1
        return true
    }

    /// Where a step is in its life.
    enum StepState: String, Codable {
        /// Its time has not come.
        case waiting
        case active
        /// Its time or its calls are used up.
        case over
    }

    func state(of index: Int, at uptime: Duration) -> StepState {
        let step = self.script.steps[index]
        let since = uptime - self.start - step.after
        if since < .zero { return .waiting }
        let isOver = step.lasting.map { since >= $0 } ?? false
        return isOver || step.calls.map { self.strikes[index] >= $0 } ?? false ? .over : .active
    }

    /// A number from 0 to 1, below 1: SplitMix64, so that a seed gives the same choices everywhere.
    private mutating func chance() -> Double {
        self.random &+= 0x9E37_79B9_7F4A_7C15
        var bits = self.random
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((bits ^ (bits >> 31)) >> 11) * 0x1p-53
    }
}

extension FaultStep {
    fileprivate func applies(to call: FaultPlay.Call) -> Bool {
        guard self.target == call.target, self.subject.map(call.subjects.contains) ?? true else { return false }
        return self.methods.isEmpty || call.method.map(self.methods.contains) ?? false
    }
}

extension Fault {
    /// The fault of a step, as answers and lists name it.
    fileprivate func mark(of index: Int) -> String { "steps[\(index)] \(self.description)" }

    /// Whether it is about keys, and strikes only once the token is known.
    fileprivate var isOfKeys: Bool {
        switch self {
        case .keyExpired, .keyRotated: true
        case .slow, .status, .refuse, .clockOff: false
        }
    }

    /// Whether it takes the key of a token from the verifier.
    fileprivate func takesKey(of token: ExaminedToken, since start: Date) -> Bool {
        switch self {
        case .keyExpired(let role): token.account.has(role)
        case .keyRotated(let role):
            // A token tells whole seconds.
            token.account.has(role)
                && TimeInterval(token.claims.issuedAt) < (start - 300).timeIntervalSince1970.rounded(.down)
        case .slow, .status, .refuse, .clockOff: false
        }
    }
}

extension TrustedAccount {
    /// Whether the account has a role; every account has `nil`.
    fileprivate func has(_ role: Role?) -> Bool { role.map(self.roles.contains) ?? true }
}

extension Duration {
    /// In seconds.
    fileprivate var seconds: TimeInterval {
        TimeInterval(self.components.seconds) + TimeInterval(self.components.attoseconds) * 1e-18
    }
}

/// What strikes one call.
struct FaultEffect: Sendable {
    /// What is waited for before anything else.
    private(set) var delay = Duration.zero
    /// The status to answer with, whatever the call.
    private(set) var status: EngineError?
    /// How far the verifier's clock is ahead.
    private(set) var clockOffset: TimeInterval = 0
    /// What struck, as answers and lists name it.
    private(set) var marks: [String] = []
    /// Gives the step that took a good token's key from the verifier, counted and marked; `nil` where none did.
    var takeKey: @Sendable (ExaminedToken) -> String? = { _ in nil }
    private var refusal: TokenRefusal?
    private var dependsOnKey = false
    /// What put the verifier's clock off.
    private var clockMarks: [String] = []

    /// Whether nothing struck, nor will by the token's key.
    var isEmpty: Bool { self.marks.isEmpty && !self.dependsOnKey }

    /// Whether no further step matters.
    var isDecided: Bool { self.status != nil || self.refusal != nil }

    mutating func add(_ fault: Fault, of index: Int) {
        let mark = fault.mark(of: index)
        switch fault {
        case .slow(let delay): self.delay += delay
        case .status(let code):
            self.status = EngineError(
                code: code, reason: "CHAOS", message: "Chaos by script, not the engine's own answer: \(mark).",
                metadata: ["chaos": mark])
        case .refuse(let reason): self.refusal = TokenRefusal(scripted: reason).marked(mark)
        case .clockOff(let offset):
            self.clockOffset += offset.seconds
            self.clockMarks.append(mark)
        case .keyExpired, .keyRotated:
            self.dependsOnKey = true
            return
        }
        self.marks.append(mark)
    }

    /// Refuses a token that the script refuses outright.
    func checkToken() throws(TokenRefusal) {
        if let refusal { throw refusal }
    }

    /// Refuses a good token whose key the script took from the verifier.
    func checkKey(of token: ExaminedToken, _ text: String, at now: Date) throws(TokenRefusal) {
        guard let mark = self.takeKey(token) else { return }
        do throws(TokenRefusal) {
            _ = try TokenExaminer().examine(text, keys: NoKeys(), now: now)
        } catch {
            throw error.marked(mark)
        }
    }

    /// The refusal, said to be the script's where its clock may be the cause.
    func marking(_ refusal: TokenRefusal) -> TokenRefusal {
        let times: [TokenRefusal.Reason] = [.tokenExpired, .tokenNotYetValid, .tokenTooOld, .tokenExpiresTooLate]
        guard self.clockOffset != 0, times.contains(refusal.reason) else { return refusal }
        return refusal.marked(self.clockMarks.joined(separator: ", "))
    }
}

/// The keys of a verifier that has none.
private struct NoKeys: TokenKeys {
    func keys(withID id: String) -> [any TokenKey] { [] }
    func keys(ofAccount email: String) -> [any TokenKey] { [] }
}

extension TokenRefusal {
    /// The refusal, told apart from one of the engine's own.
    fileprivate func marked(_ mark: String) -> Self {
        var refusal = self
        refusal.message = "Chaos by script (\(mark)): \(self.message)"
        return refusal
    }

    fileprivate init(scripted reason: Reason) {
        let denials: [Reason] = [.roleUnknown, .providerMismatch, .roleLacksPermission, .claimMismatch, .claimsMissing]
        let fix = "Nothing is wrong with the token; the script ends this."
        self =
            denials.contains(reason)
            ? .permissionDenied(reason, "The call is refused.", fix: fix)
            : .unauthenticated(reason, "The token is refused.", fix: fix)
    }
}
