# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The demo as a newcomer sees it: vehicles move, customers watch, and wrong tokens are refused with a reason."""

import hashlib
import json
import re
import socket
import time
from pathlib import Path

import pytest
import requests

from service import Program, Service, run


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    service = Service(tmp_path_factory.mktemp("demo"), "--speed", "20", command="demo")
    yield service
    apps = commands_of_children(service)
    code, _, _ = service.stop()
    assert code == 0
    assert not [pid for pid in apps if Path(f"/proc/{pid}").exists()], "an app outlived the demo"


def commands_of_children(service):
    """The command lines of the processes that the demo started, by process id."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = entry.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1]
            if int(parent) == service.process.pid:
                found[int(entry.name)] = entry.joinpath("cmdline").read_text().split("\0")
        except OSError:
            pass  # It ended meanwhile.
    return found


def state(demo):
    return requests.get(f"{demo.http}/page/state", timeout=10).json()


def wait_for(condition, seconds):
    """Asks until the condition holds; gives what it gave."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.5)
    raise AssertionError(f"nothing after {seconds} s")


def test_a_demo_that_is_started_again_calls_off_the_trips_of_the_one_before(tmp_path):
    last = set()
    for _ in range(2):
        service = Service(tmp_path, "--speed", "1", command="demo")
        backend = service.mint("server")

        def current():
            return set(service.rest("GET", "vehicles/vehicle-1", backend).json().get("currentTrips", []))

        trips = wait_for(lambda: (found := current()) - last and found, 60)
        assert len(trips) == 1, "the vehicle has the trip of its drive, and no other"
        for trip in last:
            assert service.rest("GET", f"trips/{trip}", backend).json()["tripStatus"] == "CANCELED"
        last = trips
        code, _, errors = service.stop()
        assert code == 0, errors


def test_vehicles_move_on_real_routes(demo):
    def online():
        return {i: v for i, v in state(demo)["vehicles"].items() if v["state"] == "online" and "place" in v}

    first = wait_for(lambda: len(online()) >= 2 and online(), 60)

    def moved():
        now = online()
        return all(now[i]["place"] != v["place"] for i, v in first.items() if i in now) and now

    wait_for(moved, 60)


def test_drivers_and_customers_are_processes_of_their_own(demo):
    def apps():
        commands = [command[1:] for command in commands_of_children(demo).values()]
        values = lambda app, option: {c[c.index(option) + 1] for c in commands if c[:1] == [app] and option in c}
        drivers, customers = values("drive", "--vehicle"), values("watch", "--trip")
        vans, recipients = values("drive", "--delivery-vehicle"), values("watch", "--tracking-id")
        return (drivers, vans) if len(drivers) >= 2 and customers and vans and recipients else None

    drivers, vans = wait_for(apps, 60)
    assert drivers <= {"vehicle-1", "vehicle-2"} and vans == {"van-1"}


def test_drivers_and_customers_use_tokens_of_their_own(demo):
    def both():
        tokens = state(demo)["tokens"].values()
        wanted = {
            "driver", "consumer", "delivery_untrusted_driver", "delivery_trusted_driver", "delivery_consumer",
        }
        return wanted <= {t["role"] for t in tokens if t["count"] > 0} and tokens

    for token in wait_for(both, 60):
        assert re.fullmatch(r"[0-9a-f]{16}", token["fingerprint"])
        assert 0 < token["expires"] / 1000 - time.time() <= 3300
        if token["role"] not in ("server", "delivery_server"):
            assert "*" not in token["claims"]
            assert token["issued"] <= time.time() * 1000, "the token server told of it"


def test_a_wrong_token_is_refused_with_the_reason(demo):
    refusals = wait_for(lambda: state(demo)["refusals"], 90).values()
    assert {r["reason"] for r in refusals} <= {
        "CLAIM_MISMATCH", "ROLE_LACKS_PERMISSION", "SIGNATURE_INVALID", "TOKEN_MISSING", "TOKEN_MALFORMED"
    }
    assert all(r["message"] for r in refusals)


