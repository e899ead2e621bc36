// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
public import FleetTokens

/// What goes wrong on purpose, step by step, so that an app team sees how its app bears it.
///
/// All steps are in force at once, each for its calls and its time. The words are those of `ChaosStep` in
/// `FleetTestSupport` where both have the fault.
public struct FaultScript: Hashable, Sendable {
    /// What the choice of calls follows from, where a step takes a share of them.
    public var seed: UInt64
    /// The steps; of several that answer a call, the first does.
    public var steps: [FaultStep]

    /// Makes a script.
    public init(seed: UInt64 = 0, steps: [FaultStep]) {
        self.seed = seed
        self.steps = steps
    }
}

/// One fault, and when it strikes.
public struct FaultStep: Hashable, Sendable {
    /// Which server it strikes.
    public enum Target: String, CaseIterable, Sendable {
        /// The engine, over gRPC and REST alike.
        case engine
        /// The token server of the same process; only slowness and statuses are possible there.
        case tokens
    }

    /// What goes wrong.
    public var fault: Fault
    /// Where.
    public var target = Target.engine
    /// For which resource; `nil` for all.
    public var subject: EngineActivity.Subject?
    /// For which RPCs; empty for all.
    public var methods: Set<FleetMethod> = []
    /// How likely each call is struck, above 0 and up to 1.
    public var share = 1.0
    /// How many calls are struck at most; `nil` for no end.
    public var calls: Int?
    /// How long after the script is set the step begins.
    public var after = Duration.zero
    /// How long it lasts from then on; `nil` for no end.
    public var lasting: Duration?

    /// Makes a step that strikes every call; set what it is limited to.
    public init(_ fault: Fault) {
        self.fault = fault
    }
}

/// What goes wrong.
public enum Fault: Hashable, Sendable {
    /// The answer takes so much longer.
    case slow(Duration)
    /// The call is answered with a status that has nothing to do with it.
    case status(EngineError.Code)
    /// The token is refused for a reason, whatever it says.
    case refuse(TokenRefusal.Reason)
    /// The verifier's clock is ahead by so much, or behind where negative.
    case clockOff(Duration)
    /// The verifier no longer has the keys of accounts with a role; of all accounts for `nil`.
    case keyExpired(Role?)
    /// The keys of accounts with a role, or of all, were replaced when the step began: the verifier does not have those
    /// of tokens whose `iat` is more than 5 minutes older than that, which is how far Fleetpass sets it back.
    case keyRotated(Role?)

    /// The fault in the words of scripts.
    public var description: String {
        switch self {
        case .slow(let delay): "slow \(FaultTime.text(delay))"
        case .status(let code): "status \(code.rawValue)"
        case .refuse(let reason): "refuse \(reason)"
        case .clockOff(let offset): "clockOff \(FaultTime.text(offset))"
        case .keyExpired(let role): "keyExpired \(role?.rawValue ?? "all")"
        case .keyRotated(let role): "keyRotated \(role?.rawValue ?? "all")"
        }
    }
}

/// Times as scripts write them: `500ms`, `2s`, `-10m`, `1h`, or a number of seconds.
enum FaultTime {
    private static let units: [WrittenTime.Unit] = [.milliseconds, .seconds, .minutes, .hours]

    /// Reads a time of at most a day.
    static func read(_ text: String) -> Duration? {
        let isNegative = text.hasPrefix("-")
        guard let time = WrittenTime.read(text.dropFirst(isNegative ? 1 : 0), in: Set(self.units)),
            time <= .seconds(86_400)
        else { return nil }
        return isNegative ? .zero - time : time
    }

    /// Writes a time in the largest unit that fits.
    static func text(_ time: Duration) -> String {
        let (seconds, attoseconds) = time.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        let unit = Self.units.last { milliseconds.isMultiple(of: $0.milliseconds) } ?? .milliseconds
        return milliseconds == 0 ? "0s" : "\(milliseconds / unit.milliseconds)\(unit.rawValue)"
    }
}
