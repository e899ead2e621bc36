// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient

/// What is known of something in the engine.
protocol FollowedSnapshot: Sendable {
    /// What can become different about it.
    associatedtype Change: FollowedChange

    /// Whether nothing more will happen.
    var isOver: Bool { get }

    /// What is different from an earlier snapshot, in the order in which an app wants to hear it.
    func changes(since old: Self?) -> [Change]
}

/// One thing that became different about something in the engine.
protocol FollowedChange: Sendable {
    /// An answer is missing.
    static func failure(_ failure: EngineFailure) -> Self
}

extension TripChange: FollowedChange {}
extension ShipmentChange: FollowedChange {}

/// What a model knows of what it follows, and who listens; the model's actor holds it, and asks the engine.
struct Following<Snapshot: FollowedSnapshot>: Sendable {
    /// What is known; `nil` before the first answer.
    private(set) var snapshot: Snapshot?
    /// What tells a refused token from a missing permission, for the next question.
    private(set) var lastToken = LastToken()
    /// What asks.
    let polling: EnginePolling

    private let published = Broadcast<Snapshot.Change>()
    /// How many runs there are: one that was cancelled may end after the next one began.
    private var runs = 0

    /// Begins with nothing known.
    init(_ polling: EnginePolling) {
        self.polling = polling
    }

    private var isOver: Bool { self.snapshot?.isOver == true }

    /// A stream of what becomes different from now on, after what is known already.
    func changes() -> AsyncStream<Snapshot.Change> {
        // One answer makes up to twelve changes, which must fit.
        self.published.stream(
            bufferingNewest: max(16, self.polling.configuration.changeCapacity),
            after: self.snapshot?.changes(since: nil) ?? [], isOver: self.isOver)
    }

    /// Takes note that a run begins.
    mutating func beginRun() { self.runs += 1 }

    /// Takes note that a run ends, and ends the streams where no other goes on.
    mutating func endRun() {
        self.runs -= 1
        if self.isOver || self.runs == 0 { self.published.finish() }
    }

    /// Publishes what an answer changes, or what is wrong with it.
    ///
    /// - Parameters:
    ///   - answer: The answer.
    ///   - name: What its message is, for the error.
    ///   - merge: Makes the snapshot of a message and the one before.
    /// - Returns: What the question came to.
    mutating func take<Message: Decodable>(
        _ answer: EngineAnswer, named name: String, merge: (Message, Snapshot?) -> Snapshot
    ) -> EnginePolling.Round {
        self.lastToken.take(answer)
        var failure: EngineFailure?
        do throws(EngineFailure) {
            let old = self.snapshot
            let new = merge(try EnginePolling.message(Message.self, in: answer, named: name), old)
            self.snapshot = new
            for change in new.changes(since: old) { self.published.send(change) }
        } catch {
            self.published.send(.failure(error))
            failure = error
        }
        return EnginePolling.Round(failure: failure, isOver: self.isOver)
    }
}
