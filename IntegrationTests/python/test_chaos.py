# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Faults by script: what the vendor's client makes of them, and that nobody takes them for real."""

import concurrent.futures
import json
import time

import pytest
import requests
from google.api_core import exceptions

from clients import by_google_jwt, delivery_over_rest, jwt_credentials, vehicle_body
from service import Service, refusal, run
from stand_ins import DocumentServer


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chaos")
    script = folder / "start.yaml"
    script.write_text("seed: 3\nsteps:\n  - status: UNAVAILABLE   # one call\n    vehicle: at-start\n    calls: 1\n")
    service = Service(folder / "data", "--chaos", str(script))
    try:
        token = service.mint("server")
        # Its first call is struck by the script that the service was started with.
        assert service.rest("POST", "vehicles?vehicleId=at-start", token, json=vehicle_body()).status_code == 503
        for vehicle in ["at-start", "veh-1", "veh-2"]:
            answer = service.rest("POST", f"vehicles?vehicleId={vehicle}", token, json=vehicle_body())
            assert answer.status_code == 200, answer.text
        yield service
    finally:
        code, _, errors = service.stop()
        assert code == 0, errors


@pytest.fixture
def play(up):
    """Sets a script, and ends it after the test."""

    def set_script(*steps, seed=0):
        result = run("chaos", "set", "-", "--engine", up.http, stdin=json.dumps({"seed": seed, "steps": steps}).encode())
        assert result.returncode == 0, result.stderr

    yield set_script
    assert run("chaos", "clear", "--engine", up.http).stdout == b"No script plays.\n"


def strikes(up):
    result = run("chaos", "show", "--engine", up.http, "--output", "json")
    assert result.returncode == 0, result.stderr
    return [step["strikes"] for step in json.loads(result.stdout)["steps"]]


def wait_until_struck(up):
    deadline = time.monotonic() + 30
    while strikes(up) != [1]:
        assert time.monotonic() < deadline, "no call was struck"
        time.sleep(0.1)


def vehicle_name(up, vehicle="veh-1"):
    return f"providers/{up.provider}/vehicles/{vehicle}"


def test_the_vendors_client_retries_an_outage_until_it_ends(up, play):
    clients = by_google_jwt(up, "driver", {"vehicleid": "veh-1"})
    play({"status": "UNAVAILABLE", "vehicle": "veh-1", "calls": 2})
    vehicle = clients.vehicles.get_vehicle(request={"name": vehicle_name(up)})
    assert vehicle.name == vehicle_name(up)
    assert strikes(up) == [2]


def test_other_statuses_reach_the_vendors_client_and_say_that_they_are_chaos(up, play):
    clients = by_google_jwt(up, "driver", {"vehicleid": "veh-1"})
    play({"status": "RESOURCE_EXHAUSTED", "methods": ["GetVehicle"]})
    with pytest.raises(exceptions.ResourceExhausted) as told:
        clients.vehicles.get_vehicle(request={"name": vehicle_name(up)})
    assert "Chaos by script" in told.value.message
    assert told.value.reason == "CHAOS"
    assert told.value.metadata == {"chaos": "steps[0] status RESOURCE_EXHAUSTED"}


def test_over_rest_as_over_grpc(up, play):
    token = up.mint("driver", vehicle="veh-1")
    play({"status": "ABORTED", "vehicle": "veh-1", "calls": 1})
    answer = up.rest("GET", "vehicles/veh-1", token)
    assert answer.status_code == 409
    assert refusal(answer) == ("ABORTED", "CHAOS")
    assert answer.headers["x-fleetpass-chaos"] == "steps[0] status ABORTED"
    answer = up.rest("GET", "vehicles/veh-1", token)
    assert answer.status_code == 200
    assert "x-fleetpass-chaos" not in answer.headers


def test_the_vendors_rest_client_sees_a_fault(up, play):
    client = delivery_over_rest(up, jwt_credentials(up, "delivery_server", {"deliveryvehicleid": "*"}))
    play({"status": "INTERNAL", "methods": ["GetDeliveryVehicle"]})
    with pytest.raises(exceptions.InternalServerError, match="Chaos by script"):
        client.get_delivery_vehicle(request={"name": f"providers/{up.provider}/deliveryVehicles/dv-1"})


def test_a_rotated_key_refuses_what_is_cached_and_takes_what_is_new(up, play):
    cached = up.mint("driver", vehicle="veh-1")
    made = int(time.time())
    # A token of the second in which the script is set counts as new.
    while int(time.time()) == made:
        time.sleep(0.01)
    play({"keyRotated": "driver"})
    answer = up.rest("GET", "vehicles/veh-1", cached)
    assert refusal(answer) == ("UNAUTHENTICATED", "KEY_UNKNOWN")
    assert "Chaos by script (steps[0] keyRotated driver)" in answer.json()["error"]["message"]
    # google-auth does not set iat back, so its token is newer than the step.
    fresh = by_google_jwt(up, "driver", {"vehicleid": "veh-1"})
    assert fresh.vehicles.get_vehicle(request={"name": vehicle_name(up)}).name == vehicle_name(up)


