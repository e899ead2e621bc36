# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Calls every RPC of whichever version of the vendor's clients is installed, over every transport that it has.

    every_rpc.py HTTP GRPC PROVIDER DATA

It prints what it called as JSON: the versions, the RPCs that each service's stub has, and those that succeeded.
"""

import asyncio
import importlib.metadata
import inspect
import json
import sys
import uuid
from pathlib import Path
from types import SimpleNamespace

import grpc
from google.maps import fleetengine_delivery_v1 as delivery
from google.maps import fleetengine_v1 as fleet
from google.protobuf import field_mask_pb2

import clients

SERVICES = {
    "VehicleService": (fleet.VehicleServiceClient, fleet.VehicleServiceAsyncClient),
    "TripService": (fleet.TripServiceClient, fleet.TripServiceAsyncClient),
    "DeliveryService": (delivery.DeliveryServiceClient, delivery.DeliveryServiceAsyncClient),
}


def stub_methods(client):
    """The RPCs that a client's stub has."""
    transport = inspect.getmro(client.get_transport_class("grpc"))[1]
    return sorted(name for name, value in vars(transport).items() if isinstance(value, property)
                  and name not in ("host", "kind"))


def credentials(service, name):
    if name == "DeliveryService":
        claims = {"deliveryvehicleid": "*", "taskid": "*", "trackingid": "*"}
        return clients.jwt_credentials(service, "delivery_admin", claims)
    return clients.jwt_credentials(service, "ondemand_admin", {"vehicleid": "*", "tripid": "*"})


def over_grpc(service, name, client, transport):
    """A client whose channel counts as secure on this machine only."""
    return client(transport=client.get_transport_class(transport)(
        host=service.grpc, credentials=credentials(service, name),
        ssl_channel_credentials=grpc.local_channel_credentials(grpc.LocalConnectionType.LOCAL_TCP)))


def mask(*paths):
    return field_mask_pb2.FieldMask(paths=paths)


