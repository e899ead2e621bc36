// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import SwiftProtobuf

/// Trips as they were last shown: who asks again before the trip or its vehicle changed gets the same.
///
/// What an answer depends on is in one ``TripView/Question``, and in the time only as ``View/times`` says.
final class TripViews: Sendable {
    private struct View: Sendable {
        let question: TripView.Question
        let lasting: Trip
        let times: Times

        func answer(to question: TripView.Question, at now: Google_Protobuf_Timestamp) -> ShownTrip? {
            guard self.question.viewer == question.viewer, isSameInstance(self.question.trip, question.trip),
                isSameInstance(self.question.vehicle, question.vehicle)
            else { return nil }
            switch self.times {
            case .all: return ShownTrip(lasting: self.lasting, remainingTime: nil)
            case .before(let first, let taken, let end):
                guard !(now < taken), !(end < now) else { return nil }
                let left = Google_Protobuf_Duration(max(.zero, now.duration(to: first)))
                return ShownTrip(lasting: self.lasting, remainingTime: left)
            }
        }
    }

    /// At which times a trip is shown as it was.
    private enum Times: Sendable {
        /// Always: no stop is ahead.
        case all
        /// From when the vehicle was where it is until it should be at any stop; the time to the first is left out.
        case before(
            first: Google_Protobuf_Timestamp, taken: Google_Protobuf_Timestamp, end: Google_Protobuf_Timestamp)
    }

    /// How many trips are remembered, how many stops they may have ahead, and how long the image of one and that of its
    /// vehicle may be, in bytes, so that each takes a few KiB.
    static let capacity = 16_384
    static let maximumStops = 8
    static let maximumBytes = 4096

    private let recent = Remembered<View>(capacity: capacity)

    /// How many trips are remembered now.
    var count: Int { self.recent.count }

    /// Shows a trip.
    ///
    /// - Parameters:
    ///   - question: The trip, its vehicle, and who looks; their messages are told from others by being the same instance.
    ///   - id: The trip's id.
    ///   - name: The trip's name.
    ///   - context: The time of reading, and estimates that never change.
    /// - Returns: The trip as ``TripView/answer(_:id:context:)`` shows it.
    func answer(_ question: TripView.Question, id: String, name: String, context: CallContext) -> ShownTrip {
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        let known = self.recent[name]
        if let answer = known?.answer(to: question, at: now) { return answer }
        let shown = TripView.answer(question, id: id, context: context)
        guard let times = Self.times(of: shown.lasting, question.vehicle, at: now),
            Self.isShort(question, after: known?.question)
        else { return shown }
        self.recent.keep(View(question: question, lasting: shown.lasting, times: times), for: name)
        return shown
    }

    /// Whether what a question holds may be kept, in place of one that was.
    private static func isShort(_ question: TripView.Question, after known: TripView.Question?) -> Bool {
        func isShort(_ message: some Message) -> Bool {
            MessageImage.bytes(of: message, expecting: 1024, atMost: Self.maximumBytes) != nil
        }
        guard let vehicle = question.vehicle else { return isShort(question.trip) }
        // A report makes no vehicle long.
        if let known, let former = known.vehicle, isSameInstance(known.trip, question.trip),
            vehicle.differsByReportOnly(from: former)
        {
            return true
        }
        return isShort(question.trip) && isShort(vehicle)
    }

    /// At which times a trip is shown as now; `nil` where that is not known, or not worth its place.
    private static func times(
        of shown: Trip, _ vehicle: Vehicle?, at now: Google_Protobuf_Timestamp
    ) -> Times? {
        let stops = shown.remainingWaypoints
        guard let first = stops.first else { return .all }
        // Where the vehicle's place is not known, its times count from now.
        guard stops.count <= Self.maximumStops, let vehicle, vehicle.lastLocation.place != nil else { return nil }
        let taken = vehicle.lastLocation.serverTime
        // After a time of arrival that is over, the vehicle is taken to arrive now.
        let end = stops.dropFirst().reduce(first.eta) { $1.eta < $0 ? $1.eta : $0 }
        guard !(now < taken), !(end < now) else { return nil }
        return .before(first: first.eta, taken: taken, end: end)
    }
}

/// Whether two values are the same instance: the same bytes, references to the same messages among them.
///
/// Both are alive, so that what one refers to is no other's. Values that are not the same instance may be equal.
func isSameInstance<Value>(_ first: Value, _ second: Value) -> Bool {
    withUnsafeBytes(of: first) { first in withUnsafeBytes(of: second) { first.elementsEqual($0) } }
}