def test_a_step_for_keys_counts_and_marks_what_it_refuses_only(up, play):
    driver, server = up.mint("driver", vehicle="veh-1"), up.mint("server")
    play({"keyExpired": "driver", "calls": 1})
    answers = [up.rest("GET", "vehicles/veh-1", token) for token in (server, driver, driver)]
    assert [answer.status_code for answer in answers] == [200, 401, 200]
    marks = [answer.headers.get("x-fleetpass-chaos") for answer in answers]
    assert marks == [None, "steps[0] keyExpired driver", None]
    assert strikes(up) == [1]


def test_expired_keys_and_a_wrong_clock_are_refused_by_the_rules_themselves(up, play):
    token = up.mint("driver", vehicle="veh-1")
    play({"keyExpired": "driver"})
    assert refusal(up.rest("GET", "vehicles/veh-1", token)) == ("UNAUTHENTICATED", "KEY_UNKNOWN")
    assert up.rest("GET", "vehicles/veh-1", up.mint("server")).status_code == 200
    play({"clockOff": "1h"})
    assert refusal(up.rest("GET", "vehicles/veh-1", token)) == ("UNAUTHENTICATED", "TOKEN_EXPIRED")
    play({"clockOff": "-30m"})
    assert refusal(up.rest("GET", "vehicles/veh-1", token)) == ("UNAUTHENTICATED", "TOKEN_NOT_YET_VALID")
    refused = requests.get(f"{up.http}/page/state", timeout=30).json()["refusals"].values()
    assert all(it["message"].startswith("Chaos by script") for it in refused)


def test_the_same_seed_strikes_the_same_calls(up, play):
    token = up.mint("driver", vehicle="veh-2")

    def statuses():
        play({"status": "UNAVAILABLE", "vehicle": "veh-2", "share": 0.5}, seed=11)
        return [up.rest("GET", "vehicles/veh-2", token).status_code for _ in range(20)]

    first = statuses()
    assert set(first) == {200, 503}
    assert statuses() == first


def test_the_token_server_is_struck_by_its_own_steps(up, play):
    play({"status": "UNAVAILABLE", "target": "tokens", "vehicle": "veh-1", "calls": 1})
    # Another id, which begins with a byte order mark.
    assert requests.get(f"{up.http}/token/driver/%EF%BB%BFveh-1", timeout=30).json()["jwt"]
    answer = requests.get(f"{up.http}/token/driver/veh-1", timeout=30)
    assert answer.status_code == 503
    assert answer.headers["x-fleetpass-chaos"] == "steps[0] status UNAVAILABLE"
    # In the form of the server's own errors, as a client reads them.
    assert int(answer.headers["Retry-After"]) > 0
    error = answer.json()["error"]
    assert (error["code"], error["status"]) == (503, "UNAVAILABLE")
    assert error["message"].startswith("Chaos by script")
    assert requests.get(f"{up.http}/token/driver/veh-1", timeout=30).json()["jwt"]
    assert requests.get(f"{up.http}/token/driver/veh-2", timeout=30).json()["jwt"]


def test_a_typed_request_for_a_token_is_struck_by_whom_its_body_names(up, play):
    def ask(**body):
        return requests.post(f"{up.http}/v1/tokens", json=body, timeout=30)

    play({"status": "UNAVAILABLE", "target": "tokens", "vehicle": "veh-1", "calls": 1},
         {"status": "ABORTED", "target": "tokens", "deliveryVehicle": "dv-1"})
    assert ask(role="driver", vehicle="veh-2").json()["token"]
    answer = ask(role="driver", vehicle="veh-1")
    assert answer.status_code == 503
    assert answer.headers["x-fleetpass-chaos"] == "steps[0] status UNAVAILABLE"
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert int(answer.headers["Retry-After"]) > 0
    problem = answer.json()
    assert (problem["status"], problem["code"]) == (503, "unavailable")
    assert problem["detail"].startswith("Chaos by script")
    assert ask(role="driver", vehicle="veh-1").json()["token"]
    # No kind of problem has this status.
    answer = ask(role="delivery_trusted_driver", delivery_vehicle="dv-1", task="task-1")
    assert answer.status_code == 409
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json()["status"] == 409
    # A body that is too long names nobody, and is refused as without a script.
    body = json.dumps({"role": "driver", "delivery_vehicle": "dv-1", "more": "x" * 30_000}).encode()
    for data in (body, iter([body[:20_000], body[20_000:]])):
        answer = requests.post(
            f"{up.http}/v1/tokens", data=data, headers={"Content-Type": "application/json"}, timeout=30)
        assert answer.status_code == 413
        assert "x-fleetpass-chaos" not in answer.headers
    assert strikes(up) == [1, 1]


