# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Recordings of the real service, replayed through a running engine, and what it recorded of that."""

import http.server
import json
import os
import re
import pathlib
import socket
import subprocess
import threading

import pytest

from service import PROGRAM, Service, on_terminal
from stand_ins import DocumentServer

DIFFERENCES = pathlib.Path(__file__).parents[2] / "docs" / "recordings.md"
RECORDINGS = pathlib.Path(__file__).parents[3] / "shared" / "data" / "recordings"


def run(*arguments, code=0, **options):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == code, done.stderr
    return done


def is_as_viewers_read_it(export):
    """Viewers of Fleet Engine's logs take a file with `rawLogs` as it is: entries of a log whose keys are in lower case,
    in the order of their times, whose type names the call and whose `logname` tells deliveries from the rest."""

    def keys(value):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
            if isinstance(key, str):
                yield key
            yield from keys(inner)

    entries = export["rawLogs"]
    assert entries == sorted(entries, key=lambda entry: entry["timestamp"])
    for entry in entries:
        assert all(key == key.lower() and "_" not in key for key in keys(entry)), entry
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", entry["timestamp"])
        payload = entry["jsonpayload"]
        assert re.fullmatch(r"type\.googleapis\.com/maps\.fleetengine\.(delivery\.)?v1\.[A-Z][A-Za-z]+Log", payload["@type"])
        assert isinstance(payload["request"], dict)
        assert re.fullmatch(r"projects/[^/]+/logs/fleetengine\.googleapis\.com%2F[a-z_]+", entry["logname"])
    deliveries = any("_delivery_vehicle" in entry["logname"] for entry in entries)
    assert export["solutionType"] == ("LMFS" if deliveries else "ODRD")


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recordings of the real service are not at hand")
def test_every_recorded_call_ends_as_it_did(tmp_path):
    traffic = tmp_path / "traffic.jsonl"
    explained = set(re.findall(r"^\| (\w+) \| ([a-z ]+) \| `([^`]+)` \| \d+ \|", DIFFERENCES.read_text(), re.MULTILINE))
    service = Service(tmp_path / "data", "--record", str(traffic))
    try:
        for name, calls in (("two-trips-bay-area.json", 542), ("lmfs.json", 669)):
            report = json.loads(
                run("replay", RECORDINGS / name, "--engine", service.http, "--data", tmp_path / "data",
                    "--provider", service.provider, "--compare", "--output", "json").stdout)
            assert report["sent"] == calls
            assert report["otherwise"] == []
            assert report["leftOut"] == report["denied"] == 0
            assert report["differences"]
            found = {(one["call"], one["difference"], one["field"]) for one in report["differences"]}
            assert not found - explained
    finally:
        service.stop()

    # What the engine kept is a recording again, and carries no token.
    text = traffic.read_text()
    assert "eyJ" not in text
    whole = json.loads(run("export", traffic).stdout)
    assert len(whole["rawLogs"]) >= 542 + 669
    kinds = {entry["jsonpayload"]["@type"].rsplit(".", 1)[1] for entry in whole["rawLogs"]}
    assert {"CreateVehicleLog", "UpdateVehicleLog", "UpdateTripLog", "UpdateDeliveryVehicleLog"} <= kinds
    is_as_viewers_read_it(whole)
    part = json.loads(run("export", "-", "--about", "Vehicle_1", input=text).stdout)
    is_as_viewers_read_it(part)
    assert part["vehicle"] == "Vehicle_1"
    assert part["solutionType"] == "ODRD"
    assert len(part["rawLogs"]) < len(whole["rawLogs"])

    # A fresh engine answers its own kind of engine in the same way.
    again = Service(tmp_path / "again")
    try:
        report = json.loads(
            run("replay", traffic, "--engine", again.http, "--data", tmp_path / "again", "--provider",
                again.provider, "--compare", "--output", "json").stdout)
        assert report["otherwise"] == []
    finally:
        again.stop()


