// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftProtobuf

/// Compares responses field by field and counts differences by kind.
struct ResponseDifferences {
    /// A kind of difference, such as `UpdateTrip: only recorded pickupTime`, and how often it was met.
    private(set) var counts: [String: Int] = [:]

    /// Times that lie closer are equal: the log has the time of the answer, not that of the work.
    private static let tolerance: TimeInterval = 1

    /// Compares a response with the recorded one.
    mutating func compare(_ recorded: some Message, with ours: some Message, in call: String) throws {
        self.compare(try Self.json(recorded), try Self.json(ours), at: "", in: call)
    }

    private static func json(_ message: some Message) throws -> Any {
        try JSONSerialization.jsonObject(with: message.jsonUTF8Data())
    }

    private mutating func count(_ kind: String, _ path: String, _ call: String) {
        self.counts["\(call): \(kind) \(path)", default: 0] += 1
    }

    private mutating func compare(_ recorded: Any?, _ ours: Any?, at path: String, in call: String) {
        switch (recorded, ours) {
        case (nil, nil): break
        case (_?, nil): self.count("only recorded", path, call)
        case (nil, _?): self.count("only ours", path, call)
        case (let recorded as [String: Any], let ours as [String: Any]):
            for key in Set(recorded.keys).union(ours.keys) {
                self.compare(recorded[key], ours[key], at: path.isEmpty ? key : "\(path).\(key)", in: call)
            }
        case (let recorded as [Any], let ours as [Any]):
            if recorded.count != ours.count { self.count("another number of", path, call) }
            for (recorded, ours) in zip(recorded, ours) {
                self.compare(recorded, ours, at: path + "[]", in: call)
            }
        default:
            if !Self.areEqual(recorded, ours) { self.count("another value of", path, call) }
        }
    }

    private static func areEqual(_ recorded: Any?, _ ours: Any?) -> Bool {
        if let recorded = recorded as? String, let ours = ours as? String {
            if recorded == ours { return true }
            guard let recorded = Self.seconds(recorded), let ours = Self.seconds(ours) else { return false }
            return abs(recorded - ours) <= Self.tolerance
        }
        return (recorded as? NSObject) == (ours as? NSObject)
    }

    /// A time or duration in the JSON form, in seconds.
    private static func seconds(_ text: String) -> TimeInterval? {
        if let stamp = try? Google_Protobuf_Timestamp(jsonString: "\"\(text)\"") {
            return stamp.date.timeIntervalSince1970
        }
        return text.hasSuffix("s") ? TimeInterval(text.dropLast()) : nil
    }
}
