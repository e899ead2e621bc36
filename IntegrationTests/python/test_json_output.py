# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Every key of `--output json` stands in docs/command-line.md, and every key there is printed."""

import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest
import requests

from forgery import LEAVE_OUT, Forger
from service import Service, run
from stand_ins import DocumentServer
from test_audit import STORE, empty_store, fill  # noqa: F401  (a fixture)

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"


def documented():
    """The keys of each command, as the headings and the first columns of the page's tables name them."""
    keys = {}
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        names = []
        for cell in re.findall(r"^\| (`[^|]+`) \|", text, re.MULTILINE):
            first, *others = re.findall(r"`([^`]+)`", cell)
            # What begins with a dot is a key beside the first one.
            beside = first.removesuffix(".*").rpartition(".")[0]
            names += [first, *(beside + name if name.startswith(".") else name for name in others)]
        assert names and len(set(names)) == len(names), heading
        for command in re.findall(r"`([^`]+)`", heading):
            keys[command] = set(names)
    return keys


DOCUMENTED = documented()


def paths(value, known, path=""):
    """The path of each value, in the page's spelling; what a free object holds is not looked at."""
    if isinstance(value, dict) and f"{path}.*" in known:
        yield f"{path}.*"
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, known, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, known, f"{path}[]" if path else "")
    else:
        assert value is not None, f"{path} is null"
        yield path


def check(command, *outputs, not_seen=()):
    """What a command printed has the keys of its section, all together but for those that are not seen here."""
    known = DOCUMENTED[command]
    found = {path for output in outputs for path in paths(output, known)}
    assert found - known == set(), f"{command} prints what the page does not tell"
    assert known - found == set(not_seen), f"the page tells what {command} does not print"


def printed(*arguments, code=0, stdin=b""):
    """The one value that a command prints."""
    result = run(*arguments, "--output", "json", stdin=stdin)
    assert result.returncode == code, result.stderr
    return json.loads(result.stdout)


def lines(*arguments, code=0):
    """The objects that a command prints, one a line."""
    result = run(*arguments)
    assert result.returncode == code, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    """A service of its own, as keys are rotated and faults play."""
    up = Service(tmp_path_factory.mktemp("json") / "data")
    yield up
    assert up.stop()[0] == 0


@pytest.fixture(scope="module")
def token(up):
    return up.mint("driver", vehicle="veh-3").encode()


def commands_with_json(*path):
    """The commands whose help has `--output`, and those of them that have commands of their own."""
    text = run(*path, "--help").stdout.decode()
    listed = re.findall(r"^  (\w+)(?: {2,}|$)", text.partition("SUBCOMMANDS:")[2], re.MULTILINE)
    if not listed and "--output" in text:
        yield " ".join(path)
    for name in listed:
        yield from commands_with_json(*path, name)


def test_the_page_has_every_command_that_prints_json():
    # An export of the audit is JSON whatever is asked for.
    assert {*commands_with_json(), "audit export"} == set(DOCUMENTED)


def test_a_token_minted(up):
    check("mint", printed("mint", "--key", up.key_file("driver"), "--role", "driver", "--vehicle", "veh-3"))


def test_a_token_verified(up, token):
    check(
        "verify", printed("verify", "-", "--keys", up.data, stdin=token),
        printed("verify", "-", "--keys", up.key_file("server"), code=1, stdin=token))


def test_a_token_explained(up, token):
    call = ("--method", "GetVehicle", "--resource", f"providers/{up.provider}/vehicles/veh-4", "--keys", up.data)
    check("explain", printed("inspect", "-", stdin=token), printed("explain", "-", *call, code=1, stdin=token))


def test_deviations(up):
    token = Forger(up.account("driver"), {"vehicleid": "veh-3"}).token(header={"kid": LEAVE_OUT})
    # Deviations are noted of calls that are let in, whatever they find.
    assert up.rest("GET", "vehicles/veh-3", token).status_code == 404
    refused = f"{token.rpartition('.')[0]}.AA".encode()
    check(
        "lint", printed("lint", "--engine", up.http, code=1),
        printed("lint", "-", "--keys", up.data, code=1, stdin=refused))


