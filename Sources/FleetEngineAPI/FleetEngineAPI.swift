// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The generated types of the on-demand API under the names of the API itself.
public typealias Vehicle = Maps_Fleetengine_V1_Vehicle
/// A trip of the on-demand API.
public typealias Trip = Maps_Fleetengine_V1_Trip