def test_a_call_that_ends_otherwise_is_told(service, tmp_path):
    recording = tmp_path / "one.json"
    recording.write_text(json.dumps([{
        "timestamp": "2026-01-02T03:04:05Z", "logName": f"projects/{service.provider}/logs/x",
        "jsonPayload": {
            "@type": "type.googleapis.com/maps.fleetengine.v1.GetVehicleLog",
            "request": {"vehicleId": "nobody"}, "errorResponse": {"code": "UNAVAILABLE", "message": "then"},
        },
    }, {
        "timestamp": "2026-01-02T03:04:05.5Z", "logName": f"projects/{service.provider}/logs/x",
        "jsonPayload": {
            "@type": "type.googleapis.com/maps.fleetengine.v1.GetVehicleLog",
            "request": {"vehicleId": "nobody"}, "errorResponse": {"code": "NOT_FOUND", "message": "then"},
        },
    }, {
        "timestamp": "2026-01-02T03:04:06Z", "logName": f"projects/{service.provider}/logs/x",
        "jsonPayload": {
            "@type": "type.googleapis.com/maps.fleetengine.v1.DeleteVehicleLog",
            "request": {"vehicleId": "nobody-either"}, "response": None,
        },
    }]))
    arguments = ["replay", recording, "--engine", service.http, "--data", service.data, "--provider", service.provider]
    done = run(*arguments, code=1)
    assert "call 1 GetVehicle: recorded UNAVAILABLE, now 404 NOT_FOUND" in done.stdout
    assert "call 3 DeleteVehicle: recorded OK, now 404 NOT_FOUND" in done.stdout
    assert done.stdout.endswith("sent=3 otherwise=2 left_out=0 denied=0\n")


def test_all_that_was_accepted_is_sent_again_and_nothing_that_was_denied(service, new_id, tmp_path):
    ids = {name: new_id(name) for name in ("vehicle", "trip")}
    version = "2026-01-01T00:00:00Z"
    trip = {"tripType": "EXCLUSIVE", "vehicleId": ids["vehicle"], "pickupPoint": PLACE, "dropoffPoint": PLACE,
            "intermediateDestinations": [PLACE, PLACE]}
    steps = [{"tripStatus": status} for status in ("ENROUTE_TO_PICKUP", "ARRIVED_AT_PICKUP")] + [
        {"tripStatus": "ENROUTE_TO_INTERMEDIATE_DESTINATION", "intermediateDestinationIndex": index,
         "intermediateDestinationsVersion": version} for index in (0, 1)]
    changes = [{"tripId": ids["trip"], "trip": step, "updateMask": ",".join(list(step)[:2])} for step in steps]
    canceled = {"tripId": ids["trip"], "trip": {"tripStatus": "CANCELED"}, "updateMask": "tripStatus"}
    listed = {"pageSize": 2, "pageToken": "of the former run", "filter": 'attributes.class = "none"'}
    calls = [
        ("v1.CreateTrip", {"tripId": ids["trip"], "trip": trip}, None),
        ("v1.UpdateTrip", canceled, "PERMISSION_DENIED"),
        *(("v1.UpdateTrip", change, None) for change in changes),
        # The version was an old one, and is.
        ("v1.UpdateTrip", changes[-1], "FAILED_PRECONDITION"),
        ("v1.DeleteTrip", {"tripId": ids["trip"]}, "UNAUTHENTICATED"),
        ("v1.ListVehicles", {"onTripOnly": True, "tripTypes": ["EXCLUSIVE_TRIP"], **listed}, None),
        ("v1.SearchVehicles", {"pickupPoint": PLACE, "pickupRadiusMeters": 1000, "count": 1, "minimumCapacity": 1,
                               "tripTypes": ["EXCLUSIVE"], "vehicleTypes": [{"category": "AUTO"}],
                               "orderBy": "PICKUP_POINT_DISTANCE"}, None),
        ("v1.SearchTrips", {"vehicleId": ids["vehicle"], "pageToken": "of the former run"}, None),
        ("v1.ReportBillableTrip", {"name": f"providers/old/billableTrips/{ids['trip']}", "countryCode": "US"}, None),
        ("delivery.v1.ListDeliveryVehicles", listed, None),
        ("delivery.v1.ListTasks", {"pageSize": 2, "pageToken": "of the former run"}, None),
        ("delivery.v1.ListTasks", {"pageToken": "no token"}, "INVALID_ARGUMENT"),
    ]
    recording = tmp_path / "calls.json"
    recording.write_text(json.dumps([
        {"timestamp": f"2026-01-02T03:04:{second:02}Z", "logName": "projects/old/logs/x",
         "jsonPayload": {"@type": f"type.googleapis.com/maps.fleetengine.{call}Log", "request": request}
         | ({"errorResponse": {"code": error, "message": "then"}} if error else {"response": {}})}
        for second, (call, request, error) in enumerate(calls)
    ]))
    done = run("replay", recording, "--engine", service.http, "--data", service.data, "--provider", service.provider)
    assert done.stdout == f"sent={len(calls) - 2} otherwise=0 left_out=0 denied=2\n", done.stderr