def test_a_trip_watched(up):
    token, place = up.mint("server"), {"point": {"latitude": 37.4, "longitude": -122.1}}
    trip = {"tripType": "EXCLUSIVE", "pickupPoint": place, "dropoffPoint": place}
    assert up.rest("POST", "trips?tripId=trip-1", token, json=trip).status_code == 200
    canceled = up.rest("PUT", "trips/trip-1?updateMask=tripStatus", token, json={"tripStatus": "CANCELED"})
    assert canceled.status_code == 200, canceled.text
    addresses = ("--engine", up.http, "--token-server", up.http, "--output", "json")
    *_, failure = missing = lines("watch", "--trip", "nowhere", *addresses, code=1)
    assert (failure["change"], failure["code"], failure["reason"]) == ("failure", "NOT_FOUND", "RESOURCE_NOT_FOUND")
    # Those of a vehicle on its way are looked at where every change is made by hand (`ChangeLineTests`).
    check(
        "watch", *missing, *lines("watch", "--trip", "trip-1", *addresses),
        not_seen=["meters", "stops", "destinations", "points", "stretches"])


def test_a_fleet_simulated(up):
    addresses = ("--engine", up.http, "--token-server", up.http, "--create-with", up.key_file("server"))
    check("simulate", printed("simulate", "--vehicles", 1, "--for", "1s", *addresses))


def test_a_recording_replayed(up, tmp_path):
    def call(second, name, request, **ending):
        return {
            "timestamp": f"2026-01-02T03:04:0{second}Z", "logName": f"projects/{up.provider}/logs/x",
            "jsonPayload": {"@type": f"type.googleapis.com/maps.fleetengine.v1.{name}Log", "request": request} | ending}

    recording = tmp_path / "calls.json"
    recording.write_text(json.dumps([
        call(1, "GetVehicle", {"vehicleId": "nobody"}, errorResponse={"code": "UNAVAILABLE", "message": "then"}),
        call(2, "GetVehicle", {"vehicleId": "veh-9"}, response={"maximumCapacity": 9, "vehicleState": "OFFLINE"}),
    ]), encoding="utf-8")
    check("replay", printed(
        "replay", recording, "--compare", "--engine", up.http, "--data", up.data, "--provider", up.provider, code=1))


def test_a_script_of_faults(up):
    script = json.dumps({"steps": [{"status": "UNAVAILABLE", "vehicle": "nobody"}]}).encode()
    check("chaos set", printed("chaos", "set", "-", "--engine", up.http, stdin=script))
    check("chaos show", printed("chaos", "show", "--engine", up.http))
    assert printed("chaos", "clear", "--engine", up.http) == {"steps": []}


def test_keys(up):
    rotated = printed("keys", "rotate", "--data", up.data, "--role", "consumer")
    check("keys rotate", rotated)
    check("keys list", printed("keys", "list", "--data", up.data))
    oldest = rotated[0]["keyID"]
    kept = printed("keys", "retire", "--data", up.data, "--role", "consumer", "--key", oldest, "--force")
    # The one key that is left is the oldest and the newest.
    check("keys retire", kept, not_seen=["signsFrom", "retiredFrom"])


def test_a_callers_entry():
    check("callers new", printed("callers", "new", "dispatch", "--role", "driver"))


def test_assignments(up):
    held = ("--data", up.data, "--holder", "login/dora", "--vehicle", "veh-3")
    assert run("assignments", "add", *held, "--until", "2100-01-01T00:00:00Z").returncode == 0
    check("assignments list", printed("assignments", "list", "--data", up.data))


def test_withdrawals(up):
    check("revoke", printed("revoke", "--data", up.data, "--fingerprint", "0" * 16))
    check("revoke", printed("revoke", "--data", up.data))


@pytest.mark.parametrize("command", [["search", "--output", "json"], ["export"]])
def test_the_records_of_the_audit(up, command):
    assert requests.get(f"{up.http}/token/driver/veh-3", timeout=10).status_code == 200
    assert run("revoke", "--data", up.data, "--fingerprint", "1" * 16).returncode == 0
    # A server that is open to anyone refuses nobody.
    check(
        f"audit {command[0]}", *lines("audit", command[0], "--data", up.data, *command[1:]),
        not_seen=["record.reason"])


def test_an_audit_verified(up):
    assert run("revoke", "--data", up.data, "--fingerprint", "2" * 16).returncode == 0
    check(
        "audit verify", printed("audit", "verify", "--data", up.data),
        printed("audit", "verify", "--data", up.data, "--anchor", f"1:{'0' * 64}", code=1))


