// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation

/// How far the phone's date lies from the token server's, as the `Date` of an answer showed it.
///
/// It is an observation only: expiry is counted on a clock that no date can move. An app may use it to tell its user that
/// the phone's clock is wrong, or to correct times that it reports.
public struct DeviceClockError: Hashable, Sendable, CustomStringConvertible {
    /// The phone's date less the server's: positive when the phone is ahead.
    public var offset: Duration
    /// How far the true offset may lie from ``offset``: half the round trip, and half of the second that `Date` cuts off.
    public var uncertainty: Duration
    /// When this was measured, on the server's clock.
    public var measuredAt: Date

    /// Describes an observation.
    public init(offset: Duration, uncertainty: Duration, measuredAt: Date) {
        self.offset = offset
        self.uncertainty = uncertainty
        self.measuredAt = measuredAt
    }

    /// Compares an answer's `Date` with the phone's; `nil` for an answer that has none, or that comes from a cache.
    ///
    /// - Parameters:
    ///   - response: What the server answered.
    ///   - receivedAt: The phone's date when the answer had come.
    ///   - roundTrip: The time from the request to the answer, on a clock that no date can move.
    init?(comparing response: HTTPTransportResponse, receivedAt: Date, roundTrip: Duration) {
        guard let seconds = response.header("Date").flatMap(HTTPDate.unixSeconds),
            response.header("Age").map({ Int64($0) == 0 }) ?? true
        else { return nil }
        // The server wrote its date somewhere within the round trip, and cut it off to whole seconds.
        let atServer = Duration.seconds(seconds) + .milliseconds(500)
        let atPhone = Duration.seconds(receivedAt.timeIntervalSince1970) - roundTrip / 2
        self.offset = atPhone - atServer
        self.uncertainty = roundTrip / 2 + .milliseconds(500)
        self.measuredAt = Date(timeIntervalSince1970: Double(seconds) + 0.5)
    }

    /// Direction, size and uncertainty in seconds.
    public var description: String {
        let side = self.offset < .zero ? "behind" : "ahead of"
        let size = self.offset < .zero ? .zero - self.offset : self.offset
        return "The phone's clock is \(size.components.seconds) s \(side) the token server's "
            + "(give or take \(self.uncertainty.components.seconds + 1) s)."
    }
}
