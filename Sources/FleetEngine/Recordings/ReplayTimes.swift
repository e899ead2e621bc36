// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
package import Foundation
import SwiftProtobuf

/// What becomes of the times of devices when a recording is replayed at another time, and faster.
///
/// A time between two calls becomes one between the moments at which these are sent again, so that of two fixes the newer
/// one stays the newer, however long the way to the service was.
package struct ReplayTimes: Sendable {
    /// The calls that were sent so far, each later than the one before.
    private var calls: [(recorded: Date, sent: Date)] = []

    /// Knows of no call yet, and changes no time.
    package init() {}

    /// Takes note of a call before it is sent, and what it presumes.
    ///
    /// - Parameters:
    ///   - call: The recorded call.
    ///   - now: The time.
    package mutating func add(_ call: LoggedCall, at now: Date) {
        guard self.calls.last.map({ $0.recorded < call.time }) ?? true else { return }
        self.calls.append((recorded: call.time, sent: now))
    }

    /// The time in place of a recorded one; that of the last call where a device's clock was ahead of it.
    func time(for recorded: Date) -> Date {
        guard let first = self.calls.first, let last = self.calls.last else { return recorded }
        guard recorded < last.recorded else { return last.sent }
        guard let index = self.calls.lastIndex(where: { $0.recorded <= recorded }) else {
            return first.sent - first.recorded.timeIntervalSince(recorded)
        }
        let (from, to) = (self.calls[index], self.calls[index + 1])
        let share = recorded.timeIntervalSince(from.recorded) / to.recorded.timeIntervalSince(from.recorded)
        return from.sent + share * to.sent.timeIntervalSince(from.sent)
    }
}

extension ReplayedCall {
    /// The fields of a location that tell when a device found it.
    private static let deviceTimes: Set<String> = [
        "updateTime", "rawLocationTime", "flpUpdateTime", "supplementalLocationTime",
    ]

    /// The call with the times of devices as if they had been reported now.
    ///
    /// - Parameter times: The calls so far, with this one.
    /// - Returns: The call to send.
    package func timed(by times: ReplayTimes) -> ReplayedCall {
        guard let content else { return self }
        return ReplayedCall(
            self.verb, self.path, action: self.action, query: self.query, body: Self.timed(content, by: times),
            isDelivery: self.isDelivery, isFilled: self.isFilled)
    }

    private static func timed(_ object: JSONObject, by times: ReplayTimes) -> JSONObject {
        var timed = object
        for (key, value) in object {
            switch value {
            case .object(let inner): timed[key] = .object(Self.timed(inner, by: times))
            case .string(let text) where Self.deviceTimes.contains(key):
                // What is no time is refused now, as it was.
                guard let recorded = try? Google_Protobuf_Timestamp(jsonString: "\"\(text)\""),
                    let json = try? Google_Protobuf_Timestamp(date: times.time(for: recorded.date)).jsonString()
                else { continue }
                timed[key] = .string(String(json.dropFirst().dropLast()))
            default: continue
            }
        }
        return timed
    }
}
