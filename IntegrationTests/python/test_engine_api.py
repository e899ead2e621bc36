# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The engine's REST interface does what its OpenAPI document says, tried by schemathesis with a token of each server's, with
one of a driver, and with none."""

import collections
import json

import pytest

import schema

#: What is there before, and what paths name most of the time.
RESOURCES = {
    "vehicle": ["veh-1", "veh-2", "veh-3"], "trip": ["trip-1", "trip-2"], "billableTrip": ["trip-1"],
    "deliveryVehicle": ["dv-1", "dv-2", "dv-3"], "task": ["task-1", "task-2", "task-3"],
    "taskTrackingInfo": ["shp-1", "shp-2"],
}
DELIVERIES = "/(deliveryVehicles|tasks|taskTrackingInfo)"
#: What the engine has rules for that no schema says is not tried, nor are methods, which the API answers with 404.
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"]


@pytest.fixture
def folder(service, tmp_path):
    """Where schemathesis finds which ids there are."""
    lines = [f'[dictionaries.{name}]\nvalues = {json.dumps(ids)}' for name, ids in RESOURCES.items()]
    lines += ["[parameters]", f'"path.provider" = "{service.provider}"']
    lines += [f'"path.{name}" = {{dictionary = "{name}", probability = 0.8}}' for name in RESOURCES]
    (tmp_path / "schemathesis.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def explore(service, folder, token, *options):
    """How often each operation was answered with each status."""
    report = folder / "report.har"
    report.unlink(missing_ok=True)
    schema.explore(
        f"{service.http}/v1/openapi.json", folder, token, "--max-examples", "20", "--phases", "fuzzing",
        "--checks", ",".join(CHECKS),
        "--report", "har", "--report-har-path", str(report), *options)
    entries = json.loads(report.read_text(encoding="utf-8"))["log"]["entries"]
    return collections.Counter(entry["response"]["status"] for entry in entries)


def test_every_answer_about_vehicles_and_trips_is_as_documented(service, folder):
    token = service.mint("server")
    for vehicle in RESOURCES["vehicle"]:
        body = {"vehicleState": "ONLINE", "supportedTripTypes": ["EXCLUSIVE"], "maximumCapacity": 4,
                "vehicleType": {"category": "AUTO"}}
        service.rest("POST", f"vehicles?vehicleId={vehicle}", token, json=body)
    for trip in RESOURCES["trip"]:
        body = {"tripType": "EXCLUSIVE", "pickupPoint": {"point": {"latitude": 37.4, "longitude": -122.1}}}
        service.rest("POST", f"trips?tripId={trip}", token, json=body)
    seen = explore(service, folder, token, "--exclude-path-regex", DELIVERIES)
    assert seen[200] > 5 and seen[400] > 50 and seen[404] > 0, seen


def test_every_answer_about_deliveries_is_as_documented(service, folder):
    token = service.mint("delivery_server")
    for vehicle in RESOURCES["deliveryVehicle"]:
        service.rest("POST", f"deliveryVehicles?deliveryVehicleId={vehicle}", token, json={})
    for task in RESOURCES["task"]:
        body = {"type": "PICKUP", "state": "OPEN", "trackingId": "shp-1", "taskDuration": "300s",
                "plannedLocation": {"point": {"latitude": 37.4, "longitude": -122.1}}}
        service.rest("POST", f"tasks?taskId={task}", token, json=body)
    seen = explore(service, folder, token, "--include-path-regex", DELIVERIES)
    assert seen[200] > 5 and seen[400] > 50 and seen[404] > 0, seen


def test_nothing_is_answered_without_a_token(service, folder):
    seen = explore(service, folder, None, "--exclude-path-regex", "openapi", "--max-examples", "5")
    assert seen[401] > 50, seen
    # Whether there is such a path is told before the token is asked for, and whether its ids can be any.
    assert set(seen) <= {400, 401, 404}, seen


def test_every_refusal_of_a_driver_is_as_documented(service, folder):
    token = service.mint("driver", vehicle="veh-1")
    seen = explore(service, folder, token, "--exclude-path-regex", f"openapi|{DELIVERIES}", "--max-examples", "5")
    # Of its own vehicle a driver is told more.
    assert seen[403] > 20 and set(seen) <= {200, 400, 403, 404}, seen
