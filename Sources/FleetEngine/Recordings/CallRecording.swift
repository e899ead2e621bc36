// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation

/// A recording that cannot be read.
public struct CallRecordingError: Error, Hashable, Sendable {
    /// What is wrong with it, in words that follow the name of the file or entry.
    public let message: String

    init(_ message: String) {
        self.message = message
    }
}

/// Calls, as Cloud Logging exports them or as ``CallRecorder`` keeps them; in the order of their times, but for
/// ``inOrderOfWork``.
public struct CallRecording: Hashable, Sendable {
    /// The calls, the earliest first.
    public let calls: [LoggedCall]
    /// The numbers of the lines that were passed over, from 1, as they are not JSON: a recorder that is killed leaves one.
    public let tornLines: [Int]
    /// The entries that were passed over, as they are of something else than a call that is known.
    public let otherEntries: [OtherEntry]
    /// The numbers of the entries that were passed over, from 1, as the recording has them already: an export may hold an
    /// entry twice.
    public let repeatedEntries: [Int]

    /// An entry of a log that is no call of Fleet Engine, or one of a method that it has no longer.
    public struct OtherEntry: Hashable, Sendable {
        /// Its number, from 1.
        public let number: Int
        /// The type that it names, without what precedes its last dot; empty where it names none.
        public let type: String
    }

    /// Makes a recording of calls, in any order.
    init(
        _ calls: [LoggedCall], tornLines: [Int] = [], otherEntries: [OtherEntry] = [], repeatedEntries: [Int] = []
    ) {
        // Stable, as calls may have been answered at the same time.
        let sorted = calls.enumerated()
            .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
            .map(\.element)
        self.init(
            ordered: sorted, tornLines: tornLines, otherEntries: otherEntries, repeatedEntries: repeatedEntries)
    }

    /// Makes a recording of calls in their order.
    init(
        ordered calls: [LoggedCall], tornLines: [Int] = [], otherEntries: [OtherEntry] = [], repeatedEntries: [Int] = []
    ) {
        self.calls = calls
        self.tornLines = tornLines
        self.otherEntries = otherEntries
        self.repeatedEntries = repeatedEntries
    }

    /// Reads a recording: an array of log entries, an object that holds one as `rawLogs` or `entries`, or one of these or
    /// an entry on each line.
    ///
    /// Of several lines, those that are not JSON are passed over; ``tornLines`` has them, but for blank ones. So are
    /// entries of something else, which ``otherEntries`` has, and entries that stand there again, as
    /// ``repeatedEntries`` has them.
    ///
    /// - Parameter bytes: The UTF-8 JSON, with a byte order mark or without.
    /// - Throws: ``CallRecordingError`` that names the first entry that is wrong, or of something else where all are.
    public init(parsing bytes: Data) throws(CallRecordingError) {
        let bytes = bytes.withoutByteOrderMark
        var read = Reading()
        var tornLines: [Int] = []
        do throws(TokenError) {
            for entry in Self.entries(of: try JSONValue(parsing: bytes)) { read.take(entry) }
        } catch let whole {
            // One value after another is no JSON text, but may be lines of them. No more than one is held at a time.
            let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            for (index, line) in lines.enumerated() where line.contains(where: { !Self.blanks.contains($0) }) {
                if let value = try? JSONValue(parsing: line) {
                    for entry in Self.entries(of: value) { read.take(entry) }
                } else {
                    tornLines.append(index + 1)
                }
            }
            // Texts of several lines each have lines that are JSON of their own, such as numbers.
            guard read.hasObjects || tornLines.isEmpty else {
                throw CallRecordingError("is not JSON: \(whole.message)")
            }
        }
        try read.check()
        self.init(
            read.calls, tornLines: tornLines, otherEntries: read.others, repeatedEntries: read.repeated)
    }

    /// What the entries come to that were read so far.
    private struct Reading {
        private(set) var calls: [LoggedCall] = []
        private(set) var others: [OtherEntry] = []
        private(set) var repeated: [Int] = []
        private(set) var hasObjects = false
        private var known: Set<LoggedCall.EntryID> = []
        private var count = 0
        /// What is wrong with the first entry that is wrong; what comes after it is not kept.
        private var problem: CallRecordingError?

