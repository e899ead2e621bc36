// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation
import SwiftProtobuf

/// Compares answers with recorded ones, field by field, and counts differences by kind.
public struct ResponseDifferences: Sendable {
    /// What differs and where.
    public struct Kind: Hashable, Sendable {
        /// The RPC's short name.
        public let call: String
        /// In words, such as `only recorded`.
        public let difference: String
        /// The field, with `[]` for an element of a list.
        public let field: String
    }

    /// The kinds of difference that were met, and how often.
    public private(set) var counts: [Kind: Int] = [:]
    /// Times closer than this are equal; `nil` compares no times, as of a replay at another time.
    private let tolerance: Duration?

    /// Counts nothing yet.
    ///
    /// - Parameter tolerance: Times that lie closer are equal, as a log has the time of the answer and not that of the work;
    ///   `nil` compares no times.
    public init(tolerance: Duration?) {
        self.tolerance = tolerance
    }

    /// Compares the answer to a replayed call with the recorded one.
    ///
    /// Fields that the recorded one may lack are left out, as the request said by a version that its reader had them; and so
    /// is the token of the next page, which is another one each time.
    ///
    /// - Parameters:
    ///   - call: The recorded call.
    ///   - answer: The answer, in JSON.
    /// - Throws: ``CallRecordingError`` when the answer is not JSON.
    public mutating func compare(_ call: LoggedCall, with answer: Data) throws(CallRecordingError) {
        do throws(TokenError) {
            let ours = try JSONValue(parsing: answer)
            self.compare(
                call.response.map(JSONValue.object), ours, at: "", in: call.name,
                leavingOut: call.fieldsOfVersions.union(["nextPageToken"]))
        } catch {
            throw CallRecordingError("was answered with what is not JSON: \(error.message)")
        }
    }

    mutating func compare(_ recorded: JSONObject?, with ours: some Message, in call: String) throws {
        let json: [UInt8] = try ours.jsonUTF8Bytes()
        self.compare(recorded.map(JSONValue.object), try JSONValue(parsing: json), at: "", in: call)
    }

    private mutating func compare(
        _ recorded: JSONValue?, _ ours: JSONValue?, at path: String, in call: String,
        leavingOut fields: Set<String> = []
    ) {
        guard !fields.contains(path) else { return }
        func count(_ difference: String) {
            self.counts[Kind(call: call, difference: difference, field: path), default: 0] += 1
        }
        switch (recorded, ours) {
        case (nil, nil): break
        case (_?, nil): count("only recorded")
        case (nil, _?): count("only ours")
        case (.object(let recorded)?, .object(let ours)?):
            for key in Set(recorded.keys).union(ours.keys) where key != "name" || !path.isEmpty {
                self.compare(
                    recorded[key], ours[key], at: path.isEmpty ? key : "\(path).\(key)", in: call, leavingOut: fields)
            }
        case (.array(let recorded)?, .array(let ours)?):
            if recorded.count != ours.count { count("another number of") }
            for (recorded, ours) in zip(recorded, ours) {
                self.compare(recorded, ours, at: path + "[]", in: call, leavingOut: fields)
            }
        case (let recorded?, let ours?):
            if !self.areEqual(recorded, ours) { count("another value of") }
        }
    }

    private func areEqual(_ recorded: JSONValue, _ ours: JSONValue) -> Bool {
        if recorded == ours { return true }
        if let recorded = recorded.number, let ours = ours.number { return recorded == ours }
        guard let recorded = recorded.string, let ours = ours.string else { return false }
        let pairs = [(Self.time(recorded), Self.time(ours)), (Self.seconds(recorded), Self.seconds(ours))]
        for case let (recorded?, ours?) in pairs {
            return self.tolerance.map { abs(recorded - ours) <= $0 / .seconds(1) } ?? true
        }
        return false
    }

    private static func time(_ text: String) -> Double? {
        (try? Google_Protobuf_Timestamp(jsonString: "\"\(text)\""))?.date.timeIntervalSince1970
    }

    private static func seconds(_ text: String) -> Double? {
        text.hasSuffix("s") ? Double(text.dropLast()) : nil
    }
}

extension LoggedCall {
    /// The fields that an answer may lack, by the member of the request that tells which version its reader had.
    private static let versionedFields = [
        "currentRouteSegmentVersion": ["currentRouteSegment", "route"],
        "currentRouteSegmentTrafficVersion": ["currentRouteSegmentTraffic"],
        "waypointsVersion": ["waypoints"],
        "remainingWaypointsVersion": ["remainingWaypoints"],
        "remainingWaypointsRouteVersion": [
            "remainingWaypoints[].pathToWaypoint", "remainingWaypoints[].encodedPathToWaypoint",
            "remainingWaypoints[].trafficToWaypoint",
        ],
    ]

    /// The fields that the answer may lack, as the request told versions of them.
    fileprivate var fieldsOfVersions: Set<String> {
        Set(Self.versionedFields.filter { self.request[$0.key] != nil }.values.joined())
    }
}
