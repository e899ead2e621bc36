// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The generated types of the on-demand API under the names of the API itself.
public typealias Vehicle = Maps_Fleetengine_V1_Vehicle
/// A trip of the on-demand API.
public typealias Trip = Maps_Fleetengine_V1_Trip
/// Where a vehicle is, and how that is known.
public typealias VehicleLocation = Maps_Fleetengine_V1_VehicleLocation
/// A stop on a vehicle's way, with the trip it belongs to.
public typealias TripWaypoint = Maps_Fleetengine_V1_TripWaypoint
/// A place that a trip starts from or leads to.
public typealias TerminalLocation = Maps_Fleetengine_V1_TerminalLocation
/// Where a vehicle really stopped, and when.
public typealias StopLocation = Maps_Fleetengine_V1_StopLocation
/// How far a trip is.
public typealias TripStatus = Maps_Fleetengine_V1_TripStatus
/// Whether a trip has its vehicle to itself.
public typealias TripType = Maps_Fleetengine_V1_TripType
/// A key and value of a vehicle.
public typealias VehicleAttribute = Maps_Fleetengine_V1_VehicleAttribute
/// A key and value of a trip.
public typealias TripAttribute = Maps_Fleetengine_V1_TripAttribute
/// A point in degrees.
public typealias LatLng = Google_Type_LatLng
