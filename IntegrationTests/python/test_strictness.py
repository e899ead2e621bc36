# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Departures from the documentation: noted in either profile, told to callers in the strict one, listed by `lint`."""

import json

import pytest
from google.maps import fleetengine_v1 as fleet
from google.protobuf import field_mask_pb2

from clients import by_google_jwt, vehicle_body
from forgery import encode
from service import Service, run

DEPRECATED = {"lastLocation": {"location": {"latitude": 37.4, "longitude": -122.1}, "speedKmph": 30}}


PLACE = {"location": {"latitude": 37.4, "longitude": -122.1}}


def create(service):
    body = vehicle_body() | {"lastLocation": PLACE}
    answer = service.rest("POST", "vehicles?vehicleId=veh-1", service.mint("server"), json=body)
    assert answer.status_code == 200, answer.text


@pytest.fixture(params=["real", "strict"])
def profile(request):
    return request.param


@pytest.fixture
def up(tmp_path, profile):
    service = Service(tmp_path / "data", "--profile", profile)
    try:
        create(service)
        yield service
    finally:
        code, _, errors = service.stop()
        assert code == 0, errors


def lint(up):
    result = run("lint", "--engine", up.http, "--output", "json")
    report = json.loads(result.stdout)
    assert result.returncode == (1 if report["deviations"] else 0)
    return report


def test_a_fleet_by_the_book_departs_from_nothing(up, profile):
    token = up.mint("driver", vehicle="veh-1")
    answer = up.rest("PUT", "vehicles/veh-1?updateMask=lastLocation", token, json={"lastLocation": PLACE})
    assert answer.status_code == 200, answer.text
    assert "x-fleetpass-warning" not in answer.headers
    assert lint(up) == {"profile": profile, "deviations": []}
    result = run("lint", "--engine", up.http)
    assert result.returncode == 0
    assert result.stdout == b"Nothing departs from the documentation.\n"


def test_the_vendors_tokens_and_reports_too_fast_are_listed(up, profile):
    # google-auth does not set iat back, and here the vendor's client reports twice at once.
    clients = by_google_jwt(up, "driver", {"vehicleid": "veh-1"})
    request = fleet.UpdateVehicleRequest(
        name=f"providers/{up.provider}/vehicles/veh-1", vehicle=fleet.Vehicle(last_location=PLACE),
        update_mask=field_mask_pb2.FieldMask(paths=["last_location"]))
    warnings = []
    for _ in range(2):
        _, call = clients.vehicles.transport.update_vehicle.with_call(request, timeout=30)
        warnings.append(
            sorted(value.split(":")[0] for key, value in call.trailing_metadata() if key == "x-fleetpass-warning"))
    expected = [["iat-not-backdated"], ["iat-not-backdated", "report-too-often"]]
    assert warnings == (expected if profile == "strict" else [[], []])
    report = lint(up)
    assert [(it["id"], it["count"]) for it in report["deviations"]] == [("iat-not-backdated", 2), ("report-too-often", 1)]
    often = report["deviations"][1]
    assert often["inStrict"] == "warned" and often["source"] and often["fix"]
    (subject,) = often["subjects"]
    assert (subject["kind"], subject["id"], subject["role"]) == ("vehicle", "veh-1", "driver")
    assert subject["provider"] == up.provider
    assert len(subject["fingerprint"]) == 16


def test_a_deprecated_field_is_told_over_rest(up, profile):
    answer = up.rest(
        "PUT", "vehicles/veh-1?updateMask=lastLocation", up.mint("driver", vehicle="veh-1"), json=DEPRECATED)
    assert answer.status_code == 200, answer.text
    assert ("deprecated-field: " in answer.headers.get("x-fleetpass-warning", "")) == (profile == "strict")
    assert [it["id"] for it in lint(up)["deviations"]] == ["deprecated-field"]


def test_a_list_without_vehicle_types_is_refused_in_strict_only(up, profile):
    answer = up.rest("GET", "vehicles", up.mint("server"))
    assert answer.status_code == (400 if profile == "strict" else 200)
    if profile == "strict":
        assert "list-without-vehicle-types" in answer.json()["error"]["message"]


