// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a driver sees of a shift.
struct ShiftState: Equatable, Sendable {
    /// What became of one update.
    enum Update: Equatable, Sendable {
        case succeeded(state: String)
        case failed(state: String, reason: String)
    }

    /// Why no places come.
    struct LocationProblem: Equatable, Sendable {
        var reason: String
        var since: Date
    }

    var isTracking = false {
        didSet { if self.isTracking != oldValue { self.isEnding = oldValue } }
    }
    /// Whether the update that sets the vehicle offline has not been answered yet.
    var isEnding = false
    /// How many updates the engine took.
    var succeeded = 0
    var lastUpdate: Update?
    var lastUpdateAt: Date?
    /// What is wrong with the vehicle's places, which updates without a new one hide.
    var locationProblem: LocationProblem?
    var lastTokenEvent: String?

    /// Whether the shift is over, and its last update failed.
    var mayBeOnline: Bool {
        if case .failed = self.lastUpdate { !self.isTracking && !self.isEnding } else { false }
    }
}
