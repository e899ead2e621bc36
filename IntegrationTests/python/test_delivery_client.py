# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The vendor's delivery client calls every RPC of the delivery service, over gRPC and over REST."""

import pytest
from google.api_core import exceptions
from google.maps import fleetengine_delivery_v1 as delivery
from google.protobuf import field_mask_pb2

import clients

EVERYTHING = {"deliveryvehicleid": "*", "taskid": "*", "trackingid": "*"}
TRANSPORTS = {
    "grpc": lambda service, credentials: clients.with_credentials(service, credentials).deliveries,
    "rest": clients.delivery_over_rest,
}


@pytest.fixture(params=TRANSPORTS)
def make(request, service):
    """Makes a client of one transport whose tokens carry these claims."""
    return lambda role, claims: TRANSPORTS[request.param](service, clients.jwt_credentials(service, role, claims))


@pytest.fixture
def backend(make):
    return make("delivery_server", EVERYTHING)


@pytest.fixture
def parent(service):
    return f"providers/{service.provider}"


def mask(*paths):
    return field_mask_pb2.FieldMask(paths=paths)


def creation(service, parent, task, tracking):
    return delivery.CreateTaskRequest(
        parent=parent, task_id=task, task=clients.task_message(service, task, tracking)
    )


def plan(client, name, tasks):
    return client.update_delivery_vehicle(
        delivery.UpdateDeliveryVehicleRequest(
            delivery_vehicle=delivery.DeliveryVehicle(
                name=name,
                remaining_vehicle_journey_segments=[
                    delivery.VehicleJourneySegment(
                        stop=delivery.VehicleStop(
                            planned_location=delivery.LocationInfo(point=clients.PICKUP),
                            state=delivery.VehicleStop.State.NEW,
                            tasks=[delivery.VehicleStop.TaskInfo(task_id=task)],
                        )
                    )
                    for task in tasks
                ],
            ),
            update_mask=mask("remaining_vehicle_journey_segments"),
        )
    )


def test_a_delivery_from_creation_to_outcome(service, make, backend, parent, new_id):
    vehicle, task, tracking = new_id("vehicle"), new_id("task"), new_id("tracking")
    name, task_name = f"{parent}/deliveryVehicles/{vehicle}", f"{parent}/tasks/{task}"
    created = backend.create_delivery_vehicle(
        delivery.CreateDeliveryVehicleRequest(parent=parent, delivery_vehicle_id=vehicle)
    )
    assert created.name == name
    assert backend.create_task(creation(service, parent, task, tracking)).state == delivery.Task.State.OPEN

    driver = make("delivery_untrusted_driver", {"deliveryvehicleid": vehicle})
    driver.update_delivery_vehicle(
        delivery.UpdateDeliveryVehicleRequest(
            delivery_vehicle=delivery.DeliveryVehicle(
                name=name,
                last_location=delivery.DeliveryVehicleLocation(
                    supplemental_location={"latitude": 37.41, "longitude": -122.07}
                ),
            ),
            update_mask=mask("last_location"),
        )
    )
    with pytest.raises(exceptions.Forbidden):
        plan(driver, name, [task])
    planned = plan(backend, name, [task])
    (segment,) = planned.remaining_vehicle_journey_segments
    assert segment.driving_distance_meters > 1000
    assert segment.stop.tasks[0].task_duration.total_seconds() == 3600
    got = driver.get_delivery_vehicle(delivery.GetDeliveryVehicleRequest(name=name))
    assert got.remaining_vehicle_journey_segments[0].stop.tasks[0].task_id == task

    recipient = make("delivery_consumer", {"trackingid": tracking})
    info = recipient.get_task_tracking_info(
        delivery.GetTaskTrackingInfoRequest(name=f"{parent}/taskTrackingInfo/{tracking}")
    )
    assert info.remaining_stop_count == 1
    assert info.vehicle_location.location.latitude == 37.41
    assert info.estimated_arrival_time

    done = backend.update_task(
        delivery.UpdateTaskRequest(
            task=delivery.Task(name=task_name, task_outcome=delivery.Task.TaskOutcome.SUCCEEDED),
            update_mask=mask("task_outcome"),
        )
    )
    assert done.task_outcome_location_source == delivery.Task.TaskOutcomeLocationSource.LAST_VEHICLE_LOCATION
    with pytest.raises((exceptions.FailedPrecondition, exceptions.BadRequest)):
        backend.delete_task(delivery.DeleteTaskRequest(name=task_name))
    with pytest.raises((exceptions.FailedPrecondition, exceptions.BadRequest)):
        backend.delete_delivery_vehicle(delivery.DeleteDeliveryVehicleRequest(name=name))
    plan(backend, name, [])
    assert backend.get_task(delivery.GetTaskRequest(name=task_name)).state == delivery.Task.State.CLOSED
    backend.delete_task(delivery.DeleteTaskRequest(name=task_name))
    backend.delete_delivery_vehicle(delivery.DeleteDeliveryVehicleRequest(name=name))
    with pytest.raises(exceptions.NotFound):
        backend.get_task(delivery.GetTaskRequest(name=task_name))


def test_a_batch_and_the_pagers(service, make, backend, parent, new_id):
    tracking = new_id("tracking")
    tasks = sorted(new_id("task") for _ in range(5))
    batch = make("delivery_server", {"taskids": tasks})
    created = batch.batch_create_tasks(
        delivery.BatchCreateTasksRequest(
            parent=parent, requests=[creation(service, parent, task, tracking) for task in tasks]
        )
    )
    assert len(created.tasks) == 5
    listed = backend.list_tasks(
        delivery.ListTasksRequest(parent=parent, page_size=2, filter=f'tracking_id = "{tracking}" AND state = OPEN')
    )
    assert listed.total_size == 5
    assert [task.name.split("/")[-1] for task in listed] == tasks
    with pytest.raises((exceptions.AlreadyExists, exceptions.Conflict)):
        batch.batch_create_tasks(
            delivery.BatchCreateTasksRequest(parent=parent, requests=[creation(service, parent, tasks[0], tracking)])
        )

    depot = new_id("depot")
    vehicles = sorted(new_id("vehicle") for _ in range(3))
    for vehicle in vehicles:
        backend.create_delivery_vehicle(
            delivery.CreateDeliveryVehicleRequest(
                parent=parent,
                delivery_vehicle_id=vehicle,
                delivery_vehicle=delivery.DeliveryVehicle(
                    attributes=[delivery.DeliveryVehicleAttribute(key="depot", value=depot)]
                ),
            )
        )
    pager = backend.list_delivery_vehicles(
        delivery.ListDeliveryVehiclesRequest(parent=parent, page_size=1, filter=f'attributes.depot = "{depot}"')
    )
    assert [vehicle.name.split("/")[-1] for vehicle in pager] == vehicles


def test_an_update_may_come_as_a_post(service, new_id):
    # The vendor's clients for Java cannot send PATCH.
    vehicle, token = new_id("vehicle"), service.mint("delivery_server")
    assert service.rest("POST", f"deliveryVehicles?deliveryVehicleId={vehicle}", token, json={}).status_code == 200
    path, headers = f"deliveryVehicles/{vehicle}?updateMask=type", {"X-HTTP-Method-Override": "PATCH"}
    changed = service.rest("POST", path, token, json={"type": "BICYCLE"}, headers=headers)
    assert (changed.status_code, changed.json().get("type")) == (200, "BICYCLE"), changed.text
    refused = service.rest("POST", path, token, json={}, headers={"X-HTTP-Method-Override": "patch"})
    assert refused.status_code == 404 and "X-HTTP-Method-Override" in refused.text
