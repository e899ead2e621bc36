// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetSigning
import FleetTokens
package import Foundation

/// What other servers' clocks say, by the `Date` that their answers carry (RFC 9110 §6.6.1).
///
/// A clock that was wrong from the start cannot be told by itself.
package final class UpstreamClocks: Sendable {
    /// How far the clock of this machine is from another's.
    package struct Reading: Sendable, Equatable {
        /// The other machine's name.
        package let host: String
        /// How much later it is here, in seconds; negative where the clock here is behind.
        package let ahead: Double
        /// How long ago the other said so.
        package let age: Duration
    }

    /// What was heard from one host.
    private struct Answer {
        let date: Date
        /// When that was, on a clock that nobody sets.
        let uptime: Duration
        let mayBeStored: Bool
    }

    /// How many hosts are remembered; the one that was heard longest ago gives way.
    private static let most = 16

    private let time: TimeSource
    private let answers = Locked<[String: Answer]>([:])

    /// Remembers nothing yet.
    ///
    /// - Parameter time: The clock, which nobody sets, by which answers age.
    package init(time: TimeSource = TimeSource(clock: ContinuousClock())) {
        self.time = time
    }

    /// Has a request sent, and remembers the date of its answer.
    ///
    /// - Parameters:
    ///   - url: Where it is sent.
    ///   - mayBeStored: Whether a cache on the way may answer it, with a date of before.
    ///   - send: Sends it and waits for the answer.
    /// - Returns: The answer.
    /// - Throws: What `send` throws.
    func noting(
        _ url: String, mayBeStored: Bool, send: () async throws -> UpstreamResponse
    ) async throws -> UpstreamResponse {
        let start = self.time.uptime
        let response = try await send()
        // What a cache says to have kept has the date of when that was made.
        guard let date = response.header("Date").flatMap(HTTPDate.unixSeconds), response.header("Age") == nil,
            let host = URL(string: url)?.host()
        else { return response }
        // The other looked somewhere between, and writes whole seconds.
        let answer = Answer(
            date: Date(timeIntervalSince1970: Double(date) + 0.5), uptime: (start + self.time.uptime) / 2,
            mayBeStored: mayBeStored)
        self.answers.withLock { answers in
            answers[host] = answer
            guard answers.count > Self.most, let oldest = answers.min(by: { $0.value.uptime < $1.value.uptime })
            else { return }
            answers[oldest.key] = nil
        }
        return response
    }

    /// What is known of a time here.
    ///
    /// - Parameter now: What the clock of this machine says.
    /// - Returns: One reading for each host that was heard; the nearest first.
    package func readings(at now: Date) -> [Reading] {
        let uptime = self.time.uptime
        return self.answers.withLock { $0 }.compactMap { host, answer in
            let age = uptime - answer.uptime
            let ahead = now.timeIntervalSince(answer.date) - age / .seconds(1)
            // A cache that says nothing of it may have answered, with a date of any time before: it vouches for no clock.
            guard !answer.mayBeStored || ahead < -ClockDoubts.tolerance else { return nil }
            return Reading(host: host, ahead: ahead, age: age)
        }.sorted { (abs($0.ahead), $0.host) < (abs($1.ahead), $1.host) }
    }
}
