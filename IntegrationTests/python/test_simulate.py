# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""A simulated fleet at a running service: every vehicle with a token of its own, over REST."""

import hashlib
import json
import re
import signal
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests

from service import INTERRUPTIBLE, PROGRAM, Service, run
from stand_ins import DocumentServer

ROUTE = Path(__file__).parents[2] / "Examples" / "routes" / "bay-area-trip-1.gpx"


def test_a_fleet_drives_for_a_while_and_says_what_it_did(tmp_path):
    service = Service(tmp_path / "data")
    result = run(
        "simulate", "--vehicles", 6, "--trips", 30, "--for", "35s", "--output", "json", "--token-server", service.http,
        "--engine", service.http, "--create-with", service.key_file("server"),
    )
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary["vehicles"] == 6 and 35 <= summary["seconds"] < 60
    updates, tokens, trips = summary["updates"], summary["tokens"], summary["trips"]
    # Each vehicle goes online with its first report, reports every 5 s, and goes offline.
    assert 6 * 6 <= updates["taken"] <= 6 * 12
    assert updates["refused"] == updates["lost"] == updates["withoutToken"] == 0
    assert 0 < updates["p50Milliseconds"] <= updates["p99Milliseconds"]
    # One token for each vehicle, and one for each trip's customer.
    assert 6 + trips["completed"] <= tokens["fetched"] <= 6 + trips["created"] and tokens["failed"] == 0
    assert trips["completed"] >= 1 and trips["failed"] == 0
    assert trips["completed"] + trips["cutShort"] == trips["created"]

    token = service.mint("fleet_reader")
    states = {service.rest("GET", f"vehicles/sim-{n}", token).json()["vehicleState"] for n in range(1, 7)}
    assert states == {"OFFLINE"}
    code, _, _ = service.stop()
    assert code == 0


def test_a_fleet_keeps_to_its_rate_from_start_to_end(tmp_path):
    recording = tmp_path / "traffic.jsonl"
    service = Service(tmp_path / "data", "--record", recording)
    result = run(
        "simulate", "--vehicles", 20, "--interval", 5, "--max-rate", 4, "--for", "10s", "--output", "json",
        "--token-server", service.http, "--engine", service.http, "--create-with", service.key_file("server"),
    )
    assert result.returncode == 0, result.stderr
    code, _, _ = service.stop()
    assert code == 0
    # The vehicles go offline a quarter of a second apart; a slow machine takes longer only.
    seconds = json.loads(result.stdout)["seconds"]
    assert seconds >= 10 + 16 / 4
    calls = [json.loads(line)["jsonpayload"] for line in recording.read_text(encoding="utf-8").splitlines()]
    updates = [call["request"] for call in calls if call["@type"].endswith(".UpdateVehicleLog")]
    # What a vehicle reports at the beginning and the end of an interval is one update more than its rate.
    assert 2 * 20 <= len(updates) <= 4 * seconds + 5
    # The first report of each says both, that it is online and where.
    online = [update for update in updates if update["vehicle"]["state"] == "VEHICLE_STATE_ONLINE"]
    assert len(updates) - len(online) == 20
    assert all("lastlocation" in update["vehicle"] for update in online)