def test_what_a_refused_call_names_is_not_created(service, new_id, tmp_path):
    van, task = new_id("van"), new_id("task")
    stop = {"stop": {"plannedLocation": PLACE, "state": "NEW", "tasks": [{"taskId": task}]}}

    def entry(second, call, request):
        return {"timestamp": f"2026-01-02T03:04:0{second}Z", "logName": f"projects/{service.provider}/logs/x",
                "jsonPayload": {"@type": f"type.googleapis.com/maps.fleetengine.delivery.v1.{call}Log",
                                "request": request, "errorResponse": {"code": "NOT_FOUND", "message": "none"}}}

    recording = tmp_path / "refused.json"
    recording.write_text(json.dumps([
        entry(1, "UpdateDeliveryVehicle", {"deliveryVehicleId": van, "updateMask": "remainingVehicleJourneySegments",
                                           "deliveryVehicle": {"remainingVehicleJourneySegments": [stop]}}),
        entry(2, "GetTask", {"taskId": task}),
    ]))
    done = run("replay", recording, "--engine", service.http, "--data", service.data, "--provider", service.provider)
    assert done.stdout == "sent=2 otherwise=0 left_out=0 denied=0\n", done.stderr


def test_a_vehicle_of_an_old_recording_is_where_it_was_last(service, server_token, new_id, tmp_path):
    vehicle = new_id("vehicle")
    shown = {"name": f"providers/{service.provider}/vehicles/{vehicle}", "vehicleState": "ONLINE", "maximumCapacity": 4,
             "supportedTripTypes": ["EXCLUSIVE"], "vehicleType": {"category": "AUTO"}}

    def entry(second, call, request, location):
        stamp = f"2024-05-06T07:08:{second:02}Z"
        response = shown | {"lastLocation": location | {"serverTime": stamp}}
        return {"timestamp": stamp, "logName": f"projects/{service.provider}/logs/x",
                "jsonPayload": {"@type": f"type.googleapis.com/maps.fleetengine.v1.{call}Log", "response": response,
                                "request": {"vehicleId": vehicle} | request}}

    # The first place has no time; and no two reports were on their way for as long.
    places = [{"location": {"latitude": 37.5 + number / 1000, "longitude": -122.5}} for number in range(10)]
    fixes = [place | {"updateTime": f"2024-05-06T07:08:{number * 3 - number % 3:02}Z"}
             for number, place in enumerate(places) if number]
    recording = tmp_path / "old.json"
    recording.write_text(json.dumps([
        entry(0, "CreateVehicle", {"vehicle": shown | {"lastLocation": places[0]}}, places[0]),
        *(entry(number * 3, "UpdateVehicle", {"updateMask": "lastLocation", "vehicle": {"lastLocation": fix}}, fix)
          for number, fix in enumerate(fixes, 1)),
    ]))
    done = run("replay", recording, "--compare", "--engine", service.http, "--data", service.data, "--provider",
               service.provider)
    assert done.stdout == "sent=10 otherwise=0 left_out=0 denied=0 differences=0\n", done.stderr
    answer = service.rest("GET", f"vehicles/{vehicle}", server_token)
    assert answer.json()["lastLocation"]["location"] == fixes[-1]["location"]


def test_torn_lines_are_passed_over_and_told(service, new_id, tmp_path):
    entry = json.dumps({
        "timestamp": "2026-01-02T03:04:05Z", "logName": f"projects/{service.provider}/logs/x",
        "jsonPayload": {
            "@type": "type.googleapis.com/maps.fleetengine.v1.GetVehicleLog",
            "request": {"vehicleId": new_id("vehicle")}, "errorResponse": {"code": "NOT_FOUND", "message": "none"},
        },
    })
    recording = tmp_path / "torn.jsonl"
    recording.write_text(f"{entry}\n{entry[:40]}{entry}\n{entry}\n{entry[:40]}")
    told = f"fleetpass: passed over 2 lines of {recording} that are not JSON: 2, 4.\n"
    done = run("export", recording)
    assert len(json.loads(done.stdout)["rawLogs"]) == 2
    assert told in done.stderr
    done = run("replay", recording, "--engine", service.http, "--data", service.data, "--provider", service.provider)
    assert done.stdout == "sent=2 otherwise=0 left_out=0 denied=0\n"
    assert told in done.stderr


