// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// An IAM permission of Fleet Engine, without the `fleetengine.` prefix.
public enum Permission: String, CaseIterable, Sendable {
    case vehiclesCreate = "vehicles.create"
    case vehiclesDelete = "vehicles.delete"
    case vehiclesGet = "vehicles.get"
    case vehiclesList = "vehicles.list"
    case vehiclesSearch = "vehicles.search"
    case vehiclesSearchFuzzed = "vehicles.searchFuzzed"
    case vehiclesUpdate = "vehicles.update"
    case vehiclesUpdateLocation = "vehicles.updateLocation"
    case vehiclesAllowAllActions = "vehicles.allowAllActions"
    case tripsCreate = "trips.create"
    case tripsDelete = "trips.delete"
    case tripsGet = "trips.get"
    case tripsSearch = "trips.search"
    case tripsUpdate = "trips.update"
    case tripsUpdateState = "trips.updateState"
    case tripsAllowAllActions = "trips.allowAllActions"
    case deliveryVehiclesCreate = "deliveryvehicles.create"
    case deliveryVehiclesDelete = "deliveryvehicles.delete"
    case deliveryVehiclesGet = "deliveryvehicles.get"
    case deliveryVehiclesList = "deliveryvehicles.list"
    case deliveryVehiclesUpdate = "deliveryvehicles.update"
    case deliveryVehiclesUpdateLocation = "deliveryvehicles.updateLocation"
    case deliveryVehiclesUpdateVehicleStops = "deliveryvehicles.updateVehicleStops"
    case deliveryVehiclesAllowAllActions = "deliveryvehicles.allowAllActions"
    case tasksCreate = "tasks.create"
    case tasksDelete = "tasks.delete"
    case tasksGet = "tasks.get"
    case tasksList = "tasks.list"
    case tasksSearchWithTrackingID = "tasks.searchWithTrackingId"
    case tasksUpdate = "tasks.update"
    case tasksAllowAllActions = "tasks.allowAllActions"
    case taskTrackingInfoGet = "tasktrackinginfo.get"
    case taskTrackingInfoAllowAllActions = "tasktrackinginfo.allowAllActions"
    /// Ours: IAM lists no permission for the billing report, which only trusted backends may send.
    case billableTripsReport = "billabletrips.report"
}
