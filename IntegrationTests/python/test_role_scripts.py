# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The steps of the vendor's role scripts, with their inputs, over both transports; each denial is insisted on."""

import uuid
from dataclasses import dataclass

import pytest
from google.api_core import exceptions
from google.maps import fleetengine_delivery_v1 as delivery
from google.maps import fleetengine_v1 as fleet
from google.protobuf import field_mask_pb2

import clients

ALLOWED, DENIED = "allowed", "denied"


@dataclass
class World:
    """What the server script leaves behind for the others."""

    service: object
    vehicle: str
    trip: str
    delivery_vehicle: str
    own_vehicle: str
    task: str
    tracking: str

    @property
    def parent(self):
        return f"providers/{self.service.provider}"


def create_vehicle(client, world, vehicle):
    return client.vehicles.create_vehicle(
        fleet.CreateVehicleRequest(
            parent=world.parent, vehicle_id=vehicle, vehicle=clients.vehicle_message(world.service, vehicle)
        )
    )


def get_vehicle(client, world, vehicle):
    return client.vehicles.get_vehicle(fleet.GetVehicleRequest(name=f"{world.parent}/vehicles/{vehicle}"))


def set_offline(client, world, vehicle):
    name = f"{world.parent}/vehicles/{vehicle}"
    return client.vehicles.update_vehicle(
        fleet.UpdateVehicleRequest(
            name=name,
            vehicle=fleet.Vehicle(name=name, vehicle_state=fleet.VehicleState.OFFLINE),
            update_mask=field_mask_pb2.FieldMask(paths=["vehicle_state"]),
        )
    )


def create_trip(client, world, trip):
    return client.trips.create_trip(
        fleet.CreateTripRequest(parent=world.parent, trip_id=trip, trip=clients.trip_message(world.service, trip))
    )


def get_trip(client, world, trip):
    return client.trips.get_trip(fleet.GetTripRequest(name=f"{world.parent}/trips/{trip}"))


def complete_trip(client, world, trip):
    name = f"{world.parent}/trips/{trip}"
    return client.trips.update_trip(
        fleet.UpdateTripRequest(
            name=name,
            trip=fleet.Trip(name=name, trip_status=fleet.TripStatus.COMPLETE),
            update_mask=field_mask_pb2.FieldMask(paths=["trip_status"]),
        )
    )


def search(client, world, trip):
    return client.vehicles.search_vehicles(clients.search_request(world.service, trip))


def create_delivery_vehicle(client, world, vehicle):
    return client.deliveries.create_delivery_vehicle(
        delivery.CreateDeliveryVehicleRequest(
            parent=world.parent,
            delivery_vehicle_id=vehicle,
            delivery_vehicle=delivery.DeliveryVehicle(name=f"{world.parent}/deliveryVehicles/{vehicle}"),
        )
    )


def get_delivery_vehicle(client, world, vehicle):
    return client.deliveries.get_delivery_vehicle(
        delivery.GetDeliveryVehicleRequest(name=f"{world.parent}/deliveryVehicles/{vehicle}")
    )


def create_task(client, world, task):
    return client.deliveries.create_task(
        delivery.CreateTaskRequest(
            parent=world.parent, task_id=task, task=clients.task_message(world.service, task, world.tracking)
        )
    )


def set_outcome(client, world, task):
    return client.deliveries.update_task(
        delivery.UpdateTaskRequest(
            task=delivery.Task(name=f"{world.parent}/tasks/{task}", task_outcome=delivery.Task.TaskOutcome.SUCCEEDED),
            update_mask=field_mask_pb2.FieldMask(paths=["task_outcome"]),
        )
    )


def track(client, world, tracking):
    return client.deliveries.get_task_tracking_info(
        delivery.GetTaskTrackingInfoRequest(name=f"{world.parent}/taskTrackingInfo/{tracking}")
    )


def random_id(kind):
    return f"{kind}-{uuid.uuid4()}"


@pytest.fixture(scope="module", params=["gRPC", "REST"])
def transport(request):
    return request.param


@pytest.fixture(scope="module")
def world(service, transport):
    kinds = ("vehicle", "trip", "delivery-vehicle", "delivery-vehicle", "task", "tracking")
    return World(service, *map(random_id, kinds))