def test_an_export_that_is_joined_to_itself_is_the_same_recording(service, new_id, tmp_path):
    vehicle, kind = new_id("vehicle"), "type.googleapis.com/maps.fleetengine.v1"
    shown = {"vehicleState": "ONLINE", "maximumCapacity": 4, "supportedTripTypes": ["EXCLUSIVE"],
             "vehicleType": {"category": "AUTO"}}
    entry = json.dumps({
        "insertId": "a", "timestamp": "2026-01-02T03:04:05Z", "logName": f"projects/{service.provider}/logs/x",
        "jsonPayload": {"@type": f"{kind}.CreateVehicleLog", "request": {"vehicleId": vehicle, "vehicle": shown},
                        "response": shown}})
    one, joined = tmp_path / "one.jsonl", tmp_path / "joined.jsonl"
    one.write_text(f"{entry}\n")
    joined.write_text(f"{entry}\n{entry}\n")
    told = f"fleetpass: passed over 1 entry of {joined} that is there already: 2.\n"
    for command, code in ((["export"], 0), (["lint", "--recording"], 1)):
        done = run(*command, joined, code=code)
        assert done.stdout == run(*command, one, code=code).stdout
        assert told in done.stderr
    done = run("replay", joined, "--engine", service.http, "--data", service.data, "--provider", service.provider)
    assert done.stdout == "sent=1 otherwise=0 left_out=0 denied=0\n"
    assert told in done.stderr


def test_a_creation_of_which_the_log_has_handles_is_made_whole(service, new_id, tmp_path):
    trip, kind = new_id("trip"), "type.googleapis.com/maps.fleetengine.v1"
    places = {"pickupPoint": {"pointHandle": "h", "terminalPointId": {}}, "dropoffPoint": {"pointHandle": "h"}}
    recording = tmp_path / "handles.json"
    recording.write_text(json.dumps([
        {"timestamp": f"2026-01-02T03:04:0{second}Z", "logName": f"projects/{service.provider}/logs/x",
         "jsonPayload": {"@type": f"{kind}.{call}Log", "request": {"tripId": trip} | request, "response": {}}}
        for second, (call, request) in enumerate([
            ("CreateTrip", {"trip": places | {"status": "TRIP_STATUS_NEW", "currentRouteSegmentHandle": "h"}}),
            ("UpdateTrip", {"trip": {"status": "TRIP_STATUS_CANCELED"}, "updateMask": "tripStatus"}),
        ])
    ]))
    done = run("replay", recording, "--engine", service.http, "--data", service.data, "--provider", service.provider)
    assert done.stdout == "sent=2 otherwise=0 left_out=0 denied=0\n", done.stderr
    assert "fleetpass: filled in the least that 1 creation of the recording lacked.\n" in done.stderr


def test_what_a_recording_presumes_is_there_though_it_begins_with_a_call_that_is_left_out(service, new_id, tmp_path):
    vehicle = new_id("presumed")
    recording = tmp_path / "middle.json"
    kind = "type.googleapis.com/maps.fleetengine.v1"
    recording.write_text(json.dumps([
        {"timestamp": f"2026-01-02T03:04:0{second}Z", "logName": f"projects/{service.provider}/logs/x",
         "jsonPayload": {"@type": f"{kind}.{call}Log", "request": request, "response": response}}
        for second, (call, request, response) in enumerate([
            # A bill that names no trip.
            ("ReportBillableTrip", {}, {}),
            ("GetVehicle", {"vehicleId": vehicle},
             {"name": f"providers/{service.provider}/vehicles/{vehicle}", "vehicleState": "OFFLINE",
              "supportedTripTypes": ["EXCLUSIVE"], "maximumCapacity": 2, "vehicleType": {"category": "AUTO"}}),
        ])
    ]))
    arguments = ["replay", recording, "--engine", service.http, "--data", service.data, "--provider", service.provider]
    assert run(*arguments).stdout.endswith("sent=1 otherwise=0 left_out=1 denied=0\n")


