// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// One exchange of a delivery vehicle with the engine.
enum DeliveryReport: Sendable {
    case locations(FixBuffer.Batch, endsTracking: Bool)
    case reading
    case stops(upTo: Int)
    case outcome(Int)
}

extension DeliveryVehicleReporter: LocationReporting {
    var unsentCount: Int { self.plan.fixes.unsentCount }

    func send(_ report: DeliveryReport) async -> (any Error)? {
        do {
            switch report {
            case .locations(let batch, let endsTracking): return try await self.send(batch, endsTracking: endsTracking)
            case .reading: return try await self.readStops(limit: self.limit).failure
            case .stops(let number): return try await self.sendStops(upTo: number)
            case .outcome(let number): return try await self.sendOutcome(number)
            }
        } catch {
            // The calling task was cancelled; the engine may have got what was to be said, or not.
            return error
        }
    }

    private func send(_ batch: FixBuffer.Batch, endsTracking: Bool) async throws -> EngineFailure? {
        let answer = try await self.call(self.calls.locations(batch, self.configuration.sensor), limit: self.limit)
        self.plan.finish(batch, endsTracking: endsTracking, answer.failure)
        self.tell(.locations(newest: batch.last, pastCount: batch.past.count), answer.failure, answer.tokenWait)
        return answer.failure
    }

    private func readStops(limit: Duration) async throws -> (failure: EngineFailure?, tokenWait: Duration) {
        let answer = try await self.call(self.calls.reading, limit: limit)
        return (self.learnStops(from: answer), answer.tokenWait)
    }

    private func call(_ request: EngineRequest, limit: Duration) async throws -> EngineAnswer {
        let answer = try await self.calls.send(request, lastToken: self.lastToken, limit: limit)
        self.lastToken.take(answer)
        return answer
    }

    /// Sends the changes up to a number in one request, and where the engine refuses that for good, each in its turn: so a
    /// change is taken off the list for no other refusal than its own.
    private func sendStops(upTo number: Int) async throws -> EngineFailure? {
        let deadline = self.pace.time.now.advanced(by: self.limit)
        let numbers = self.plan.stopChanges.changes(upTo: number).map(\.number)
        var failure = try await self.sendStops(upTo: number, until: deadline)
        guard failure?.isFinal == true else { return failure }
        for next in numbers where self.plan.stopChanges.isPending(next) {
            failure = try await self.sendStops(upTo: next, until: deadline)
            // Those before it must be out of the way first.
            if let failure, !failure.isFinal { return failure }
        }
        return failure
    }

    /// Reads the list, changes it and sends it back, because it is replaced as a whole and a dispatcher may have changed it.
    private func sendStops(upTo number: Int, until deadline: MonotonicInstant) async throws -> EngineFailure? {
        var isRead = false
        var waited = Duration.zero
        while !self.plan.stopChanges.changes(upTo: number).isEmpty {
            if !isRead, !self.replacesAllStops(upTo: number) {
                let read = try await self.readStops(limit: self.pace.time.now.duration(to: deadline))
                waited += read.tokenWait
                if let failure = read.failure { return self.finishStops([], upTo: number, failure, waited) }
                isRead = true
            }
            try Task.checkCancellation()
            guard let (planned, task) = self.applyStopChanges(upTo: number, waited) else { return nil }
            var stops = planned
            var isAlone = true
            do {
                let answer = try await self.calls.sendStops(
                    for: task, lastToken: self.lastTaskToken, limit: self.pace.time.now.duration(to: deadline)
                ) {
                    stops = try self.takeStops(upTo: number, for: task, isRead: isRead, waited)
                    isAlone = self.plan.stopChanges.changes(upTo: number).count == 1
                    return stops
                }
                self.lastTaskToken.take(answer)
                return self.finishStops(
                    stops, upTo: number, isAlone: isAlone, self.learnStops(from: answer), waited + answer.tokenWait)
            } catch is StopsToMakeAnew {}
        }
        return nil
    }