# Token, step, what must come of it. The server's steps come first, since they make what the others look at.
STEPS = [
    ("server", "CreateVehicle", lambda c, w: create_vehicle(c, w, w.vehicle), ALLOWED),
    ("server", "GetVehicle", lambda c, w: get_vehicle(c, w, w.vehicle), ALLOWED),
    ("server", "CreateTrip", lambda c, w: create_trip(c, w, w.trip), ALLOWED),
    ("server", "GetTrip", lambda c, w: get_trip(c, w, w.trip), ALLOWED),
    ("server", "SearchVehicles", lambda c, w: search(c, w, w.trip), ALLOWED),
    ("server", "UpdateTrip COMPLETE", lambda c, w: complete_trip(c, w, w.trip), ALLOWED),
    ("server", "UpdateVehicle OFFLINE", lambda c, w: set_offline(c, w, w.vehicle), ALLOWED),
    ("consumer", "GetTrip own", lambda c, w: get_trip(c, w, w.trip), ALLOWED),
    ("consumer", "SearchVehicles own", lambda c, w: search(c, w, w.trip), ALLOWED),
    ("consumer", "GetTrip other", lambda c, w: get_trip(c, w, random_id("trip")), DENIED),
    ("consumer", "CreateTrip own", lambda c, w: create_trip(c, w, w.trip), DENIED),
    ("driver", "GetVehicle own", lambda c, w: get_vehicle(c, w, w.vehicle), ALLOWED),
    ("driver", "GetVehicle other", lambda c, w: get_vehicle(c, w, random_id("vehicle")), DENIED),
    ("driver", "CreateVehicle own", lambda c, w: create_vehicle(c, w, w.vehicle), DENIED),
    ("driver", "UpdateVehicle OFFLINE", lambda c, w: set_offline(c, w, w.vehicle), ALLOWED),
    ("fleet_reader", "GetTrip", lambda c, w: get_trip(c, w, w.trip), ALLOWED),
    ("fleet_reader", "SearchVehicles", lambda c, w: search(c, w, w.trip), ALLOWED),
    ("delivery_server", "CreateDeliveryVehicle", lambda c, w: create_delivery_vehicle(c, w, w.delivery_vehicle), ALLOWED),
    ("delivery_server", "GetDeliveryVehicle", lambda c, w: get_delivery_vehicle(c, w, w.delivery_vehicle), ALLOWED),
    ("delivery_server", "CreateTask", lambda c, w: create_task(c, w, w.task), ALLOWED),
    ("delivery_server", "UpdateTask SUCCEEDED", lambda c, w: set_outcome(c, w, w.task), ALLOWED),
    ("delivery_consumer", "GetTaskTrackingInfo own", lambda c, w: track(c, w, w.tracking), ALLOWED),
    ("delivery_consumer", "GetTaskTrackingInfo other", lambda c, w: track(c, w, random_id("tracking")), DENIED),
    ("delivery_untrusted_driver", "GetDeliveryVehicle own",
     lambda c, w: get_delivery_vehicle(c, w, w.delivery_vehicle), ALLOWED),
    ("delivery_untrusted_driver", "GetDeliveryVehicle other",
     lambda c, w: get_delivery_vehicle(c, w, random_id("delivery-vehicle")), DENIED),
    ("delivery_untrusted_driver", "CreateDeliveryVehicle",
     lambda c, w: create_delivery_vehicle(c, w, random_id("delivery-vehicle")), DENIED),
    ("delivery_trusted_driver", "CreateDeliveryVehicle own",
     lambda c, w: create_delivery_vehicle(c, w, w.own_vehicle), ALLOWED),
    ("delivery_trusted_driver", "GetDeliveryVehicle own", lambda c, w: get_delivery_vehicle(c, w, w.own_vehicle), ALLOWED),
    ("delivery_trusted_driver", "GetDeliveryVehicle other",
     lambda c, w: get_delivery_vehicle(c, w, random_id("delivery-vehicle")), DENIED),
    ("delivery_fleet_reader", "GetTaskTrackingInfo", lambda c, w: track(c, w, w.tracking), ALLOWED),
    ("fleet_reader", "GetTaskTrackingInfo", lambda c, w: track(c, w, w.tracking), ALLOWED),
    ("fleet_reader", "GetDeliveryVehicle", lambda c, w: get_delivery_vehicle(c, w, w.delivery_vehicle), ALLOWED),
]


@pytest.mark.parametrize(("role", "step", "call", "expected"), STEPS, ids=[f"{r} {s}" for r, s, _, _ in STEPS])
def test_role(service, world, transport, role, step, call, expected):
    ids = {
        "consumer": {"trip": world.trip},
        "driver": {"vehicle": world.vehicle},
        "delivery_consumer": {"tracking": world.tracking},
        "delivery_untrusted_driver": {"delivery_vehicle": world.delivery_vehicle},
        "delivery_trusted_driver": {"delivery_vehicle": world.own_vehicle},
    }.get(role, {})
    token = service.mint(role, **ids)
    client = clients.with_token(service, token) if transport == "gRPC" else clients.over_rest(service, token)
    if expected == DENIED:
        with pytest.raises(exceptions.PermissionDenied):
            call(client, world)
        return
    answer = call(client, world)
    if (role, step) == ("server", "SearchVehicles"):
        names = [match.vehicle.name for match in answer.matches]
        assert names, "the search must find a vehicle"
    if step.endswith("OFFLINE"):
        assert answer.vehicle_state == fleet.VehicleState.OFFLINE
    if step.endswith("COMPLETE"):
        assert answer.trip_status == fleet.TripStatus.COMPLETE


def test_a_denial_is_the_same_whether_or_not_the_resource_exists(service, world, vehicle):
    driver = clients.by_mint(service, "driver", vehicle=world.vehicle)
    answers = []
    for other in (vehicle, random_id("vehicle")):
        with pytest.raises(exceptions.PermissionDenied) as caught:
            get_vehicle(driver, world, other)
        answers.append((caught.value.message, caught.value.reason))
    assert answers[0] == answers[1]
