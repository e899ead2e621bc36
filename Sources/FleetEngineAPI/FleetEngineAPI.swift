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
/// A box on the map, as lists take it.
public typealias Viewport = Google_Geo_Type_Viewport
/// A vehicle of the scheduled-tasks API.
public typealias DeliveryVehicle = Maps_Fleetengine_Delivery_V1_DeliveryVehicle
/// A task of the scheduled-tasks API; plain `Task` is the language's own.
public typealias DeliveryTask = Maps_Fleetengine_Delivery_V1_Task
/// Where a delivery vehicle is, and how that is known.
public typealias DeliveryVehicleLocation = Maps_Fleetengine_Delivery_V1_DeliveryVehicleLocation
/// A key and value of a delivery vehicle.
public typealias DeliveryVehicleAttribute = Maps_Fleetengine_Delivery_V1_DeliveryVehicleAttribute
/// A key and value of a task.
public typealias TaskAttribute = Maps_Fleetengine_Delivery_V1_TaskAttribute
/// The way to a stop of a delivery vehicle, and the stop.
public typealias VehicleJourneySegment = Maps_Fleetengine_Delivery_V1_VehicleJourneySegment
/// A stop of a delivery vehicle, with the tasks that are done there.
public typealias VehicleStop = Maps_Fleetengine_Delivery_V1_VehicleStop
/// What a shipment's recipient may see.
public typealias TaskTrackingInfo = Maps_Fleetengine_Delivery_V1_TaskTrackingInfo
/// Which parts of its way a task shows to its recipient, and when.
public typealias TaskTrackingViewConfig = Maps_Fleetengine_Delivery_V1_TaskTrackingViewConfig