        mutating func take(_ entry: JSONValue) {
            self.count += 1
            let object = entry.object
            if object != nil { self.hasObjects = true }
            guard self.problem == nil else { return }
            guard let object else {
                self.problem = CallRecordingError("is no recording: its entry \(self.count) is not an object")
                return
            }
            if let id = LoggedCall.EntryID(object), !self.known.insert(id).inserted {
                self.repeated.append(self.count)
                return
            }
            do throws(CallRecordingError) {
                if let call = try LoggedCall(entry: object) {
                    self.calls.append(call)
                } else {
                    self.others.append(OtherEntry(number: self.count, type: LoggedCall.type(of: object)))
                }
            } catch {
                self.problem = CallRecordingError("is no recording: its entry \(self.count) \(error.message)")
            }
        }

        /// Checks that there are entries, none of them wrong, and a call among them.
        func check() throws(CallRecordingError) {
            guard self.count > 0 else { throw CallRecordingError("holds no entries") }
            if let problem { throw problem }
            if self.calls.isEmpty, let other = self.others.first {
                let kind = other.type.isEmpty ? "has no type" : "is of the type \"\(other.type.shown(upTo: 128))\""
                throw CallRecordingError(
                    "is no recording: its entry \(other.number) \(kind), and none is a call of Fleet Engine; name an "
                        + "export of its log, or the file of up --record")
            }
        }
    }

    /// What a line holds that is blank.
    private static let blanks = Set(" \t\r".utf8)

    /// The entries of one text of JSON: an array of them, or what holds one, as the API of Cloud Logging does; or itself.
    private static func entries(of value: JSONValue) -> [JSONValue] {
        value.array ?? value.object?["rawLogs"]?.array ?? value.object?["entries"]?.array ?? [value]
    }

    /// The calls that are about a resource.
    ///
    /// - Parameter id: The id of a vehicle, trip or task.
    /// - Returns: The calls whose request names it, or whose response is a resource that does; what lists and searches found
    ///   does not count.
    public func about(_ id: String) -> CallRecording {
        CallRecording(self.calls.filter { $0.names(id) })
    }

    /// The ids of the providers on whose resources a call was carried out, in their order; an engine may serve several, and
    /// what was refused may name any.
    public var providers: [String] {
        Set(self.calls.lazy.filter { !$0.isRefused }.map(\.provider)).subtracting([""]).sorted()
    }

    /// The calls on one provider's resources.
    ///
    /// - Parameter provider: The provider's id.
    /// - Returns: Its calls; those whose entry does not tell a provider are left out.
    public func of(provider: String) -> CallRecording {
        CallRecording(ordered: self.calls.filter { $0.provider == provider })
    }

    /// The recording as one JSON text, which viewers of Cloud Logging exports load.
    public var exported: Data {
        let isDelivery = self.calls.contains { $0.method.isDelivery }
        let vehicle = self.calls.lazy
            .filter { ["vehicles", "deliveryVehicles"].contains($0.collection) }.compactMap(\.resourceID).first
        let document: JSONObject = [
            "vehicle": .string(vehicle ?? ""),
            "projectId": .string(self.calls.first?.provider ?? ""),
            "logSource": .string("Cloud Logging"),
            "solutionType": .string(isDelivery ? "LMFS" : "ODRD"),
            "rawLogs": .array(self.calls.map { .object($0.entry) }),
        ]
        return Data(JSONValue.object(document).serialized)
    }
}

extension LoggedCall {
    fileprivate func names(_ id: String) -> Bool {
        if self.resourceID == id { return true }
        let batch = self.request["requests"]?.array?.compactMap(\.object) ?? []
        return batch.contains { $0["taskId"]?.string == id }
            || [self.request, self.resource, self.response].compactMap(\.self).contains { object in
                ["vehicleId", "tripId", "deliveryVehicleId", "trackingId"].contains { object[$0]?.string == id }
                    || object["currentTrips"]?.array?.contains(.string(id)) == true
                    || object.stopTasks.contains(id) || object.stopTrips.contains(id)
            }
    }
}

extension JSONObject {
    /// The ids of the tasks at the stops of a delivery vehicle.
    var stopTasks: [String] {
        let segments = self["remainingVehicleJourneySegments"]?.array ?? []
        return segments.flatMap { $0.object?["stop"]?.object?["tasks"]?.array ?? [] }
            .compactMap { $0.object?["taskId"]?.string }
    }

    /// The ids of the trips in the order of a vehicle's stops, which a vehicle and its trips hold.
    fileprivate var stopTrips: [String] {
        ["waypoints", "vehicleWaypoints"].flatMap { self[$0]?.array ?? [] }.compactMap { $0.object?["tripId"]?.string }
    }

    /// The object with some of its members.
    func only(_ keys: Set<String>) -> JSONObject {
        JSONObject(Dictionary(self.filter { keys.contains($0.key) }.map { ($0.key, $0.value) }) { first, _ in first })
    }
}