def test_a_token_is_examined_without_an_engine(service):
    result = run("lint", "-", "--keys", service.data, stdin=service.mint("driver", vehicle="veh-1").encode())
    assert result.returncode == 0, result.stderr
    header = encode({"alg": "RS256"})
    payload, signature = service.mint("driver", vehicle="veh-1").split(".")[1:]
    result = run("lint", "-", "--output", "json", stdin=f"{header}.{payload}.{signature}".encode())
    assert result.returncode == 1
    found = [it["id"] for it in json.loads(result.stdout)["deviations"]]
    assert found == ["token-without-kid", "token-without-typ"]
    # With keys the signature is looked at first, and does not fit.
    result = run("lint", "-", "--keys", service.data, stdin=f"{header}.{payload}.{signature}".encode())
    assert result.returncode == 1
    assert b"SIGNATURE_INVALID" in result.stderr


def test_a_refused_token_is_not_said_to_depart_from_nothing(service):
    token = service.mint("driver", vehicle="veh-1").rsplit(".", 1)[0].encode() + b".AA"
    result = run("lint", "-", "--keys", service.data, stdin=token)
    assert (result.returncode, result.stdout) == (1, b"")
    assert b"SIGNATURE_INVALID" in result.stderr
    result = run("lint", "-", "--keys", service.data, "--output", "json", stdin=token)
    report = json.loads(result.stdout)
    assert result.returncode == 1 and report["deviations"] == []
    assert report["refusal"]["reason"] == "SIGNATURE_INVALID" and report["refusal"]["message"]


def test_a_recording_is_examined(tmp_path):
    recording = tmp_path / "calls.jsonl"
    service = Service(tmp_path / "data", "--record", str(recording))
    try:
        create(service)
        token = service.mint("driver", vehicle="veh-1")
        for _ in range(2):
            assert service.rest(
                "PUT", "vehicles/veh-1?updateMask=lastLocation", token, json=DEPRECATED).status_code == 200
    finally:
        assert service.stop()[0] == 0
    result = run("lint", "--recording", recording, "--output", "json")
    assert result.returncode == 1
    assert [it["id"] for it in json.loads(result.stdout)["deviations"]] == ["report-too-often", "deprecated-field"]


@pytest.mark.parametrize("providers", [["acme"], ["acme", "other"]])
def test_a_vehicle_is_told_with_its_provider_where_there_are_several(tmp_path, providers):
    recording = tmp_path / "calls.json"
    recording.write_text(json.dumps([
        {"timestamp": f"2026-01-02T03:04:{second:02}Z", "logName": f"projects/{provider}/logs/x",
         "jsonPayload": {
             "@type": "type.googleapis.com/maps.fleetengine.v1.UpdateVehicleLog",
             "request": {"vehicleId": "veh-1", "updateMask": "lastLocation", "vehicle": DEPRECATED}, "response": {}}}
        for second, provider in enumerate(providers)
    ]))
    result = run("lint", "--recording", recording)
    assert result.returncode == 1
    subjects = [line.split(":")[0] for line in result.stdout.decode().splitlines() if line.startswith("  - ")]
    assert subjects == (
        ["  - vehicle veh-1 of other", "  - vehicle veh-1 of acme"] if len(providers) > 1 else ["  - vehicle veh-1"])
    (entry,) = json.loads(run("lint", "--recording", recording, "--output", "json").stdout)["deviations"]
    assert entry["count"] == len(providers)
    assert [it["provider"] for it in entry["subjects"]] == providers[::-1]


@pytest.mark.parametrize("arguments", [[], ["a.b.c", "--engine", "http://127.0.0.1:1"], ["--engine", "http://example.com"]])
def test_lint_is_told_how_to_ask(arguments):
    result = run("lint", *arguments)
    assert result.returncode == 2
    assert result.stderr


def test_an_engine_that_is_not_there_is_unreachable():
    assert run("lint", "--engine", "http://127.0.0.1:1").returncode == 69