class Interruptible:
    """A command that is there to be interrupted."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [*INTERRUPTIBLE, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, bufsize=0)

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_fleet_that_is_interrupted_comes_to_its_end(tmp_path, number):
    service = Service(tmp_path / "data")
    backend = service.mint("server")

    def fleet():
        return [service.rest("GET", f"vehicles/sim-{n}", backend).json() for n in range(1, 7)]

    with Interruptible(
        "simulate", "--for", "1h", "--vehicles", 6, "--trips", 30, "--output", "json", "--token-server", service.http,
        "--engine", service.http, "--create-with", service.key_file("server"),
    ) as command:
        end = time.monotonic() + 60
        found = fleet()
        while not (all(v.get("vehicleState") == "ONLINE" for v in found) and any(v.get("currentTrips") for v in found)):
            assert time.monotonic() < end and command.poll() is None, "every vehicle drives, and one has a trip"
            time.sleep(0.2)
            found = fleet()
        command.send_signal(number)
        output, errors = command.communicate(timeout=60)
    assert command.returncode == -number, errors
    summary = json.loads(output)
    trips = summary["trips"]
    assert summary["updates"]["taken"] >= 6 and trips["failed"] == 0
    assert trips["cutShort"] >= 1 and trips["completed"] + trips["cutShort"] == trips["created"]
    for vehicle in fleet():
        assert vehicle["vehicleState"] == "OFFLINE" and "currentTrips" not in vehicle
    code, _, _ = service.stop()
    assert code == 0


@pytest.mark.parametrize("arguments", [
    ["simulate", "--for", "1h", "--vehicles", 1], ["drive", "--vehicle", "v", "--route", ROUTE],
], ids=lambda arguments: arguments[0])
def test_a_second_interrupt_waits_for_nothing(service, arguments):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        nobody = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Interruptible(*arguments, "--engine", nobody, "--token-server", service.http) as command:
            # It drives, and what it has to report at its end will not be answered either.
            connection, _ = silent.accept()
            with connection:
                command.send_signal(signal.SIGINT)
                command.send_signal(signal.SIGTERM)
                output, _ = command.communicate(timeout=60)
    assert -command.returncode in (signal.SIGINT, signal.SIGTERM)
    assert output == b"", "the first one alone would have given a summary, or told of the last report"


@pytest.fixture
def driving(service, new_id):
    """Starts a drive along the whole way, and gives the command and what the engine says of the vehicle."""
    vehicle = new_id("driven")

    def state():
        return service.rest("GET", f"vehicles/{vehicle}", service.mint("server")).json()["vehicleState"]

    with Interruptible(
        "drive", "--vehicle", vehicle, "--route", ROUTE, "--interval", 5, "--engine", service.http, "--token-server",
        service.http, "--create-with", service.key_file("server"),
    ) as command:
        assert command.stdout.readline().startswith(b"reported  online ")
        assert state() == "ONLINE"
        yield command, state


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_drive_that_is_interrupted_goes_offline(driving, number):
    command, state = driving
    command.send_signal(number)
    output, errors = command.communicate(timeout=60)
    assert command.returncode == -number and errors == b""
    assert output.decode().splitlines()[-1].startswith("reported  offline ")
    assert state() == "OFFLINE"


def test_a_drive_whose_reader_leaves_goes_offline(driving):
    command, state = driving
    command.stdout.close()
    _, errors = command.communicate(timeout=60)
    assert command.returncode == 1 and errors == b"fleetpass: the output cannot be written: Broken pipe.\n"
    assert state() == "OFFLINE"


def test_fast_drives_keep_to_the_interval(tmp_path):
    service = Service(tmp_path / "data")
    result = run(
        "simulate", "--vehicles", 2, "--speed", 1000, "--for", "7s", "--interval", 6, "--output", "json", "--token-server",
        service.http, "--engine", service.http, "--create-with", service.key_file("server"),
    )
    assert result.returncode == 0, result.stderr
    # Each comes to the end of its drive several times; it reports at once and after 6 s, and goes offline.
    assert json.loads(result.stdout)["updates"]["taken"] <= 2 * 4
    # No report comes too soon, not even the last.
    result = run("lint", "--engine", service.http)
    assert result.returncode == 0, result.stdout
    code, _, _ = service.stop()
    assert code == 0


def test_a_drive_to_its_end_departs_from_nothing(tmp_path):
    service = Service(tmp_path / "data", "--profile", "strict")
    result = run(
        "drive", "--vehicle", "v", "--route", ROUTE, "--speed", 1000, "--interval", 5, "--token-server", service.http,
        "--engine", service.http, "--create-with", service.key_file("server"),
    )
    assert result.returncode == 0, result.stderr
    first, second, *_, last = result.stdout.decode().splitlines()
    assert first.startswith("reported  online no location") and second.startswith("reported  online 37.")
    assert last.startswith("reported  offline 37.") and not last.endswith("+0 past")
    result = run("lint", "--engine", service.http)
    assert result.returncode == 0, result.stdout
    code, _, _ = service.stop()
    assert code == 0


class Round:
    """A van with two stops on a way of three places, and its drive, which is at places at given seconds."""

    PLACES = [(37.76, -122.5), (37.77, -122.5), (37.78, -122.5)]

    def __init__(self, service, folder, van, way):
        self.service, self.van, self.token = service, van, service.mint("delivery_admin")
        self.call("POST", f"deliveryVehicles?deliveryVehicleId={van}", {"type": "AUTO"})
        self.stops = []
        for number, place in enumerate(self.PLACES[1:], 1):
            there = {"point": dict(zip(("latitude", "longitude"), place))}
            self.call("POST", f"tasks?taskId={van}-{number}", {
                "type": "DELIVERY", "state": "OPEN", "trackingId": f"{van}-parcel-{number}", "taskDuration": "60s",
                "plannedLocation": there})
            self.stops.append(
                {"stop": {"plannedLocation": there, "state": "NEW", "tasks": [{"taskId": f"{van}-{number}"}]}})
        self.set_stops(self.stops)
        points = "".join(
            '<trkpt lat="{}" lon="{}"><time>2026-01-02T03:04:{:02}Z</time></trkpt>'.format(*self.PLACES[place], second)
            for second, place in way)
        self.route = folder / "round.gpx"
        self.route.write_text(
            '<gpx version="1.1" creator="tests" xmlns="http://www.topografix.com/GPX/1/1">'
            f"<trk><trkseg>{points}</trkseg></trk></gpx>", encoding="utf-8")

    def call(self, verb, path, body=None):
        answer = self.service.rest(verb, path, self.token, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def set_stops(self, stops):
        self.call("PATCH", f"deliveryVehicles/{self.van}?updateMask=remainingVehicleJourneySegments",
                  {"remainingVehicleJourneySegments": stops})

    def drive(self, meanwhile):
        """Drives to the end, and has each line looked at when it is there; gives the lines."""
        lines = []
        with subprocess.Popen(
            [PROGRAM, "drive", "--delivery-vehicle", self.van, "--report-stops", "--route", self.route,
             "--interval", "60", "--engine", self.service.http, "--token-server", self.service.http],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as command:
            for line in command.stdout:
                lines.append(line.rstrip("\n"))
                meanwhile(lines)
        assert command.returncode == 0, lines
        return lines

    def outcomes(self):
        """What became of the tasks, once no stop is left."""
        assert "remainingVehicleJourneySegments" not in self.call("GET", f"deliveryVehicles/{self.van}")
        return [self.call("GET", f"tasks/{self.van}-{number}").get("taskOutcome") for number in (1, 2)]


@pytest.mark.parametrize("example", [0, 1])
def test_the_examples_of_a_drive_work_as_they_are_written(tmp_path, monkeypatch, example):
    (tmp_path / "Examples").symlink_to(ROUTE.parents[1])
    monkeypatch.chdir(tmp_path)
    texts = re.findall(r"^Example:  fleetpass (.+?)\n\n", run("drive", "--help").stdout.decode(), re.MULTILINE | re.DOTALL)
    assert len(texts) == 2
    service = Service("data")
    with Interruptible(
        *texts[example].split(), "--engine", service.http, "--token-server", service.http,
    ) as command:
        assert command.stdout.readline().startswith(b"reported ")
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=30)
    assert service.stop()[0] == 0


def test_a_round_goes_on_where_a_dispatcher_took_a_stop_off(service, tmp_path):
    # The van is at the first stop some time after it set out.
    van = Round(service, tmp_path, "van-of-one-stop", [(0, 0), (15, 1), (16, 2)])

    def take_off(lines):
        if len(lines) == 1:
            assert lines[0] == "reported  stops 2 left, the next one ENROUTE"
            van.set_stops(van.stops[1:])

    lines = van.drive(take_off)
    gone = [number for number, line in enumerate(lines) if line.startswith("failed    stops stopGone: ")]
    assert len(gone) == 1, lines
    assert lines[gone[0] + 1:gone[0] + 5] == [
        "reported  stops 1 left, the next one ENROUTE", "reported  stops 1 left, the next one ARRIVED",
        "reported  task van-of-one-stop-2 SUCCEEDED", "reported  stops 0 left"], lines
    # Tracking ended in order, with the last locations.
    assert lines[-1] == "reported  37.780000,-122.500000 +1 past", lines
    assert van.outcomes() == [None, "SUCCEEDED"]


def test_a_round_that_is_interrupted_ends(service, tmp_path):
    van = Round(service, tmp_path, "van-that-is-interrupted", [(0, 0), (59, 1)])
    with Interruptible(
        "drive", "--delivery-vehicle", van.van, "--report-stops", "--route", van.route, "--interval", 60, "--engine",
        service.http, "--token-server", service.http,
    ) as command:
        assert command.stdout.readline() == b"reported  stops 2 left, the next one ENROUTE\n"
        command.send_signal(signal.SIGINT)
        output, errors = command.communicate(timeout=30)
    assert command.returncode == -signal.SIGINT and errors == b"", output


def test_a_stop_is_not_done_while_its_arrival_is_refused(service, tmp_path):
    # The van stays at the first stop for some time.
    van = Round(service, tmp_path, "van-that-is-refused", [(0, 0), (1, 1), (16, 1), (17, 2)])
    script = {"steps": [{
        "refuse": "CLAIM_MISMATCH", "deliveryVehicle": van.van, "methods": ["UpdateDeliveryVehicle"]}]}
    assert run("chaos", "set", "-", "--engine", service.http, stdin=json.dumps(script).encode()).returncode == 0

    def end_refusals(lines):
        # Neither the departure was taken nor the arrival.
        if sum(line.startswith("failed    stops PERMISSION_DENIED") for line in lines) == 2:
            assert run("chaos", "clear", "--engine", service.http).returncode == 0

    try:
        lines = van.drive(end_refusals)
    finally:
        run("chaos", "clear", "--engine", service.http)
    assert sum(line.endswith(" SUCCEEDED") for line in lines) == 2, lines
    assert lines.index("reported  stops 2 left, the next one ARRIVED") < lines.index(
        "reported  task van-that-is-refused-1 SUCCEEDED")
    assert van.outcomes() == ["SUCCEEDED", "SUCCEEDED"]


def test_a_fleet_sends_no_tokens_over_http_to_another_machine():
    started = time.monotonic()
    result = run("simulate", "--vehicles", "2", "--for", "60s", "--engine", "http://example.com:8080", "--token-server",
                 "http://127.0.0.1:9")
    assert (result.returncode, result.stdout) == (2, b"")
    assert b"example.com over http; use https" in result.stderr
    assert time.monotonic() - started < 30


def test_a_fleet_without_an_engine_says_so():
    result = run("simulate", "--vehicles", 1, "--for", "1s", "--engine", "http://127.0.0.1:9", "--token-server",
                 "http://127.0.0.1:9", "--output", "json")
    assert result.returncode == 69 and b"took no update" in result.stderr
    assert b"The first to fail: UNAVAILABLE: Token server 127.0.0.1:9 could not be reached." in result.stderr
    tokens = json.loads(result.stdout)["tokens"]
    assert tokens["fetched"] == 0 and tokens["failed"] >= 1, "one that is not answered is a failed one"


@pytest.mark.parametrize("page", ["<html>Welcome.</html>", "{}"])
def test_what_takes_everything_is_no_engine(service, page):
    server = DocumentServer()
    server.answer = lambda path: (200, page, {})
    addresses = ("--engine", server.url, "--token-server", service.http)
    try:
        drives = [run("drive", *vehicle, "--route", ROUTE, "--speed", 10_000, *addresses)
                  for vehicle in (["--vehicle", "v"], ["--delivery-vehicle", "v"])]
        fleet = run("simulate", "--vehicles", 1, "--for", "1s", "--output", "json", *addresses)
    finally:
        server.shutdown()
        server.server_close()
    for drive, kind in zip(drives, ("a vehicle", "a delivery vehicle")):
        assert drive.returncode == 1 and b"reported" not in drive.stdout
        assert drive.stderr.decode().endswith(f"failed: INTERNAL: The engine's answer is not {kind}.\n")
    assert fleet.returncode == 1 and b"took no update. The first to fail: INTERNAL" in fleet.stderr
    updates = json.loads(fleet.stdout)["updates"]
    assert updates["taken"] == 0 and updates["refused"] >= 1


def test_which_server_is_not_reached_is_told_with_its_port(service):
    nobody = "http://127.0.0.1:9"
    for engine, tokens, told in [(nobody, service.http, "Engine"), (service.http, nobody, "Token server")]:
        addresses = ("--engine", engine, "--token-server", tokens)
        result = run("drive", "--vehicle", "v", "--route", ROUTE, "--speed", 10_000, *addresses)
        last = result.stderr.decode().splitlines()[-1]
        assert result.returncode == 69 and f"UNAVAILABLE: {told} 127.0.0.1:9 could not be reached." in last


def test_services_that_fall_silent_are_not_reached(service):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        nobody = f"http://127.0.0.1:{silent.getsockname()[1]}"
        result = run("simulate", "--vehicles", 1, "--for", "12s", "--engine", nobody, "--token-server", service.http)
        assert result.returncode == 69 and b"The first to fail: DEADLINE_EXCEEDED" in result.stderr

        result = run("simulate", "--vehicles", 1, "--for", "12s", "--engine", service.http, "--token-server", nobody,
                     "--output", "json")
        assert result.returncode == 69 and b"The first to fail: DEADLINE_EXCEEDED" in result.stderr
        summary = json.loads(result.stdout)
        assert summary["tokens"]["failed"] >= 1 and summary["updates"]["withoutToken"] >= 1


@pytest.fixture
def for_callers(tmp_path):
    callers = tmp_path / "callers.json"
    entry = {"name": "app", "secret_sha256": hashlib.sha256(b"a-secret").hexdigest(), "roles": ["driver", "consumer"]}
    callers.write_text(json.dumps({"callers": [entry]}), encoding="utf-8")
    service = Service(tmp_path / "data", "--callers", callers)
    yield service
    assert service.stop()[0] == 0


def test_who_gets_no_token_is_refused_and_ends(for_callers):
    addresses = ("--token-server", for_callers.http, "--engine", for_callers.http)
    stranger = {"FLEETPASS_SECRET": "another-secret"}
    result = run("simulate", "--vehicles", 1, "--for", "1s", "--output", "json", *addresses, environment=stranger)
    assert result.returncode == 1 and b"took no update. The first to fail: UNAUTHENTICATED" in result.stderr
    summary = json.loads(result.stdout)
    assert summary["tokens"]["failed"] >= 1 and summary["updates"]["withoutToken"] >= 1

    for what in (["--trip", "t"], ["--tracking-id", "parcel"]):
        result = run("watch", *what, *addresses, environment=stranger)
        assert result.returncode == 1 and b"cannot be watched: UNAUTHENTICATED" in result.stderr


def test_a_token_that_a_cache_kept_too_long_does_not_end_a_watch(service):
    """The first answer is an hour old, those that follow are new."""
    answers = []

    class Cache(BaseHTTPRequestHandler):
        def do_GET(self):
            answer = requests.get(service.http + self.path, timeout=10)
            answers.append(answer)
            self.send_response(answer.status_code)
            self.send_header("Content-Length", str(len(answer.content)))
            self.send_header("Age", "3700" if len(answers) == 1 else "0")
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Cache) as cache:
        threading.Thread(target=cache.serve_forever, daemon=True).start()
        result = run("watch", "--trip", "nowhere", "--engine", service.http, "--token-server",
                     f"http://127.0.0.1:{cache.server_port}")
        cache.shutdown()
    assert len(answers) == 2
    # It ends by the engine's word, not by the first token's.
    assert result.returncode == 1 and b"cannot be watched: NOT_FOUND" in result.stderr


def test_the_last_line_says_why_the_engine_took_nothing(service):
    addresses = ("--token-server", service.http, "--engine", service.http, "--provider", "another")
    result = run("simulate", "--vehicles", 1, "--for", "1s", *addresses)
    assert result.returncode == 1 and b"took no update. The first to fail: PERMISSION_DENIED (PROVIDER" in result.stderr

    # The last report fails for another reason: the token server gives the token again that was refused.
    result = run("drive", "--vehicle", "v", "--route", ROUTE, "--speed", 10_000, *addresses)
    last = result.stderr.decode().splitlines()[-1]
    assert result.returncode == 1 and last.startswith("fleetpass: the last report failed: ")
    assert "PERMISSION_DENIED (PROVIDER_MISMATCH)" in last
