// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// An error from locations, routes or the use of a reporter; what the engine answers is an `EngineFailure` instead.
public struct DriverError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, in terms a caller can act on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case invalidLocation, trackingDisabled, invalidSpeed, unreadableFile, fileTooLarge, invalidRoute
            case unknownVehicle, noRemainingStops, stopNotBegun, stopGone, invalidStops
        }
        private let wrapped: Wrapped
        private init(_ wrapped: Wrapped) { self.wrapped = wrapped }
        /// The bounded name, fit for a metric label.
        public var description: String { self.wrapped.rawValue }

        /// A latitude, longitude or time is not a number or out of range; drop the fix.
        public static let invalidLocation = Self(.invalidLocation)
        /// The vehicle cannot go online while location tracking is off; start tracking first.
        public static let trackingDisabled = Self(.trackingDisabled)
        /// A route cannot be played at this speed; use 0.001 or more.
        public static let invalidSpeed = Self(.invalidSpeed)
        /// A file cannot be read; see ``DriverError/cause``.
        public static let unreadableFile = Self(.unreadableFile)
        /// A route file is larger than what is read; cut it.
        public static let fileTooLarge = Self(.fileTooLarge)
        /// A route file breaks its format; the message says where.
        public static let invalidRoute = Self(.invalidRoute)
        /// A recording holds several vehicles, or not the named one; the message lists those it holds.
        public static let unknownVehicle = Self(.unknownVehicle)
        /// A delivery vehicle has no stop left to report on; set its stops first.
        public static let noRemainingStops = Self(.noRemainingStops)
        /// A stop cannot be completed before the way there or the arrival was reported.
        public static let stopNotBegun = Self(.stopNotBegun)
        /// A stop was taken off the list before the report about it was sent; read the remaining stops.
        ///
        /// Where the report was kept after a failure, an event's `EngineFailure` has this error as its cause.
        public static let stopGone = Self(.stopGone)
        /// Of a delivery vehicle's stops only the first may be begun; make the others new.
        public static let invalidStops = Self(.invalidStops)
    }

    /// The kind of failure.
    public var code: Code
    /// What failed and how to fix it.
    public var message: String
    /// The error underneath, if any.
    public var cause: (any Error)?
    /// Code and message on one line.
    public var description: String { "\(self.code): \(self.message)" }

    /// Makes an error.
    public init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension DriverError: CustomNSError {
    /// The message, and the error underneath.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: self.message]
        info[NSUnderlyingErrorKey] = self.cause
        return info
    }
}
