// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Times two pieces of work by turns in one process, so that a noisy machine disturbs both alike.
struct Comparison {
    /// The median nanoseconds per operation of each side.
    var subject: Double
    var peer: Double

    /// Runs both sides in alternating rounds and keeps the median of each.
    static func run(
        rounds: Int = 15,
        operations: Int,
        subject: (Int) async throws -> Void,
        peer: (Int) async throws -> Void
    ) async rethrows -> Self {
        var subjectTimes: [Double] = []
        var peerTimes: [Double] = []
        for _ in 0..<rounds {
            subjectTimes.append(try await Self.time(operations, subject))
            peerTimes.append(try await Self.time(operations, peer))
        }
        return Self(subject: subjectTimes.sorted()[rounds / 2], peer: peerTimes.sorted()[rounds / 2])
    }

    private static func time(_ operations: Int, _ body: (Int) async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body(operations)
        let elapsed = (ContinuousClock.now - start).components
        return (Double(elapsed.seconds) * 1e9 + Double(elapsed.attoseconds) / 1e9) / Double(operations)
    }
}