    /// The list to send now; changes may have been taken off while the token for a task was fetched.
    ///
    /// - Throws: ``StopsToMakeAnew`` where what is left is nothing, or about another task, or needs the list to be read.
    private func takeStops(
        upTo number: Int, for task: TaskID?, isRead: Bool, _ tokenWait: Duration
    ) throws(StopsToMakeAnew) -> [VehicleStop] {
        guard isRead || self.replacesAllStops(upTo: number),
            let (stops, ownTask) = self.applyStopChanges(upTo: number, tokenWait), ownTask == task
        else { throw StopsToMakeAnew() }
        self.plan.stopChanges.noteSending { $0 <= number }
        return stops
    }

    /// The list after the changes up to a number; of those that were kept and are of no use any more, one event tells.
    private func applyStopChanges(
        upTo number: Int, _ tokenWait: Duration
    ) -> (stops: [VehicleStop], task: TaskID?)? {
        let (list, unheard) = self.plan.applyStopChanges(upTo: number)
        if let unheard {
            let failure = EngineFailure(
                stage: .engine, code: .failedPrecondition, message: unheard.message, cause: unheard)
            self.tell(.stops(self.plan.knownStops ?? []), failure, tokenWait, losesStopChange: true)
        }
        return list
    }

    /// Whether the stops before the changes up to a number play no part.
    private func replacesAllStops(upTo number: Int) -> Bool {
        self.plan.stopChanges.changes(upTo: number).contains(where: \.change.replacesAll)
    }

    private func sendOutcome(_ number: Int) async throws -> EngineFailure? {
        try Task.checkCancellation()
        guard let outcome = self.plan.outcomes.change(number) else { return nil }
        let answer = try await self.calls.send(outcome, lastToken: self.lastTaskToken, limit: self.limit) {
            self.plan.outcomes.noteSending { $0 == number }
        }
        self.lastTaskToken.take(answer)
        let failure = answer.failure
        if failure?.isFinal != false { self.plan.outcomes.remove({ $0 == number }, refusal: failure) }
        self.tell(.taskOutcome(outcome.outcome, of: outcome.task), failure, answer.tokenWait)
        return failure
    }

    // MARK: - What became of it

    private var limit: Duration { self.configuration.effectiveTimeLimit }

    private func learnStops(from answer: EngineAnswer) -> EngineFailure? {
        do throws(EngineFailure) {
            self.plan.learn(try DeliveryVehicleMessage.stops(in: answer.result.get()))
            return nil
        } catch {
            return error
        }
    }

    /// Takes note of what became of the changes up to a number; a refusal is nobody's where several were refused together.
    private func finishStops(
        _ stops: [VehicleStop], upTo number: Int, isAlone: Bool = true, _ failure: EngineFailure?, _ tokenWait: Duration
    ) -> EngineFailure? {
        var losesChange = false
        if failure.map({ $0.isFinal && isAlone }) ?? true {
            losesChange = self.plan.stopChanges.remove({ $0 <= number }, refusal: failure)
        }
        self.tell(.stops(stops), failure, tokenWait, losesStopChange: losesChange)
        return failure
    }

    private func tell(
        _ content: DeliveryVehicleUpdateEvent.Content, _ failure: EngineFailure?, _ tokenWait: Duration,
        losesStopChange: Bool = false
    ) {
        var event = DeliveryVehicleUpdateEvent(
            content: content,
            outcome: failure.map { .failed($0) } ?? .succeeded,
            unsentCount: self.plan.fixes.unsentCount,
            pendingCount: self.plan.pendingCount,
            droppedCount: self.plan.takeDropped(),
            tokenWait: tokenWait
        )
        event.losesStopChange = losesStopChange
        self.events.send(event)
    }
}

/// Says that the changes to be sent are others than those that a token was fetched for.
private struct StopsToMakeAnew: Error {}

extension EngineAnswer {
    fileprivate var failure: EngineFailure? {
        if case .failure(let failure) = self.result { failure } else { nil }
    }
}

extension EngineFailure {
    /// Whether the engine would refuse the same change again, so that to keep it would block those behind it.
    fileprivate var isFinal: Bool {
        let final: Set<RPCCode> = [
            .invalidArgument, .notFound, .alreadyExists, .permissionDenied, .failedPrecondition, .outOfRange,
            .unimplemented,
        ]
        return self.isEnginesOwn && final.contains(self.code)
    }
}