def test_an_audit_archived(tmp_path, empty_store):  # noqa: F811  (the fixture)
    empty_store(tmp_path / STORE)
    fill(tmp_path / STORE, 100 * 86400, 5)
    check("audit archive", printed(
        "audit", "archive", "--data", tmp_path, "--keep", "90d", "--to", tmp_path / "old.sqlite"))


@pytest.fixture
def answering():
    """A server that answers everything in the same way, once it has one."""
    server = DocumentServer()
    yield server
    server.shutdown()
    server.server_close()


def test_a_key_that_may_not_be_retired(tmp_path, up):
    shutil.copy(up.key_file("driver"), tmp_path / "driver.json")
    key = up.account("driver")["private_key_id"]
    kept = printed("keys", "retire", "--data", tmp_path, "--role", "driver", "--key", key, code=1)
    assert [(one["keyID"], one["state"]) for one in kept] == [(key, "signing")]


def test_a_key_whose_retirement_is_not_recorded(tmp_path, up, empty_store):  # noqa: F811
    shutil.copy(up.key_file("driver"), tmp_path / "driver.json")
    (rotated,) = [key["keyID"] for key in printed("keys", "rotate", "--data", tmp_path, "--role", "driver")
                  if key["state"] == "published"]
    store = tmp_path / STORE
    empty_store(store)
    with sqlite3.connect(store) as database:
        database.execute(
            "CREATE TRIGGER is_full BEFORE INSERT ON audit_record BEGIN SELECT RAISE(ABORT, 'full'); END")
    database.close()
    old = up.account("driver")["private_key_id"]
    kept = printed(
        "keys", "retire", "--data", tmp_path, "--store", store, "--role", "driver", "--key", old, "--force", code=1)
    assert [key["keyID"] for key in kept] == [rotated]


def test_a_fleet_that_is_not_created(up):
    addresses = ("--engine", up.http, "--token-server", up.http, "--create-with", up.key_file("server"))
    summary = printed("simulate", "--vehicles", 2, "--for", "1s", "--provider", "another", *addresses, code=1)
    assert summary["vehicles"] == summary["seconds"] == summary["updates"]["taken"] == summary["trips"]["created"] == 0


def test_an_audit_that_is_not_intact_is_not_archived(tmp_path, empty_store):  # noqa: F811
    store = tmp_path / STORE
    empty_store(store)
    fill(store, 100 * 86400, 5)
    with sqlite3.connect(store) as database:
        database.executescript(
            "DROP TRIGGER audit_record_stays; DROP TRIGGER audit_record_is_final;"
            "UPDATE audit_record SET content = replace(content, 'ops', 'spo') WHERE sequence = 1;")
    database.close()
    archive = ("audit", "archive", "--data", tmp_path, "--keep", "90d", "--to", tmp_path / "old.sqlite")
    assert printed(*archive, code=1) == {"moved": 0}


def test_a_recording_replayed_at_what_is_no_engine(tmp_path, up, answering):
    answering.answer = lambda path: (200, "<html>Welcome.</html>", {})
    recording = tmp_path / "calls.json"
    recording.write_text(json.dumps([{
        "timestamp": "2026-01-02T03:04:05Z",
        "jsonPayload": {"@type": "x.GetVehicleLog", "request": {"vehicleId": "v"}, "response": {}}}]), encoding="utf-8")
    report = printed("replay", recording, "--compare", "--engine", answering.url, "--data", up.data, code=1)
    assert report["sent"] == len(report["otherwise"]) == 1 and report["differences"] == []


@pytest.mark.parametrize("command", [["lint"], ["chaos", "show"]], ids=" ".join)
@pytest.mark.parametrize(("status", "text", "code"), [
    (200, "<html>", 69), (302, "", 69), (403, "<html>", 69), (500, '{"error":{"message":"broken"}}', 69), (503, "", 69),
    (403, '{"error":{"message":"not you"}}', 1),
])
def test_what_does_not_answer_as_an_engine_is_unreachable(answering, command, status, text, code):
    answering.answer = lambda path: (status, text, {"Location": "/elsewhere"} if status == 302 else {})
    result = run(*command, "--engine", answering.url, "--output", "json")
    assert result.returncode == code and result.stdout == b"", result.stderr
    assert result.stderr.startswith(f"fleetpass: {answering.url} answer".encode())


def test_a_set_up_examined(tmp_path):
    config = tmp_path / "tokens.yaml"
    config.write_text("provider: [", encoding="utf-8")
    check("doctor", printed("doctor", "--config", config, code=78))
