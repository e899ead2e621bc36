// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a customer sees of a trip.
struct TripState: Equatable, Sendable {
    var isFollowing = false
    var status: String?
    var arrival: Date?
    /// Metres to the next stop.
    var distance: Int?
    /// The last answer that is missing, until there is news.
    var problem: String?
    var problemAt: Date?
    var lastTokenEvent: String?
}