def test_a_recording_that_begins_in_the_middle_is_made_whole(service, new_id, tmp_path):
    ids = {name: new_id(name) for name in ("vehicle", "trip", "van", "batched", "stopped", "refused")}
    parent = f"providers/{service.provider}"

    def entry(second, call, request, response=None, error=None, delivery=False):
        payload = {"@type": f"type.googleapis.com/maps.fleetengine{'.delivery' if delivery else ''}.v1.{call}Log",
                   "request": request}
        payload |= {"response": response} if error is None else {"errorResponse": {"code": error, "message": "x"}}
        return {"timestamp": f"2026-01-02T03:04:{second:02}Z", "logName": f"projects/{service.provider}/logs/x",
                "jsonPayload": payload}

    def vehicle(name):
        return {"name": f"{parent}/vehicles/{ids[name]}", "vehicleState": "ONLINE", "maximumCapacity": 2,
                "supportedTripTypes": ["EXCLUSIVE"], "vehicleType": {"category": "AUTO"}}

    trip = {"name": f"{parent}/trips/{ids['trip']}", "tripType": "EXCLUSIVE", "vehicleId": ids["vehicle"],
            "pickupPoint": {"point": {"latitude": 37.4, "longitude": -122.1}}, "tripStatus": "NEW"}
    task = {"type": "DELIVERY", "state": "OPEN", "trackingId": ids["batched"], "taskDuration": "60s",
            "plannedLocation": {"point": {"latitude": 37.4, "longitude": -122.1}}}
    van = {"name": f"{parent}/deliveryVehicles/{ids['van']}", "remainingVehicleJourneySegments": [
        {"stop": {"plannedLocation": {"point": {"latitude": 37.4, "longitude": -122.1}}, "state": "NEW",
                  "tasks": [{"taskId": ids[name]}]}} for name in ("batched", "stopped")]}
    update = {"deliveryVehicleId": ids["van"], "deliveryVehicle": van, "updateMask": "remainingVehicleJourneySegments"}
    state = {"vehicleId": ids["refused"], "vehicle": {"vehicleState": "ONLINE"}, "updateMask": "vehicleState"}
    recording = tmp_path / "middle.json"
    recording.write_text(json.dumps([
        # A trip before the vehicle that it is assigned to.
        entry(1, "GetTrip", {"tripId": ids["trip"]}, trip),
        entry(2, "GetVehicle", {"vehicleId": ids["vehicle"]}, vehicle("vehicle")),
        # A vehicle whose first call was refused.
        entry(3, "GetVehicle", {"vehicleId": "none-" + ids["refused"]}, error="NOT_FOUND"),
        entry(4, "UpdateVehicle", state, vehicle("refused")),
        # A batch, and a stop with a task that nothing else tells of.
        entry(5, "BatchCreateTasks", {"parent": parent, "requests": [
            {"parent": parent, "taskId": ids["batched"], "task": task}]}, {"tasks": [task]}, delivery=True),
        entry(6, "UpdateDeliveryVehicle", update, van, delivery=True),
        entry(7, "UpdateVehicleAttributes", {"name": f"{parent}/vehicles/{ids['vehicle']}", "vehicleId": ids["vehicle"],
                                             "attributes": [{"key": "class", "value": "LUXURY"}]}, {}),
    ]))
    arguments = ["replay", recording, "--engine", service.http, "--data", service.data, "--provider", service.provider]
    done = run(*arguments)
    assert done.stdout.endswith("sent=7 otherwise=0 left_out=0 denied=0\n"), done.stdout + done.stderr
    assert "presumes" not in done.stderr
    about = json.loads(run("export", recording, "--about", ids["batched"]).stdout)
    kinds = [one["jsonpayload"]["@type"].rsplit(".", 1)[1] for one in about["rawLogs"]]
    assert kinds == ["BatchCreateTasksLog", "UpdateDeliveryVehicleLog"]


PLACE = {"point": {"latitude": 37.4, "longitude": -122.1}}


def test_the_trips_of_a_vehicle_whose_stops_are_put_in_order_are_there(service, new_id, tmp_path):
    vehicle, first, second = (new_id(name) for name in ("vehicle", "first", "second"))
    order = [{"tripId": trip, "waypointType": f"{kind}_WAYPOINT_TYPE", "location": PLACE} for trip, kind in (
        (second, "PICKUP"), (first, "DROP_OFF"), (second, "DROP_OFF"))]
    recording = tmp_path / "order.json"
    recording.write_text(json.dumps([{
        "timestamp": "2026-01-02T03:04:05Z", "logName": f"projects/{service.provider}/logs/x",
        "jsonPayload": {
            "@type": "type.googleapis.com/maps.fleetengine.v1.UpdateVehicleLog",
            "request": {"vehicleId": vehicle, "vehicle": {"waypoints": order}, "updateMask": "waypoints"},
            "response": {"vehicleState": "ONLINE", "supportedTripTypes": ["SHARED"], "maximumCapacity": 4,
                         "vehicleType": {"category": "AUTO"}, "waypoints": order, "currentTrips": [first, second]},
        },
    }]))
    done = run("replay", recording, "--engine", service.http, "--data", service.data, "--provider", service.provider)
    assert done.stdout == "sent=1 otherwise=0 left_out=0 denied=0\n", done.stderr
    assert "presumes" not in done.stderr


