# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The vendor's client drives the on-demand methods with each kind of credential."""

import pytest
from google.api_core import exceptions
from google.maps import fleetengine_v1 as fleet
from google.protobuf import field_mask_pb2

import clients

CREDENTIALS = {
    "tokens by mint": lambda service: clients.by_mint(service, "server"),
    "google-auth jwt with claims": lambda service: clients.by_google_jwt(
        service, "server", {"vehicleid": "*", "tripid": "*"}
    ),
    "service account of an admin, no claims": lambda service: clients.by_service_account(service, "ondemand_admin"),
}


@pytest.fixture(params=CREDENTIALS)
def backend(request, service):
    return CREDENTIALS[request.param](service)


def mask(*paths):
    return field_mask_pb2.FieldMask(paths=paths)


def create_vehicle(backend, service, vehicle):
    return backend.vehicles.create_vehicle(
        fleet.CreateVehicleRequest(
            parent=f"providers/{service.provider}",
            vehicle_id=vehicle,
            vehicle=clients.vehicle_message(service, vehicle),
        )
    )


def create_trip(backend, service, trip):
    return backend.trips.create_trip(
        fleet.CreateTripRequest(
            parent=f"providers/{service.provider}", trip_id=trip, trip=clients.trip_message(service, trip)
        )
    )


def test_a_vehicle_is_created_read_updated_and_found(backend, service, new_id):
    vehicle = new_id("vehicle")
    name = f"providers/{service.provider}/vehicles/{vehicle}"

    created = create_vehicle(backend, service, vehicle)
    assert created.name == name
    assert created.last_location.server_time

    read = backend.vehicles.get_vehicle(fleet.GetVehicleRequest(name=name))
    assert read.maximum_capacity == 4
    assert read.last_location.location.latitude == 37.419645

    updated = backend.vehicles.update_vehicle(
        fleet.UpdateVehicleRequest(
            name=name,
            vehicle=fleet.Vehicle(
                maximum_capacity=6,
                vehicle_state=fleet.VehicleState.OFFLINE,
                last_location=fleet.VehicleLocation(location={"latitude": 37.4197, "longitude": -122.0739}),
            ),
            update_mask=mask("maximum_capacity", "last_location"),
        )
    )
    assert updated.maximum_capacity == 6
    assert updated.last_location.location.latitude == 37.4197
    assert updated.vehicle_state == fleet.VehicleState.ONLINE, "fields outside the mask stay"

    # Tests before this one leave vehicles in the same place; one that only this vehicle can seat is asked for.
    request = clients.search_request(service)
    request.minimum_capacity = 6
    found = backend.vehicles.search_vehicles(request)
    assert vehicle in [match.vehicle.name.rsplit("/", 1)[1] for match in found.matches]
    backend.vehicles.update_vehicle(
        fleet.UpdateVehicleRequest(
            name=name, vehicle=fleet.Vehicle(vehicle_state=fleet.VehicleState.OFFLINE),
            update_mask=mask("vehicleState"),
        )
    )
    found = backend.vehicles.search_vehicles(request)
    assert vehicle not in [match.vehicle.name.rsplit("/", 1)[1] for match in found.matches]


def test_a_trip_is_created_read_and_assigned(backend, service, new_id):
    vehicle, trip = new_id("vehicle"), new_id("trip")
    name = f"providers/{service.provider}/trips/{trip}"
    create_vehicle(backend, service, vehicle)

    created = create_trip(backend, service, trip)
    assert created.name == name
    assert created.trip_status == fleet.TripStatus.NEW
    assert backend.trips.get_trip(fleet.GetTripRequest(name=name)).pickup_point.point.latitude == 37.419646

    assigned = backend.trips.update_trip(
        fleet.UpdateTripRequest(
            name=name,
            trip=fleet.Trip(vehicle_id=vehicle, trip_status=fleet.TripStatus.ENROUTE_TO_PICKUP),
            update_mask=mask("vehicle_id", "trip_status"),
        )
    )
    assert (assigned.vehicle_id, assigned.trip_status) == (vehicle, fleet.TripStatus.ENROUTE_TO_PICKUP)
    carrier = backend.vehicles.get_vehicle(
        fleet.GetVehicleRequest(name=f"providers/{service.provider}/vehicles/{vehicle}")
    )
    assert list(carrier.current_trips) == [trip]


def test_a_used_id_and_a_missing_one_are_told_apart(backend, service, new_id):
    vehicle = new_id("vehicle")
    create_vehicle(backend, service, vehicle)
    with pytest.raises(exceptions.AlreadyExists):
        create_vehicle(backend, service, vehicle)
    with pytest.raises(exceptions.NotFound):
        backend.trips.get_trip(
            fleet.GetTripRequest(name=f"providers/{service.provider}/trips/{new_id('trip')}")
        )


def test_an_update_without_a_mask_is_refused(backend, service, new_id):
    vehicle = new_id("vehicle")
    create_vehicle(backend, service, vehicle)
    with pytest.raises(exceptions.InvalidArgument):
        backend.vehicles.update_vehicle(
            fleet.UpdateVehicleRequest(
                name=f"providers/{service.provider}/vehicles/{vehicle}", vehicle=fleet.Vehicle(maximum_capacity=2)
            )
        )


def test_a_driver_reports_its_own_vehicle_with_google_auth(service, vehicle, new_id):
    driver = clients.by_google_jwt(service, "driver", {"vehicleid": vehicle})
    request = fleet.UpdateVehicleRequest(
        name=f"providers/{service.provider}/vehicles/{vehicle}",
        vehicle=fleet.Vehicle(last_location={"location": {"latitude": 1, "longitude": 2}}),
        update_mask=mask("last_location"),
    )
    assert driver.vehicles.update_vehicle(request).last_location.location.longitude == 2
    request.name = f"providers/{service.provider}/vehicles/{new_id('vehicle')}"
    with pytest.raises(exceptions.PermissionDenied) as caught:
        driver.vehicles.update_vehicle(request)
    assert caught.value.reason == "CLAIM_MISMATCH"


def test_an_audience_of_the_services_own_address_is_refused(service, vehicle):
    backend = clients.by_on_demand_jwt(service, "ondemand_admin")
    with pytest.raises(exceptions.Unauthenticated) as caught:
        backend.vehicles.get_vehicle(
            fleet.GetVehicleRequest(name=f"providers/{service.provider}/vehicles/{vehicle}")
        )
    assert caught.value.reason == "AUDIENCE_MISMATCH"


def test_a_service_account_without_claims_reaches_nothing_unless_it_is_an_admins(service, vehicle):
    backend = clients.by_service_account(service, "server")
    with pytest.raises(exceptions.PermissionDenied) as caught:
        backend.vehicles.get_vehicle(
            fleet.GetVehicleRequest(name=f"providers/{service.provider}/vehicles/{vehicle}")
        )
    assert caught.value.reason == "CLAIMS_MISSING"
