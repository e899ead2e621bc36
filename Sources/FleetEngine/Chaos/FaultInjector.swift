// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
public import ServiceLifecycle

/// Lets things go wrong by script, at the one place where calls are admitted.
///
/// Without a script it costs a look under a lock. Whatever it does is marked as chaos in the answer.
public final class FaultInjector: Service {
    private struct State {
        var play: FaultPlay?
        /// How often a script was set or ended.
        var changes = 0
        /// What the calls wait for that are slow now, by number.
        var waits: [Int: Task<Void, any Error>] = [:]
        var lastWait = 0
    }

    private let state = Locked(State())
    private let time: TimeSource

    /// Makes an injector without a script, on the clocks of this machine.
    public convenience init() {
        self.init(time: TimeSource(clock: ContinuousClock()))
    }

    /// Makes an injector on clocks of its own.
    init(time: TimeSource) {
        self.time = time
    }

    /// Whether a script is set.
    public var isActive: Bool { self.state.withLock { $0.play != nil } }

    /// Begins a script in place of any other; `nil` ends the one that plays.
    ///
    /// Calls that are slow by the former go on at once.
    public func set(_ script: FaultScript?) {
        let play = script.map { FaultPlay($0, at: self.time.uptime, date: self.time.date) }
        let waits = self.state.withLock { state in
            state.play = play
            state.changes += 1
            return Array(state.waits.values)
        }
        for wait in waits { wait.cancel() }
    }

    /// Ends the script at graceful shutdown, which must not wait for calls that are slow on purpose.
    public func run() async throws {
        try? await gracefulShutdown()
        self.set(nil)
    }

    /// What plays, as `fleetpass chaos show` prints it.
    public var status: FaultStatus {
        let uptime = self.time.uptime
        let play = self.state.withLock { $0.play }
        return FaultStatus(
            steps: play.map { play in
                play.script.steps.indices.map { index in
                    FaultStatus.Step(
                        step: play.script.steps[index], state: play.state(of: index, at: uptime).rawValue,
                        strikes: play.strikes[index])
                }
            } ?? [])
    }

    /// Decides what strikes a call of the engine, and waits where it is to be slow.
    ///
    /// - Returns: The effect; `nil` where nothing strikes, whatever the token.
    /// - Throws: ``EngineError`` where the call is answered with a status.
    func strike(
        _ method: FleetMethod, _ access: AccessRequest?, remarks: CallRemarks?
    ) async throws(EngineError) -> FaultEffect? {
        let call = FaultPlay.Call(target: .engine, method: method, subjects: access?.subjects ?? [])
        guard var effect = try await self.strike(call) else { return nil }
        remarks?.mark(chaos: effect.marks)
        if let status = effect.status { throw status }
        effect.takeKey = { token in
            let uptime = self.time.uptime
            let mark = self.state.withLock { $0.play?.strikeKey(of: token, in: call, at: uptime) }
            if let mark { remarks?.mark(chaos: [mark]) }
            return mark
        }
        return effect
    }

    /// Decides what strikes a request for a token, and waits where it is to be slow.
    ///
    /// - Parameter subject: Whose token it asks for; `nil` where it names nobody.
    /// - Returns: The status to answer with, and what struck; `nil` where nothing strikes.
    /// - Throws: ``EngineError`` where the caller went while it waited.
    public func strikeTokenRequest(
        for subject: EngineActivity.Subject?
    ) async throws(EngineError) -> (status: EngineError?, marks: [String])? {
        let call = FaultPlay.Call(target: .tokens, subjects: subject.map { [$0] } ?? [])
        return try await self.strike(call).map { ($0.status, $0.marks) }
    }

    private func strike(_ call: FaultPlay.Call) async throws(EngineError) -> FaultEffect? {
        let uptime = self.time.uptime
        let (effect, change) = self.state.withLock { state in
            (state.play?.strike(call, at: uptime), state.changes)
        }
        guard let effect, !effect.isEmpty else { return nil }
        guard effect.delay > .zero else { return effect }
        await self.wait(for: effect.delay, after: change)
        guard !Task.isCancelled else {
            throw EngineError(code: .unavailable, reason: "CANCELLED", message: "The call was cancelled; call again.")
        }
        return effect
    }

    /// Waits, but no longer than the script plays that wants it, nor than the calling task lives.
    private func wait(for delay: Duration, after change: Int) async {
        let wait = Task { [time] in try await time.sleep(for: delay) }
        let number = self.state.withLock { state -> Int? in
            guard state.changes == change else { return nil }
            state.lastWait += 1
            state.waits[state.lastWait] = wait
            return state.lastWait
        }
        guard let number else {
            wait.cancel()
            return
        }
        await withTaskCancellationHandler {
            _ = await wait.result
        } onCancel: {
            wait.cancel()
        }
        self.state.withLock { $0.waits[number] = nil }
    }
}

/// A script as it plays.
public struct FaultStatus: Codable, Hashable, Sendable {
    /// One step.
    public struct Step: Codable, Hashable, Sendable {
        /// The step.
        public let step: FaultStep
        /// `waiting`, `active` or `over`.
        public let state: String
        /// How many calls it struck.
        public let strikes: Int
    }

    /// The steps in their order; empty where no script is set.
    public let steps: [Step]
}

extension CallRemarks {
    /// Whether a script struck the call.
    var tellOfChaos: Bool { self.fields.contains { $0.name == Self.chaosName } }
}

extension AccessRequest {
    /// Everything that the call addresses.
    fileprivate var subjects: Set<EngineActivity.Subject> {
        typealias Subject = EngineActivity.Subject
        var subjects: Set<Subject> = []
        if let vehicle { subjects.insert(Subject(kind: .vehicle, id: vehicle.value)) }
        if let trip { subjects.insert(Subject(kind: .trip, id: trip.value)) }
        if let deliveryVehicle { subjects.insert(Subject(kind: .deliveryVehicle, id: deliveryVehicle.value)) }
        for task in self.tasks { subjects.insert(Subject(kind: .task, id: task.value)) }
        if let tracking { subjects.insert(Subject(kind: .shipment, id: tracking.value)) }
        return subjects
    }
}