@pytest.mark.parametrize(("call", "request_", "response"), [
    ("v1.UpdateTrip", {"tripId": "$ID", "updateMask": "tripStatus", "trip": {"tripStatus": "ENROUTE_TO_PICKUP"}},
     {"vehicleId": "$ID", "tripType": "EXCLUSIVE", "pickupPoint": PLACE,
      "vehicleWaypoints": [{"tripId": "other-$ID", "waypointType": "DROP_OFF_WAYPOINT_TYPE"}]}),
    ("v1.UpdateVehicleAttributes", {"vehicleId": "$ID", "attributes": [{"key": "class", "value": "LUXURY"}]},
     {"attributes": [{"key": "class", "value": "LUXURY"}]}),
    ("v1.DeleteVehicle", {"vehicleId": "$ID"}, {}),
    ("v1.DeleteTrip", {"tripId": "$ID"}, {}),
    ("delivery.v1.DeleteDeliveryVehicle", {"deliveryVehicleId": "$ID"}, {}),
    ("delivery.v1.DeleteTask", {"taskId": "$ID"}, {}),
    ("delivery.v1.GetTaskTrackingInfo", {"trackingId": "$ID"}, {"trackingId": "$ID", "plannedLocation": PLACE}),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_the_only_call_of_a_recording_presumes_is_there(service, new_id, tmp_path, call, request_, response):
    recording = tmp_path / "one.json"
    recording.write_text(json.dumps([{
        "timestamp": "2026-01-02T03:04:05Z", "logName": f"projects/{service.provider}/logs/x",
        "jsonPayload": {"@type": f"type.googleapis.com/maps.fleetengine.{call}Log", "request": request_,
                        "response": response},
    }]).replace("$ID", new_id("one")))
    done = run("replay", recording, "--engine", service.http, "--data", service.data, "--provider", service.provider)
    assert done.stdout == "sent=1 otherwise=0 left_out=0 denied=0\n", done.stderr
    assert "presumes" not in done.stderr


REFUSED_CALL = json.dumps([{
    "timestamp": "2026-01-02T03:04:05Z",
    "jsonPayload": {"@type": "x.GetVehicleLog", "request": {"vehicleId": "v"},
                    "errorResponse": {"code": "NOT_FOUND", "message": "none"}},
}])


def test_a_terminal_is_shown_how_far_a_replay_is(service, new_id, tmp_path):
    recording = tmp_path / "many.json"
    recording.write_text(json.dumps(json.loads(REFUSED_CALL.replace('"v"', f'"{new_id("none")}"')) * 201))
    arguments = ["replay", recording, "--engine", service.http, "--data", service.data, "--provider", service.provider]

    def replay(terminal):
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=terminal, timeout=300, check=True)
        assert done.stdout == b"sent=201 otherwise=0 left_out=0 denied=0\n"

    shown = on_terminal(replay)
    assert shown.split(b"\r\x1b[K") == [b"", b"100 of 201 calls", b"200 of 201 calls", b""]
    assert run(*arguments).stderr == "", "nobody watches a file"


@pytest.mark.parametrize("command", [["export"], ["lint", "--recording"]], ids=" ".join)
def test_a_recording_is_read_from_a_pipe_with_a_name(command):
    reading, writing = os.pipe()
    try:
        os.write(writing, REFUSED_CALL.encode())
        os.close(writing)
        done = run(*command, f"/dev/fd/{reading}", pass_fds=[reading])
    finally:
        os.close(reading)
    assert "rawLogs" in done.stdout or "Nothing departs" in done.stdout


@pytest.mark.parametrize("command", [["export"], ["replay"], ["lint", "--recording"]], ids=" ".join)
def test_why_a_recording_cannot_be_read_is_told(tmp_path, command):
    missing = tmp_path / "missing.json"
    for path, reason in [(missing, "is missing"), (tmp_path, "is a folder, not a file")]:
        errors = run(*command, path, code=78).stderr
        assert f"{path} cannot be read: {path} {reason}; name a Cloud Logging export" in errors


def test_a_drive_goes_along_the_way_of_one_of_several_vehicles(tmp_path):
    recording, other = tmp_path / "two.json", tmp_path / "b.json"
    recording.write_text(json.dumps([{
        "timestamp": "2026-01-02T03:04:05Z",
        "jsonPayload": {
            "@type": "type.googleapis.com/maps.fleetengine.v1.UpdateVehicleLog", "response": {},
            "request": {"vehicleId": vehicle, "vehicle": {"lastLocation": {
                "location": {"latitude": latitude, "longitude": 2}, "updateTime": "2026-01-02T03:04:05Z"}}},
        },
    } for vehicle, latitude in [("a", 10), ("b", 20)]]))
    # Where the vehicle was is told though nobody takes it.
    nobody = ("--engine", "http://127.0.0.1:9", "--token-server", "http://127.0.0.1:9")
    drive = ("drive", "--vehicle")
    done = run(*drive, "b", "--route", recording, *nobody, code=69)
    assert " 20.000000,2.000000 " in done.stdout and " 10.000000" not in done.stdout
    piped = run(*drive, "b", "--route", "/dev/stdin", *nobody, code=69, input=recording.read_text())
    assert " 20.000000,2.000000 " in piped.stdout
    told = run(*drive, "c", "--route", recording, *nobody, code=78).stderr
    assert f"name one of a, b. Drive as that one, or make a file of its calls with fleetpass export {recording}" in told
    other.write_text(run("export", recording, "--about", "b").stdout)
    assert " 20.000000,2.000000 " in run(*drive, "c", "--route", other, *nobody, code=69).stdout


def test_the_calls_of_one_of_several_providers_are_chosen(service, new_id, tmp_path):
    vehicle, recording = new_id("vehicle"), tmp_path / "two.json"
    shown = {"vehicleState": "ONLINE", "supportedTripTypes": ["EXCLUSIVE"], "vehicleType": {"category": "AUTO"}}
    recording.write_text(json.dumps([{
        "timestamp": "2026-01-02T03:04:05Z", "logName": f"projects/{provider}/logs/x",
        "jsonPayload": {
            "@type": "type.googleapis.com/maps.fleetengine.v1.CreateVehicleLog",
            "request": {"vehicleId": vehicle, "vehicle": shown | {"maximumCapacity": capacity}},
            "response": shown | {"name": f"providers/{provider}/vehicles/{vehicle}", "maximumCapacity": capacity},
        },
    } for provider, capacity in [("alpha", 3), ("beta", 4)]]))
    engine = ["--engine", service.http, "--data", service.data, "--provider", service.provider]
    for command in (["export"], ["replay", *engine]):
        told = run(*command, recording, code=78).stderr
        assert f"{recording} holds calls of several providers; name with --recorded-provider one of alpha, beta." in told
        told = run(*command, recording, "--recorded-provider", "gamma", code=78).stderr
        assert "holds no call of provider gamma; it has those of alpha, beta." in told
    export = json.loads(run("export", recording, "--recorded-provider", "beta").stdout)
    assert (export["projectId"], len(export["rawLogs"])) == ("beta", 1)
    done = run("replay", recording, "--recorded-provider", "beta", "--compare", *engine)
    assert done.stdout == "sent=1 otherwise=0 left_out=0 denied=0 differences=0\n", done.stderr


def test_a_folder_without_the_key_that_signs_is_told(tmp_path):
    recording = tmp_path / "one.json"
    recording.write_text(REFUSED_CALL)
    keys = tmp_path / "keys"
    keys.mkdir()
    assert f"{keys} has no server.json" in run("replay", recording, "--data", keys, code=78).stderr
    assert "--data is empty" in run("replay", recording, "--data", "", code=2).stderr


@pytest.mark.parametrize(("text", "word"), [("nonsense", "is not JSON"), ("[]", "holds no entries")])
def test_what_is_no_recording_is_a_configuration_error(tmp_path, text, word):
    file = tmp_path / "x.json"
    file.write_text(text)
    for command in ("replay", "export"):
        assert word in run(command, file, code=78).stderr


def test_an_engine_that_is_away_is_told(service, tmp_path):
    recording = tmp_path / "one.json"
    recording.write_text(json.dumps([{
        "timestamp": "2026-01-02T03:04:05Z",
        "jsonPayload": {"@type": "x.GetVehicleLog", "request": {"vehicleId": "v"}, "response": {}},
    }]))
    done = run("replay", recording, "--engine", "http://127.0.0.1:9", "--data", service.data, code=69)
    assert "does not answer" in done.stderr


class LeavingEngine(http.server.BaseHTTPRequestHandler):
    """Answers two calls, and closes the connection of each one after."""

    def do_GET(self):
        self.server.calls += 1
        if self.server.calls > 2:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        body = json.dumps({"error": {"code": 404, "status": "NOT_FOUND", "message": "none"}}).encode()
        self.send_response(404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_what_was_sent_to_an_engine_that_goes_away_is_told(service, tmp_path):
    recording = tmp_path / "four.json"
    recording.write_text(json.dumps(json.loads(REFUSED_CALL) * 4))
    engine = http.server.ThreadingHTTPServer(("127.0.0.1", 0), LeavingEngine)
    engine.calls = 0
    threading.Thread(target=engine.serve_forever, daemon=True).start()
    try:
        done = run("replay", recording, "--engine", f"http://127.0.0.1:{engine.server_port}", "--data", service.data,
                   "--output", "json", code=69)
    finally:
        engine.shutdown()
        engine.server_close()
    assert json.loads(done.stdout) == {"sent": 2, "leftOut": 0, "denied": 0, "otherwise": []}
    assert done.stderr.startswith("fleetpass: stopped at call 3 of 4, as the engine does not answer: ")


@pytest.mark.parametrize("options", [[], ["--compare"]], ids=["plain", "compared"])
@pytest.mark.parametrize(("page", "count"), [("<html>Welcome.</html>", 3), ("[]", 3), ("{}", 2)])
def test_what_takes_everything_does_not_pass_for_an_engine(service, tmp_path, page, count, options):
    def entry(second, name, vehicle, **ending):
        return {
            "timestamp": f"2026-01-02T03:04:0{second}Z", "logName": f"projects/{service.provider}/logs/x",
            "jsonPayload": {"@type": f"type.googleapis.com/maps.fleetengine.v1.{name}Log",
                            "request": {"vehicleId": vehicle}} | ending}

    recording = tmp_path / "calls.json"
    recording.write_text(json.dumps([
        entry(1, "GetVehicle", "v", response={"maximumCapacity": 1}),
        entry(2, "GetVehicle", "nobody", errorResponse={"code": "NOT_FOUND", "message": "then"}),
        entry(3, "DeleteVehicle", "v", response={}),
    ]))
    server = DocumentServer()
    server.answer = lambda path: (200, page, {})
    try:
        done = run(
            "replay", recording, *options, "--engine", server.url, "--data", service.data, "--provider",
            service.provider, code=1)
    finally:
        server.shutdown()
        server.server_close()
    *told, closing = done.stdout.splitlines()
    # Of what was deleted nothing is returned.
    assert told == [
        "call 1 GetVehicle: recorded OK, now 200 an answer that is not the API's",
        "call 2 GetVehicle: recorded NOT_FOUND, now 200 an answer that is not the API's",
        "call 3 DeleteVehicle: recorded OK, now 200 an answer that is not the API's"][:count]
    assert closing.startswith(f"sent=3 otherwise={count} left_out=0 denied=0")
    assert done.stderr == f"fleetpass: {count} of 3 calls ended otherwise.\n"


FORGED = "no\x1b[2K\u202e\r\u2028\nfleetpass: all is well\nsent=9 otherwise=0 left_out=0 denied=0"


class ForgingEngine(http.server.BaseHTTPRequestHandler):
    """Refuses everything in words that pass for lines of the program, and steer a terminal."""

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": FORGED}}
        text = json.dumps(body) if self.path.startswith("/v1/") else FORGED
        self.send_response(400)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass


def test_no_line_is_forged_by_a_recording_or_an_engine(service, tmp_path):
    def entry(name, request, **more):
        return {
            "timestamp": "2026-01-02T03:04:05Z", "logName": f"projects/{service.provider}/logs/x",
            "jsonPayload": {"@type": f"type.googleapis.com/maps.fleetengine.v1.{name}", "request": request, **more}}

    recording = tmp_path / "forged.json"
    recording.write_text(json.dumps([
        entry("GetVehicleLog", {"vehicleId": "v"}, errorResponse={"code": FORGED, "message": "then"}),
        entry("UpdateVehicleLog", {"vehicleId": "v", "vehicle": {"vehicleState": "ONLINE"}, "updateMask": "vehicleState"},
              response={"name": "providers/demo-fleet/vehicles/v", "vehicleState": "ONLINE"}),
        entry(FORGED, {}),
    ]))
    others = tmp_path / "others.json"
    others.write_text(json.dumps([entry(FORGED, {})]))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), ForgingEngine) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            engine = ["--engine", f"http://127.0.0.1:{server.server_port}"]
            replay = ["replay", recording, *engine, "--data", service.data, "--provider", service.provider]
            fleet = [*engine, "--token-server", service.http, "--provider", service.provider]
            results = [(subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, timeout=60, check=False), count)
                       for arguments, count in ((replay, 3), (["export", others], 0), (["lint", "--recording", others], 0),
                                                (["watch", "--trip", "t", *fleet], 1), (["chaos", "show", *engine], 0))]
        finally:
            server.shutdown()
            thread.join()
    for result, count in results:
        output = result.stdout.decode() + result.stderr.decode()
        assert result.returncode in (1, 69, 78), output
        assert not {"\x1b", "\r", "\u202e", "\u2028"} & set(output), output
        assert r"\u001b" in output
        assert result.stdout.count(b"\n") == count, output
        assert all(line.startswith(b"fleetpass: ") for line in result.stderr.splitlines()), output
        assert b"\nfleetpass: all is well" not in result.stderr
    assert results[0][0].stdout.splitlines()[-1] == b"sent=2 otherwise=2 left_out=0 denied=0"