def calls(service):
    """One request for each RPC in an order in which all succeed, with what its answer must show."""
    parent = f"providers/{service.provider}"
    vehicle, trip, van, task, one, two, tracking = (f"{kind}-{uuid.uuid4()}" for kind in "vtdabcs")
    vehicle_name, trip_name = f"{parent}/vehicles/{vehicle}", f"{parent}/trips/{trip}"
    van_name, task_name = f"{parent}/deliveryVehicles/{van}", f"{parent}/tasks/{task}"

    def creation(identifier):
        return delivery.CreateTaskRequest(
            parent=parent, task_id=identifier, task=clients.task_message(service, identifier, tracking))

    def named(name):
        return lambda answer: answer.name == name

    def holds(name):
        return lambda answer: name in [item.name for item in answer]

    def done(answer):
        return answer is None

    yield "VehicleService", "create_vehicle", fleet.CreateVehicleRequest(
        parent=parent, vehicle_id=vehicle, vehicle=clients.vehicle_message(service, vehicle)), named(vehicle_name)
    yield "VehicleService", "get_vehicle", fleet.GetVehicleRequest(name=vehicle_name), named(vehicle_name)
    yield "VehicleService", "update_vehicle", fleet.UpdateVehicleRequest(
        name=vehicle_name, vehicle=fleet.Vehicle(maximum_capacity=60), update_mask=mask("maximum_capacity"),
    ), lambda answer: answer.maximum_capacity == 60
    yield "VehicleService", "update_vehicle_attributes", fleet.UpdateVehicleAttributesRequest(
        name=vehicle_name, attributes=[fleet.VehicleAttribute(key="depot", value=vehicle[:36])],
    ), lambda answer: answer.attributes[0].key == "depot"
    yield "VehicleService", "list_vehicles", fleet.ListVehiclesRequest(
        parent=parent, page_size=1, filter=f'attributes.depot = "{vehicle[:36]}"'), holds(vehicle_name)
    search = clients.search_request(service)
    search.minimum_capacity = 60
    yield "VehicleService", "search_vehicles", search, lambda answer: vehicle_name in [
        match.vehicle.name for match in answer.matches]
    yield "TripService", "create_trip", fleet.CreateTripRequest(
        parent=parent, trip_id=trip, trip=clients.trip_message(service, trip)), named(trip_name)
    yield "TripService", "get_trip", fleet.GetTripRequest(name=trip_name), named(trip_name)
    yield "TripService", "update_trip", fleet.UpdateTripRequest(
        name=trip_name, trip=fleet.Trip(vehicle_id=vehicle), update_mask=mask("vehicle_id"),
    ), lambda answer: answer.vehicle_id == vehicle
    yield "TripService", "search_trips", fleet.SearchTripsRequest(parent=parent, vehicle_id=vehicle), holds(trip_name)
    yield "TripService", "report_billable_trip", fleet.ReportBillableTripRequest(
        name=f"{parent}/billableTrips/{trip}", country_code="DE"), done
    yield "TripService", "update_trip", fleet.UpdateTripRequest(
        name=trip_name, trip=fleet.Trip(trip_status=fleet.TripStatus.CANCELED), update_mask=mask("trip_status"),
    ), lambda answer: answer.trip_status == fleet.TripStatus.CANCELED
    yield "TripService", "delete_trip", fleet.DeleteTripRequest(name=trip_name), done
    yield "VehicleService", "delete_vehicle", fleet.DeleteVehicleRequest(name=vehicle_name), done

    yield "DeliveryService", "create_delivery_vehicle", delivery.CreateDeliveryVehicleRequest(
        parent=parent, delivery_vehicle_id=van, delivery_vehicle=delivery.DeliveryVehicle()), named(van_name)
    yield "DeliveryService", "get_delivery_vehicle", delivery.GetDeliveryVehicleRequest(name=van_name), named(van_name)
    yield "DeliveryService", "update_delivery_vehicle", delivery.UpdateDeliveryVehicleRequest(
        delivery_vehicle=delivery.DeliveryVehicle(
            name=van_name, attributes=[delivery.DeliveryVehicleAttribute(key="depot", value=van[:36])]),
        update_mask=mask("attributes")), named(van_name)
    yield "DeliveryService", "list_delivery_vehicles", delivery.ListDeliveryVehiclesRequest(
        parent=parent, page_size=1, filter=f'attributes.depot = "{van[:36]}"'), holds(van_name)
    yield "DeliveryService", "create_task", creation(task), named(task_name)
    yield "DeliveryService", "batch_create_tasks", delivery.BatchCreateTasksRequest(
        parent=parent, requests=[creation(one), creation(two)]), lambda answer: len(answer.tasks) == 2
    yield "DeliveryService", "get_task", delivery.GetTaskRequest(name=task_name), named(task_name)
    yield "DeliveryService", "list_tasks", delivery.ListTasksRequest(
        parent=parent, page_size=2, filter=f'tracking_id = "{tracking}"'), holds(task_name)
    yield "DeliveryService", "get_task_tracking_info", delivery.GetTaskTrackingInfoRequest(
        name=f"{parent}/taskTrackingInfo/{tracking}"), lambda answer: answer.tracking_id == tracking
    yield "DeliveryService", "update_task", delivery.UpdateTaskRequest(
        task=delivery.Task(name=task_name, task_outcome=delivery.Task.TaskOutcome.SUCCEEDED),
        update_mask=mask("task_outcome"),
    ), lambda answer: answer.task_outcome == delivery.Task.TaskOutcome.SUCCEEDED
    yield "DeliveryService", "delete_task", delivery.DeleteTaskRequest(name=task_name), done
    yield "DeliveryService", "delete_delivery_vehicle", delivery.DeleteDeliveryVehicleRequest(name=van_name), done


def check(rpc, answer, is_right):
    if not is_right(answer):
        raise SystemExit(f"{rpc} was answered with {answer}")


def run(service, stubs):
    """Calls what the stubs have, one after the other."""
    called = set()
    for name, rpc, request, is_right in calls(service):
        if name in stubs:
            check(rpc, getattr(stubs[name], rpc)(request=request), is_right)
            called.add(rpc)
    return sorted(called)


async def run_asyncio(service):
    stubs = {name: over_grpc(service, name, client, "grpc_asyncio") for name, (_, client) in SERVICES.items()}
    called = set()
    for name, rpc, request, is_right in calls(service):
        answer = await getattr(stubs[name], rpc)(request=request)
        if hasattr(answer, "__aiter__"):
            answer = [item async for item in answer]
        check(rpc, answer, is_right)
        called.add(rpc)
    return sorted(called)


def main(http, grpc_address, provider, data):
    service = SimpleNamespace(
        http=http, grpc=grpc_address, provider=provider,
        key_file=lambda role: Path(data) / "service-accounts" / f"{role}.json")
    over_rest = clients.delivery_over_rest(service, credentials(service, "DeliveryService"))
    print(json.dumps({
        "versions": {name: importlib.metadata.version(name)
                     for name in ("google-maps-fleetengine", "google-maps-fleetengine-delivery")},
        "stubs": {name: stub_methods(client) for name, (client, _) in SERVICES.items()},
        "grpc": run(service, {
            name: over_grpc(service, name, client, "grpc") for name, (client, _) in SERVICES.items()}),
        "asyncio": asyncio.run(run_asyncio(service)),
        "rest": run(service, {"DeliveryService": over_rest}),
    }))


if __name__ == "__main__":
    main(*sys.argv[1:])