def test_a_shipment_comes_near_and_is_delivered(demo):
    def followed():
        commands = [command[1:] for command in commands_of_children(demo).values()]
        return {c[c.index("--tracking-id") + 1] for c in commands if c[:1] == ["watch"] and "--tracking-id" in c}

    # The first of them, because the whole round takes two and a half minutes at this speed.
    shipment = min(wait_for(followed, 60))
    token = demo.mint("delivery_consumer", tracking=shipment)
    seen = []

    def delivered():
        info = demo.rest("GET", f"taskTrackingInfo/{shipment}", token).json()
        seen.append("vehicleLocation" in info)
        return info if info.get("taskOutcome") == "SUCCEEDED" else None

    info = wait_for(delivered, 240)
    assert "taskOutcomeTime" in info
    assert any(seen), "the recipient never saw the vehicle come near"
    wait_for(lambda: shipment not in followed(), 60)


def test_the_page_asks_nobody_else(demo):
    page = requests.get(f"{demo.http}/", timeout=10)
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for path in ["/", "/page/page.js", "/page/page.css", "/page/map.js", "/page/fleet-token.js"]:
        text = requests.get(f"{demo.http}{path}", timeout=10).text
        known = ("http://www.w3.org/2000/svg", "https://tokens.example")
        foreign = [u for u in re.findall(r"https?://[^\s\"'<>]+", text) if not u.startswith(known)]
        assert not foreign, foreign


def test_a_page_under_another_name_is_not_served(demo):
    # What DNS rebinding would send.
    answer = requests.get(f"{demo.http}/token/driver/veh-1", headers={"Host": "evil.example.com"}, timeout=10)
    assert answer.status_code == 421
    assert "jwt" not in answer.text


@pytest.fixture
def callers(tmp_path):
    file = tmp_path / "callers.json"
    roles = ["driver", "consumer", "delivery_untrusted_driver", "delivery_trusted_driver", "delivery_consumer"]
    entry = {"name": "apps", "secret_sha256": hashlib.sha256(b"a-secret-0123456789-0123456789-0123456789").hexdigest(), "roles": roles}
    file.write_text(json.dumps({"callers": [entry]}), encoding="utf-8")
    return file, roles


def test_a_demo_for_callers_needs_their_secret(tmp_path, callers):
    file, roles = callers
    result = run("demo", "--data", tmp_path / "data", "--callers", file, environment={"FLEETPASS_SECRET": ""})
    assert result.returncode == 2 and not (tmp_path / "data").exists()
    for told in (result.stderr.decode(), " ".join(run("demo", "--help").stdout.decode().split())):
        assert "FLEETPASS_SECRET" in told and all(role in told for role in roles)


def test_a_demo_for_callers_sends_their_secret(tmp_path, callers):
    demo = Service(
        tmp_path / "data", "--callers", callers[0], "--speed", "20", command="demo",
        environment={"FLEETPASS_SECRET": "a-secret-0123456789-0123456789-0123456789"})
    wait_for(lambda: {t["role"] for t in state(demo)["tokens"].values()} >= set(callers[1]), 60)
    # Somebody has tried a token that was got from the token server, too.
    wait_for(lambda: {"CLAIM_MISMATCH"} & {r["reason"] for r in state(demo)["refusals"].values()}, 90)
    code, _, errors = demo.stop()
    assert code == 0 and "status 401" not in errors, errors


def test_a_folder_without_drives_is_told_with_the_cause(tmp_path):
    (tmp_path / "file").touch()
    for routes, told in [
        (tmp_path / "none", "none is missing; "), (tmp_path / "file", "file is a file, not a folder; "),
        (tmp_path, "there are no GPX files in the folder"),
    ]:
        result = run("demo", "--routes", routes, "--data", tmp_path / "data", "--port", "0", "--grpc-port", "0")
        assert result.returncode == 78 and told in result.stderr.decode()
    assert not (tmp_path / "data").exists()


class DemoOverIPv6(Program):
    """A demo at ::1."""

    def __init__(self, data):
        ready = re.compile(r"^ready http=(?P<http>http://\[::1\]:\d+) ")
        super().__init__(ready, "demo", "--data", data, "--host", "::1", "--port", "0", "--grpc-port", "0", "--speed", "20")


def test_a_demo_runs_over_ipv6(tmp_path):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no ::1")
    demo = DemoOverIPv6(tmp_path / "data")
    wait_for(lambda: any(vehicle["state"] == "online" for vehicle in state(demo)["vehicles"].values()), 60)
    code, _, errors = demo.stop()
    assert code == 0, errors
