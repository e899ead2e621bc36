// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Whether a vehicle takes new trips.
public enum VehicleState: String, Sendable {
    /// The vehicle gets no new trips; those assigned go on.
    case offline = "OFFLINE"
    /// The vehicle may be matched with trips.
    case online = "ONLINE"
}
