// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import Foundation

@testable import FleetEngine

/// A call that a client makes at a time of its own, so that what it wrote can be told from what others did.
struct RaceCommand: Sendable, CustomStringConvertible {
    let call: WireCall
    let token: String
    let time: Date

    /// The time that the engine reads.
    @TaskLocal static var now = TestClock.start

    var description: String { "+\(Int(self.time.timeIntervalSince(TestClock.start))) s, \(self.token): \(self.call)" }

    /// Makes the call of an engine that reads now.
    func outcome(at engine: Engine) async throws -> RaceOutcome {
        try await Self.$now.withValue(self.time) {
            do {
                return .answer(
                    try await DirectWire(engine: engine).send(self.call, authorization: "Bearer \(self.token)"))
            } catch let failure as WireFailure {
                return .failure(failure)
            }
        }
    }
}

/// What a call ended with.
enum RaceOutcome: Hashable, Sendable {
    case answer(Data)
    case failure(WireFailure)

    var failure: WireFailure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}

/// What clients do at once, and what there was before; all of it follows from a seed.
struct RaceScript: Sendable {
    /// What is fought over.
    enum Topic: CaseIterable, Sendable {
        case vehicleUpdates, tripAssignment, taskStealing, batchCreation, deletions
    }

    let seed: UInt64
    let topic: Topic
    /// One after the other, before the race.
    let setup: [RaceCommand]
    /// The commands of each client, one after the other.
    let clients: [[RaceCommand]]

    init(seed: UInt64) {
        self.seed = seed
        self.topic = Topic.allCases[Int(seed % UInt64(Topic.allCases.count))]
        var draw = RaceDraw(seed: seed)
        self.setup = draw.setup(of: self.topic)
        let topic = self.topic
        self.clients = (0..<Int.random(in: 2...4, using: &draw.random)).map { _ in
            (0..<Int.random(in: 1...2, using: &draw.random)).map { _ in draw.command(of: topic) }
        }
    }
}