def test_a_slow_call_goes_on_when_its_script_ends(up, play):
    token = up.mint("driver", vehicle="veh-1")
    play({"slow": "5m", "vehicle": "veh-1"})
    with concurrent.futures.ThreadPoolExecutor() as pool:
        call = pool.submit(up.rest, "GET", "vehicles/veh-1", token)
        wait_until_struck(up)
        assert run("chaos", "clear", "--engine", up.http).returncode == 0
        answer = call.result()
    assert answer.status_code == 200
    assert answer.headers["x-fleetpass-chaos"] == "steps[0] slow 5m"


def test_shutdown_does_not_wait_for_slow_calls(tmp_path):
    service = Service(tmp_path / "data")
    token = service.mint("server")
    script = json.dumps({"steps": [{"slow": "5m", "target": "engine"}]}).encode()
    assert run("chaos", "set", "-", "--engine", service.http, stdin=script).returncode == 0
    with concurrent.futures.ThreadPoolExecutor() as pool:
        call = pool.submit(service.rest, "GET", "vehicles/none", token)
        wait_until_struck(service)
        code, _, errors = service.stop()
        assert code == 0, errors
        # It was answered, and not cut off.
        assert call.result().status_code == 404


def test_an_id_that_looks_like_a_number_needs_no_quotes(up, play, tmp_path):
    file = tmp_path / "script.yaml"
    file.write_text("steps:\n  - slow: 1\n    vehicle: 007\n")
    result = run("chaos", "set", file, "--engine", up.http, "--output", "json")
    assert result.returncode == 0, result.stderr
    (step,) = json.loads(result.stdout)["steps"]
    assert step["step"] == {"slow": "1s", "vehicle": "007"}


def test_web_pages_cannot_use_it(up):
    script = {"steps": [{"slow": "1s"}]}
    for headers in [{"Origin": "https://example.com"}, {"Origin": up.http}]:
        assert requests.put(f"{up.http}/chaos", json=script, headers=headers, timeout=30).status_code == 403
    assert requests.put(f"{up.http}/chaos", json=script, headers={"Host": "example.com"}, timeout=30).status_code == 421
    assert strikes(up) == []


@pytest.mark.parametrize("script, told", [
    ("steps: []", "1 to 100"), ("steps:\n  - statu: UNAVAILABLE", "there is no statu"), ("a: [", "neither YAML nor JSON"),
    ("steps:\n  - slow: 1s\n    vehicle: a/b", "steps[0]: vehicle: The vehicle id holds"),
    ("steps:\n  - {slow: 1s, target: tokens, task: x}", "by its task"),
])
def test_a_wrong_script_is_told_what_to_mend(up, tmp_path, script, told):
    file = tmp_path / "script.yaml"
    file.write_text(script)
    result = run("chaos", "set", file, "--engine", up.http)
    assert result.returncode == 78
    assert told in result.stderr.decode()


@pytest.mark.parametrize("end", ["", "\x1b[2J"])
def test_what_is_no_script_is_not_printed(service, tmp_path, end):
    file = tmp_path / "driver.json"
    key = service.key_file("driver").read_text(encoding="utf-8")
    cut = key[:key.index("PRIVATE KEY") + 200]
    file.write_text(cut + end, encoding="utf-8")
    options = ["--data", tmp_path / "data", "--port", "0", "--grpc-port", "0"]
    for arguments in (["chaos", "set", file], ["chaos", "set", "-"], ["up", *options, "--chaos", file]):
        result = run(*arguments, stdin=file.read_bytes())
        assert result.returncode == 78
        for text in (b"PRIVATE KEY", cut[-40:].encode(), b"\x1b"):
            assert text not in result.stderr
    assert not (tmp_path / "data").exists()


def test_a_script_that_unfolds_is_refused(tmp_path):
    levels = [f"l{number}: &l{number} [{', '.join([f'*l{number - 1}'] * 9)}]" for number in range(1, 12)]
    file = tmp_path / "script.yaml"
    file.write_text("\n".join(["l0: &l0 [x]", *levels, "steps: *l11"]), encoding="utf-8")
    result = run("chaos", "set", file, timeout=20)
    assert result.returncode == 78
    assert b"line 2, \"*\" repeats what \"&\" marks, and aliases are not read" in result.stderr
    result = run("chaos", "set", "/dev/zero", timeout=20)
    assert result.returncode == 78 and b"is longer than 262144 bytes" in result.stderr


def test_a_server_without_scripts_is_told_and_which_have_them():
    server = DocumentServer()
    server.answer = lambda path: (404, {}, {})
    try:
        for command, told in [(["chaos", "show"], "up or demo, as no other server has it."), (["lint"], "serve engine whose page")]:
            result = run(*command, "--engine", server.url)
            message = result.stderr.decode()
            assert result.returncode == 69 and " is not there; name the HTTP address of fleetpass up or demo" in message
            assert told in message
    finally:
        server.shutdown()
        server.server_close()
