# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The command line's contract: exit codes, results on stdout, talk on stderr, and no crash on any input."""

import json
import os
import re
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from engine_server import certificate, trust_file
from forgery import LEAVE_OUT, Forger, encode, new_ec_key, new_rsa_key
from service import PROGRAM, Program, Service, on_terminal, refusal, run

REFUSED, USAGE, UNREACHABLE, CONFIGURATION = 1, 2, 69, 78
ROLES = (
    "consumer driver server fleet_reader ondemand_admin delivery_consumer delivery_untrusted_driver "
    "delivery_trusted_driver delivery_fleet_reader delivery_server delivery_admin"
).split()

# What binds the superuser to the modes of files, like everybody else.
BOUND_BY_MODES = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
needs_modes = pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None,
    reason="the superuser may read and write everywhere, and there is no setpriv to give that up")


def check_failure(result, code):
    """The exit code, and a message for a person on stderr alone."""
    message = result.stderr.decode()
    assert result.returncode == code, message
    assert len(message.strip()) > 10, "a failure says what is wrong"
    assert "Fatal error" not in message
    assert "Swift." not in message, "a message is written for a person"
    return message


@pytest.fixture(scope="module")
def key(service):
    return service.key_file("driver")


# MARK: what works


def test_help_says_how_to_begin():
    result = run("--help")
    assert result.returncode == 0
    assert b"fleetpass demo" in result.stdout
    assert result.stderr == b""


@pytest.mark.parametrize("columns", ["39", "20", "0", "-1"])
def test_help_is_whole_where_there_is_little_room(columns):
    result = run("mint", "--help", environment={"COLUMNS": columns})
    assert result.returncode == 0
    assert result.stdout == run("mint", "--help", environment={"COLUMNS": "40"}).stdout
    assert b"--key" in result.stdout
    assert b"fleetpass demo" in run(environment={"COLUMNS": columns}).stdout


def help_on_a_terminal(columns):
    """The help of a small command, as a terminal of a width gets it."""
    command = ["env", "-u", "COLUMNS", PROGRAM, "inspect", "--help"]
    return on_terminal(lambda terminal: subprocess.run(command, stdout=terminal, timeout=60, check=True), columns)


def test_help_is_whole_on_a_narrow_terminal():
    narrow = help_on_a_terminal(20)
    assert b"--output" in narrow
    assert narrow == help_on_a_terminal(40) != help_on_a_terminal(100)


def test_the_version_is_told_by_the_command_and_by_the_server(service):
    result = run("--version")
    assert (result.returncode, result.stderr) == (0, b"")
    version = result.stdout.decode().strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+(-[a-z0-9.]+)?", version)
    metrics = requests.get(f"{service.http}/metrics", timeout=10).text.splitlines()
    assert f'fleetpass_build_info{{version="{version}"}} 1' in metrics


@pytest.mark.parametrize("command", ["up", "demo", "drive", "watch", "mint", "inspect", "verify", "explain", "chaos"])
def test_each_commands_help_has_an_example(command):
    result = run(command, "--help")
    assert result.returncode == 0
    assert b"Example:" in result.stdout


@pytest.mark.parametrize("command", ["up", "demo", "drive", "watch", "simulate", "replay"])
def test_help_names_the_provider_of_who_names_none(command):
    assert b"(default: demo-fleet)" in run(command, "--help").stdout


@pytest.mark.parametrize(("command", "told"), [("drive", "69"), ("simulate", "69"), ("watch", "goes on asking")])
def test_help_tells_what_comes_of_servers_that_are_not_reached(command, told):
    assert told in " ".join(run(command, "--help").stdout.decode().split())


def test_the_data_folder_is_its_owners_alone(service):
    assert stat.S_IMODE(service.data.stat().st_mode) == 0o700
    assert stat.S_IMODE((service.data / "fleetpass.sqlite").stat().st_mode) == 0o600
    assert sorted(path.stem for path in (service.data / "service-accounts").iterdir()) == sorted(ROLES)
    for role in ROLES:
        assert stat.S_IMODE(service.key_file(role).stat().st_mode) == 0o600
        account = service.account(role)
        assert account["type"] == "service_account"
        assert account["project_id"] == service.provider
        assert account["client_email"] == f"{role}@{service.provider}.iam.gserviceaccount.com"
        assert account["private_key"].startswith("-----BEGIN PRIVATE KEY-----\n")


def test_a_minted_token_passes_inspect_verify_and_explain(service, key):
    token = service.mint("driver", vehicle="veh-3").encode()
    assert run("inspect", "-", stdin=token).returncode == 0
    for keys in (key, service.data, f"{service.http}/.well-known/jwks.json"):
        result = run("verify", "-", "--keys", keys, stdin=token)
        assert result.returncode == 0, result.stderr
        assert result.stdout.startswith(b"valid: driver@demo-fleet.iam.gserviceaccount.com")
    allowed = run(
        "explain", "-", "--method", "GetVehicle", "--resource", "providers/demo-fleet/vehicles/veh-3", "--keys",
        service.data, stdin=token,
    )
    assert allowed.returncode == 0, allowed.stdout
    denied = run(
        "explain", "-", "--method", "GetVehicle", "--resource", "providers/demo-fleet/vehicles/veh-4", "--keys",
        service.data, "--output", "json", stdin=token,
    )
    assert denied.returncode == REFUSED
    report = json.loads(denied.stdout)
    assert (report["allowed"], report["reason"]) == (False, "CLAIM_MISMATCH")


@pytest.mark.parametrize(("before", "after"), [("", "\r"), ("", "\r\n"), ("\ufeff", "\r\n"), ("\ufeff", "")], ids=repr)
def test_files_of_other_systems_are_read(service, key, tmp_path, before, after):
    marked = tmp_path / "key.json"
    marked.write_bytes((before + key.read_text(encoding="utf-8").strip() + after).encode())
    marked.chmod(0o600)
    minted = run("mint", "--key", marked, "--role", "driver", "--vehicle", "veh-3")
    assert minted.returncode == 0, minted.stderr
    token = before + minted.stdout.decode().strip() + after
    for keys in (marked, service.data):
        for argument, stdin in ((token, b""), ("-", token.encode())):
            result = run("verify", argument, "--keys", keys, stdin=stdin)
            assert result.returncode == 0, result.stderr


def test_mint_in_json_says_what_the_token_says(service, key):
    result = run("mint", "--key", key, "--role", "driver", "--vehicle", "veh-3", "--output", "json")
    report = json.loads(result.stdout)
    assert report["authorization"] == {"vehicleid": "veh-3"}
    assert report["expiresAt"] - report["issuedAt"] == 3600
    assert report["keyID"] == service.account("driver")["private_key_id"]


def test_verify_in_json_says_what_the_token_says_or_why_it_is_refused(service, key):
    token = service.mint("driver", vehicle="veh-3").encode()
    result = run("verify", "-", "--keys", key, "--output", "json", stdin=token)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["valid"] is True and "refusal" not in report
    assert report["account"] == service.account("driver")["client_email"]
    assert report["keyID"] == service.account("driver")["private_key_id"]
    assert report["expiresAt"] - report["issuedAt"] == 3600
    assert report["authorization"] == {"vehicleid": "veh-3"}

    refused = run("verify", "-", "--keys", service.key_file("server"), "--output", "json", stdin=token)
    check_failure(refused, REFUSED)
    report = json.loads(refused.stdout)
    assert sorted(report) == ["refusal", "valid"] and report["valid"] is False
    assert report["refusal"]["reason"] == "KEY_UNKNOWN"
    assert report["refusal"]["message"] and report["refusal"]["fix"]


def test_inspect_shows_the_header_and_the_whole_payload(service):
    account = service.account("driver")
    token = Forger(account, {"vehicleid": "v"}).token(scope="a-scope", email="\x1b[2K\u202ee@x")
    result = run("inspect", "-", stdin=token.encode())
    header, payload = [json.loads(line) for line in result.stdout.decode().splitlines()[:2]]
    assert header == {"alg": "RS256", "typ": "JWT", "kid": account["private_key_id"]}
    assert (payload["scope"], payload["email"]) == ("a-scope", "\x1b[2K\u202ee@x")
    assert "\x1b" not in result.stdout.decode() and "\u202e" not in result.stdout.decode()
    report = json.loads(run("inspect", "-", "--output", "json", stdin=token.encode()).stdout)
    assert (report["header"], report["payload"]) == (header, payload)


def test_a_key_comes_from_standard_input_or_a_pipe(service):
    options = ["--role", "driver", "--vehicle", "v"]
    key = service.key_file("driver").read_bytes()
    for name in ("-", "/dev/stdin"):
        result = run("mint", "--key", name, *options, stdin=key)
        assert result.returncode == 0, result.stderr
        assert run("verify", result.stdout.decode().strip(), "--keys", "/dev/stdin", stdin=key).returncode == 0
    message = check_failure(run("mint", "--key", "-", *options, stdin=b"no key"), CONFIGURATION)
    assert message.startswith("fleetpass: standard input: ")


def test_a_key_file_that_others_may_read_is_told(service, tmp_path):
    path = tmp_path / "account.json"
    path.write_bytes(service.key_file("driver").read_bytes())
    for mode, is_told in [(0o600, False), (0o640, True), (0o602, True)]:
        path.chmod(mode)
        result = run("mint", "--key", path, "--role", "driver", "--vehicle", "v")
        assert result.returncode == 0, result.stderr
        assert (f"chmod 600 {path}" in result.stderr.decode()) == is_told
    for text in ("no key", "{}"):
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)
        assert "chmod" not in check_failure(run("mint", "--key", path, "--role", "driver", "--vehicle", "v"), CONFIGURATION)
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    (keys / "driver.json").write_text("{}")
    (keys / "driver.json").chmod(0o644)
    (tmp_path / "callers.json").write_text(json.dumps(
        {"callers": [{"name": "app", "secret_sha256": "0" * 64, "roles": ["driver"]}]}))
    config = tmp_path / "tokens.yaml"
    config.write_text("provider: demo-fleet\ndata: .\nkeys: keys\ncallers: {file: callers.json}\n")
    # It is told before the key is looked at, which does not sign.
    message = check_failure(run("serve", "tokens", "--config", config), CONFIGURATION)
    assert "keys, secrets or rules are open to other users" in message and f"chmod 600 {keys / 'driver.json'}" in message


def test_what_looks_like_a_mistake_is_told_and_minted(service, key):
    for options, told in [
        (["--role", "driver", "--vehicle", "v"], None),
        (["--role", "driver", "--vehicle", "v", "--tracking", "t"], "warning: claim-that-opens-nothing: "),
        (["--role", "server"], "key file is one of the role driver"),
    ]:
        result = run("mint", "--key", key, *options)
        assert result.returncode == 0 and result.stdout.count(b".") == 2
        assert (told in result.stderr.decode()) if told else result.stderr == b""


def test_a_key_that_was_rotated_out_signs_no_more_and_is_not_trusted(service, tmp_path):
    keys = tmp_path / "service-accounts"
    keys.mkdir()
    old = keys / "driver.json"
    old.write_bytes(service.key_file("driver").read_bytes())
    mint = ["mint", "--key", old, "--role", "driver", "--vehicle", "v"]
    token = run(*mint).stdout
    assert run("verify", "-", "--keys", tmp_path, stdin=token).returncode == 0
    later = keys / f"driver.{int(time.time()) - 7200}.json"
    account = service.account("driver") | {"private_key": new_rsa_key(), "private_key_id": "later"}
    later.write_text(json.dumps(account), encoding="utf-8")
    assert str(later) in check_failure(run(*mint), CONFIGURATION)
    for command in (["verify", "-"], ["lint", "-"]):
        message = check_failure(run(*command, "--keys", tmp_path, stdin=token), REFUSED)
        assert "KEY_UNKNOWN" in message and service.account("driver")["private_key_id"] in message
    token = run("mint", "--key", later, "--role", "driver", "--vehicle", "v").stdout
    assert run("verify", "-", "--keys", tmp_path, stdin=token).returncode == 0


def test_a_claim_in_another_spelling_is_named(service):
    token = Forger(service.account("driver"), {"vehicleId": "veh-3"}).token().encode()
    assert b"{}; ignored: vehicleId" in run("inspect", "-", stdin=token).stdout
    result = run(
        "explain", "-", "--method", "GetVehicle", "--resource", "providers/demo-fleet/vehicles/veh-3", "--keys",
        service.data, stdin=token)
    assert "CLAIMS_MISSING" in check_failure(result, REFUSED)
    assert b"{}; ignored: vehicleId" in result.stdout
    assert b"fix: Write the claim vehicleId as vehicleid" in result.stdout


def test_explain_asks_for_the_vehicle_of_a_trip(service):
    token = service.mint("driver", vehicle="veh-3").encode()
    call = ["explain", "-", "--method", "GetTrip", "--resource", "providers/demo-fleet/trips/t", "--keys", service.data]
    refused = run(*call, stdin=token)
    assert "CLAIM_MISMATCH" in check_failure(refused, REFUSED)
    assert b"fix: Pass --trip-vehicle" in refused.stdout
    assert run(*call, "--trip-vehicle", "veh-3", stdin=token).returncode == 0
    other = run(*call, "--trip-vehicle", "veh-4", stdin=token)
    check_failure(other, REFUSED)
    assert b"--trip-vehicle" not in other.stdout and b"fix: Mint a token" in other.stdout
    # Nor is one whose claim of the trip is spelt in another way, which is the likelier fault.
    misspelt = Forger(service.account("driver"), {"vehicleid": "veh-3", "tripId": "t"}).token().encode()
    assert b"fix: Write the claim tripId as tripid" in run(*call, stdin=misspelt).stdout
    # A customer's token for another trip is not helped by it.
    assert b"--trip-vehicle" not in run(*call, stdin=service.mint("consumer", trip="other").encode()).stdout


def test_explain_and_the_engine_agree_on_an_order_of_stops_with_a_vehicle_and_without(service):
    backend = service.mint("server")
    vehicle = {
        "vehicleState": "ONLINE", "supportedTripTypes": ["EXCLUSIVE"], "maximumCapacity": 4, "vehicleType": {"category": "AUTO"}}
    assert service.rest("POST", "vehicles?vehicleId=order-v", backend, json=vehicle).status_code == 200
    place = {"point": {"latitude": 37.4, "longitude": -122.1}}
    trip = {"tripType": "EXCLUSIVE", "pickupPoint": place, "dropoffPoint": place, "numberOfPassengers": 1}
    assert service.rest("POST", "trips?tripId=order-t", backend, json=trip).status_code == 200

    token = service.mint("server", trip="order-t")
    call = [
        "explain", "-", "--method", "UpdateTrip", "--resource", "providers/demo-fleet/trips/order-t", "--update-mask",
        "vehicle_waypoints", "--keys", service.data]
    order = ("PUT", "trips/order-t?updateMask=vehicle_waypoints", token)
    assert service.rest(*order, json={}).status_code == 200
    told = run(*call, stdin=token.encode())
    assert "CLAIM_MISMATCH" in check_failure(told, REFUSED)
    assert b"fix: The claims are enough while the trip has no vehicle" in told.stdout
    # Neither another trip's token nor a vehicle's alone is helped by that.
    for ids in ({"trip": "other"}, {"vehicle": "order-v"}):
        other = service.mint("server", **ids)
        assert service.rest(*order[:2], other, json={}).status_code == 403
        assert b"while the trip has no vehicle" not in run(*call, stdin=other.encode()).stdout

    assigned = service.rest("PUT", "trips/order-t?updateMask=vehicle_id", backend, json={"vehicleId": "order-v"})
    assert assigned.status_code == 200
    assert service.rest(*order, json={}).status_code == 403
    told = run(*call, "--trip-vehicle", "order-v", stdin=token.encode())
    check_failure(told, REFUSED)
    assert b"while the trip has no vehicle" not in told.stdout
    both = service.mint("server", trip="order-t", vehicle="order-v")
    assert service.rest(*order[:2], both, json={}).status_code == 200
    assert run(*call, "--trip-vehicle", "order-v", stdin=both.encode()).returncode == 0


@pytest.mark.parametrize(
    ("mask", "named"),
    [
        ("", None),
        ("lastLocation,vehicleState", None),
        ("last_location.heading,vehicle_state", None),
        ("lastLocation, vehicleState", '" vehicleState"'),
        ("lastLocation ", '"lastLocation "'),
        ("lastLocation,", '""'),
        (",", '"" and ""'),
        ("vehicleStat", '"vehicleStat"'),
        ("lastLocation,attributes,maximumCapacity", '"attributes" and "maximumCapacity"'),
        ("*", '"*"'),
    ],
)
def test_explain_and_the_engine_read_a_mask_alike(service, mask, named):
    token = service.mint("driver", vehicle="masked-v")
    answer = service.rest("PUT", "vehicles/masked-v", token, params={"updateMask": mask}, json={})
    told = run(
        "explain", "-", "--method", "UpdateVehicle", "--resource", "providers/demo-fleet/vehicles/masked-v",
        "--update-mask", mask, "--keys", service.data, "--output", "json", stdin=token.encode())
    report = json.loads(told.stdout)
    if named is None:
        # No such vehicle, or no field to change: the token is not what is wrong.
        assert answer.status_code in (400, 404), answer.text
        assert (told.returncode, report["allowed"]) == (0, True)
        return
    assert (answer.status_code, refusal(answer)[1], told.returncode) == (403, report["reason"], REFUSED)
    assert report["reason"] == "ROLE_LACKS_PERMISSION"
    (check,) = [check for check in report["checks"] if check["outcome"] == "refused"]
    assert f"{check['detail']} {check['fix']}" == answer.json()["error"]["message"]
    assert f"UpdateVehicle with {named}." in check["detail"] and "spelt" in check["fix"]


def test_explain_and_the_engine_agree_on_a_batch(service):
    ids = ["batch-k1", "batch-k2"]
    task = {
        "type": "PICKUP", "state": "OPEN", "trackingId": "batch-s", "taskDuration": "60s",
        "plannedLocation": {"point": {"latitude": 37.4, "longitude": -122.1}}}
    body = {"requests": [{"taskId": name, "task": task} for name in ids]}
    call = ["explain", "-", "--method", "BatchCreateTasks", "--keys", service.data, "--output", "json"]
    names = [text for name in ids for text in ("--resource", f"providers/{service.provider}/tasks/{name}")]

    one = Forger(service.account("delivery_server"), {"taskids": ids[:1]}).token()
    assert run(*call, *names[:2], stdin=one.encode()).returncode == 0
    answer = service.rest("POST", "tasks:batchCreate", one, json=body)
    assert (answer.status_code, refusal(answer)[1]) == (403, "CLAIM_MISMATCH")
    told = run(*call, *names, stdin=one.encode())
    assert told.returncode == REFUSED
    (check,) = [check for check in json.loads(told.stdout)["checks"] if check["outcome"] == "refused"]
    assert f"{check['detail']} {check['fix']}" == answer.json()["error"]["message"]
    assert check["fix"] == "Mint a token whose taskids lists every task of the batch."

    both = Forger(service.account("delivery_server"), {"taskids": ids}).token()
    assert run(*call, *names, stdin=both.encode()).returncode == 0
    answer = service.rest("POST", "tasks:batchCreate", both, json=body)
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("authorization", [{}, LEAVE_OUT], ids=["empty", "absent"])
def test_lint_refuses_a_token_that_opens_nothing(service, authorization):
    for role in ("driver", "server", "delivery_consumer"):
        token = Forger(service.account(role), {}).token(authorization=authorization).encode()
        result = run("lint", "-", "--keys", service.data, stdin=token)
        assert "CLAIMS_MISSING" in check_failure(result, REFUSED)
        assert result.stdout == b""
        # Without the keys it is not known whether the account needs any.
        assert run("lint", "-", stdin=token).returncode == 0
    token = Forger(service.account("ondemand_admin"), {}).token(authorization=authorization).encode()
    assert run("lint", "-", "--keys", service.data, stdin=token).returncode == 0


def test_lint_finds_a_claim_in_another_spelling(service):
    token = Forger(service.account("delivery_server"), {"taskIds": ["a", "b"]}).token()
    result = run("lint", "-", "--keys", service.data, stdin=token.encode())
    assert result.returncode == REFUSED
    assert b"token-with-unknown-claim" in result.stdout


# MARK: usage


def options(command, path=()):
    """Each option and argument of a command and of those below it: its name, its value's, and how that is completed."""
    path = (*path, command["commandName"])
    for option in command.get("arguments", []):
        yield " ".join((*path, option["valueName"])), option["valueName"], option.get("completionKind", {})
    for below in command.get("subcommands", []):
        yield from options(below, path)


def test_shells_complete_paths_and_known_words():
    found = list(options(json.loads(run("--experimental-dump-help").stdout)["command"]))
    kinds = {"file": "file", "recording": "file", "dir": "directory"} | dict.fromkeys(
        ["role", "rpc", "level", "real|strict", "decision|change", "output"], "list")
    seen = set()
    for name, value, completion in found:
        kind = kinds.get(value) or kinds.get(re.split("[|-]", value)[0])
        seen.add(value)
        assert kind is None or list(completion) == [kind], name
    assert kinds.keys() <= seen


@pytest.mark.parametrize(
    "arguments",
    [
        ["--unknown"],
        ["unknown"],
        ["up", "--prot", "1"],
        ["up", "--port", "no"],
        ["up", "--port", "70000"],
        ["up", "--port"],
        ["up", "--data", ""],
        ["drive", "--vehicle", "v", "--route", ""],
        ["demo", "--routes", ""],
        ["up", "--provider", "a/b"],
        ["up", "--open", "--callers", "x"],
        ["demo", "--speed", "0.0005"],
        ["demo", "--speed", "1e-30"],
        ["demo", "--speed", "1001"],
        ["up", "--store", ""],
        ["up", "--tiles-attribution", "Somebody"],
        ["demo", "--store", " "],
        ["simulate", "--trips", "1e-300", "--create-with", "key.json"],
        ["mint"],
        ["inspect"],
        ["verify", "x"],
        ["explain", "x", "--method", "NoSuch", "--resource", "providers/p/vehicles/v"],
        ["explain", "x", "--method", "GetVehicle", "--resource", "vehicles/v"],
        ["inspect", "x", "--output", "xml"],
        ["assignments", "add", "--data", "d", "--holder", "acme/Ünal", "--vehicle", "v"],
        ["callers", "new", "--role", "driver"],
        ["callers", "new", "app"],
        ["callers", "new", "app", "--role", "server"],
        ["callers", "new", "Ünal", "--role", "driver"],
        ["callers", "new", "app", "--administrator", "--role", "driver"],
    ],
    ids=" ".join,
)
def test_a_senseless_command_line_is_a_usage_error(arguments):
    result = run(*arguments)
    check_failure(result, USAGE)
    assert result.stdout == b""


@pytest.mark.parametrize(
    ("arguments", "misspelt", "meant"),
    [
        ("serve tokens --confg t", "--confg", "--config"),
        ("serve engine --confg t", "--confg", "--config"),
        ("audit verify --dat data", "--dat", "--data"),
        ("revoke --stor file", "--stor", "--store"),
        ("assignments list --dta data", "--dta", "--data"),
        ("audit search --data d --trip-vehicle v --trp t", "--trp", "--trip"),
        ("keys rotate --data d --with f --rol driver", "--rol", "--role"),
        ("callers new app --rol driver", "--rol", "--role"),
        ("mint --ky x --role driver --vehicle v", "--ky", "--key"),
        ("mint --key x --delegate a@b --role driver --vehicle v --impersonat a@b", "--impersonat", "--impersonate"),
        ("watch --trp t", "--trp", "--trip"),
        ("drive --vehicl v --route r", "--vehicl", "--vehicle"),
        ("simulate --trips 5 --create-wth f", "--create-wth", "--create-with"),
        ("simulate --vehicles 5000 --maxrate 2000", "--maxrate", "--max-rate"),
        ("up --revocations-keys k --revocation u", "--revocation", "--revocations"),
        ("up --port 8081 --grpc-prt 8082", "--grpc-prt", "--grpc-port"),
    ],
)
def test_a_misspelt_option_is_named_rather_than_missed(arguments, misspelt, meant):
    result = run(*arguments.split())
    message = check_failure(result, USAGE)
    assert message.startswith(f"Error: Unknown option '{misspelt}'. Did you mean '{meant}'?\n")
    assert result.stdout == b""


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ("serve tokens", "Pass --config FILE.yaml"),
        ("serve engine", "Pass --config FILE.yaml"),
        ("audit verify", "Pass either --data or --store."),
        ("audit verify --data d --store s", "Pass either --data or --store."),
        ("mint --role driver --vehicle v", "Name the account that signs"),
        ("mint --key k --impersonate a@b --role driver --vehicle v", "Name the account that signs"),
        ("watch", "Give either --trip or --tracking-id."),
        ("drive --route r", "Give either --vehicle or --delivery-vehicle."),
        ("lint", "Name one of a token, --engine and --recording."),
        ("simulate --trips 5", "--trips needs --create-with"),
        ("up --port 8081", "--port and --grpc-port are both 8081"),
        ("demo --port 8443 --grpc-port 8443", "--port and --grpc-port are both 8443"),
    ],
)
def test_options_that_go_together_are_told_with_the_usage(arguments, rule):
    result = run(*arguments.split())
    message = check_failure(result, USAGE)
    assert message.startswith(f"Error: {rule}")
    assert f"Usage: fleetpass {arguments.split(' --')[0]} " in message
    assert result.stdout == b""


@pytest.mark.parametrize(
    "options",
    [
        ["--role", "driver"],
        ["--role", "king", "--vehicle", "v"],
        ["--role", "driver", "--vehicle", "*"],
        ["--role", "driver", "--vehicle", ""],
        ["--role", "driver", "--vehicle", "a/b"],
        ["--role", "driver", "--vehicle", ".."],
        ["--role", "driver", "--vehicle", "v" * 65],
        ["--role", "driver", "--vehicle", "a\nb"],
        ["--role", "delivery_consumer", "--tracking", "a", "--task", "b"],
    ],
    ids=repr,
)
def test_mint_refuses_ids_that_are_none(key, options):
    result = run("mint", "--key", key, *options)
    check_failure(result, USAGE)
    assert result.stdout == b""


def test_a_token_that_would_be_too_long_is_a_usage_error(service):
    tasks = [text for number in range(400) for text in ("--batch-task", f"task-{number:031}")]
    result = run("mint", "--key", service.key_file("delivery_server"), "--role", "delivery_server", *tasks)
    assert "smaller batches" in check_failure(result, USAGE)
    assert result.stdout == b""


@pytest.mark.parametrize(
    ("method", "resource", "told"),
    [
        ("UpdateVehicle", "trips/t", "addresses providers/PROVIDER/vehicles/ID."),
        ("GetTask", "taskTrackingInfo/t", "addresses providers/PROVIDER/tasks/ID."),
        ("ReportBillableTrip", "trips/t", "addresses providers/PROVIDER/billableTrips/ID."),
        ("ListVehicles", "vehicles/v", "addresses providers/PROVIDER."),
        ("SearchTrips", "trips/t", "addresses providers/PROVIDER or providers/PROVIDER/vehicles/ID."),
    ],
)
def test_explain_says_what_a_method_addresses(method, resource, told):
    result = run("explain", "x", "--method", method, "--resource", f"providers/p/{resource}")
    assert f"{method} {told}" in check_failure(result, USAGE)
    assert result.stdout == b""


# MARK: configuration


BROKEN_KEYS = {
    "empty": "",
    "not JSON": "-----BEGIN",
    "a list": "[]",
    "no fields": "{}",
    "wrong type": '{"type":"authorized_user"}',
    "deep": "[" * 100_000,
    "number": '{"type":"service_account","client_email":7}',
}


@pytest.mark.parametrize("text", BROKEN_KEYS.values(), ids=BROKEN_KEYS)
def test_a_broken_key_file_is_a_configuration_error(tmp_path, text):
    path = tmp_path / "key.json"
    path.write_text(text, encoding="utf-8")
    message = check_failure(run("mint", "--key", path, "--role", "driver", "--vehicle", "v"), CONFIGURATION)
    assert str(path) in message
    check_failure(run("verify", "a.b.c", "--keys", path), CONFIGURATION)


@pytest.mark.parametrize("change", [{"private_key": "secret-part"}, {"private_key": new_ec_key()}, {"private_key": ""}],
                         ids=["no PEM", "EC key", "empty"])
def test_a_key_that_cannot_sign_is_named_without_its_secret(service, tmp_path, change):
    path = tmp_path / "key.json"
    path.write_text(json.dumps(service.account("driver") | change), encoding="utf-8")
    message = check_failure(run("mint", "--key", path, "--role", "driver", "--vehicle", "v"), CONFIGURATION)
    assert "secret-part" not in message
    assert "BEGIN" not in message or "BEGIN PRIVATE KEY" in message.split("\n", maxsplit=1)[0]
    secret = change["private_key"].replace("\n", "")[30:60]
    assert not secret or secret not in message


def test_a_token_servers_data_folder_may_hold_its_keys(service, key, tmp_path):
    shutil.copy(key, tmp_path / "driver.json")
    (tmp_path / "revocation-key.json").write_text("{}", encoding="utf-8")
    token = service.mint("driver", vehicle="veh-3").encode()
    verified = run("verify", "-", "--keys", tmp_path, stdin=token)
    assert verified.returncode == 0, verified.stderr


@pytest.mark.parametrize("command", [
    ("verify", "a.b.c", "--keys", "https://{}/x"), ("lint", "--engine", "https://{}"),
    ("chaos", "show", "--engine", "https://{}"), ("up", "--data", "data", "--port", "0", "--revocations", "https://{}/x"),
], ids=lambda command: command[0])
def test_a_password_in_an_address_is_not_told(tmp_path, command):
    os.chdir(tmp_path)
    result = run(*(word.format("user:sekret@127.0.0.1:1") for word in command))
    assert result.returncode in (USAGE, CONFIGURATION)
    message = check_failure(result, result.returncode)
    assert "sekret" not in message and "user" in message
    assert "neither" not in message, "it is https"


@pytest.mark.parametrize("command", [
    ("drive", "--vehicle", "v"), ("watch", "--trip", "t"), ("simulate", "--vehicles", "1"), ("demo", "--port", "0"),
], ids=lambda command: command[0])
def test_a_secret_that_no_request_can_carry_is_named_by_its_variable(tmp_path, command):
    route = tmp_path / "route.gpx"
    route.write_text('<gpx><trk><trkseg><trkpt lat="1" lon="2"/></trkseg></trk></gpx>', encoding="utf-8")
    more = ("--route", route) if command[0] == "drive" else ("--data", tmp_path / "data") if command[0] == "demo" else ()
    result = run(*command, *more, environment={"FLEETPASS_SECRET": "sekret\n"})
    message = check_failure(result, CONFIGURATION)
    assert "FLEETPASS_SECRET holds a control character" in message and "sekret" not in message
    if command[0] != "demo":
        missing = run(*command, *more, "--secret-variable", "MISSPELT")
        assert "no environment variable MISSPELT" in check_failure(missing, USAGE)


@pytest.mark.parametrize("command", [
    ("serve", "tokens", "--config"), ("serve", "engine", "--config"), ("up", "--port", "0", "--data", "data", "--trust"),
    ("drive", "--vehicle", "v", "--route"),
], ids=lambda command: command[0] + command[1])
def test_a_file_that_cannot_be_read_is_told_why(tmp_path, command):
    os.chdir(tmp_path)
    assert f"{tmp_path} is a folder" in check_failure(run(*command, tmp_path), CONFIGURATION)
    missing = tmp_path / "no" / "file"
    assert f"{missing} is missing" in check_failure(run(*command, missing), CONFIGURATION)


def test_an_argument_is_text_and_not_empty(tmp_path, key):
    for index, name in ((7, b"a\xff"), (7, b"\xc3")):
        result = subprocess.run(
            [PROGRAM, "mint", "--key", key, "--role", "driver", "--vehicle", name], capture_output=True, check=False)
        assert check_failure(result, USAGE) == f"fleetpass: the argument {index} is not text in UTF-8.\n"
        assert result.stdout == b""
    for command in (
        ("keys", "rotate", "--data", tmp_path, "--role", "server", "--with"), ("export", "recording", "--about"),
        ("serve", "tokens", "--config"), ("up", "--callers"), ("up", "--host"),
    ):
        message = check_failure(run(*command, ""), USAGE)
        assert message == f"fleetpass: {command[-1]} is empty; give it a value.\n", "no usage of another command"
    assert "an argument is empty" in check_failure(run("chaos", "set", ""), USAGE)


@pytest.mark.skipif(sys.platform == "darwin", reason="names of files are text there")
def test_nothing_is_made_elsewhere_where_the_working_folder_is_not_text(tmp_path):
    folder = os.fsencode(tmp_path) + b"/a\xff"
    os.mkdir(folder)
    for command in (["up", "--port", "0", "--grpc-port", "0"], ["keys", "list"]):
        result = subprocess.run(
            [PROGRAM, *command, "--data", "data"], cwd=folder, capture_output=True, timeout=20, check=False)
        message = check_failure(result, CONFIGURATION)
        assert message == "fleetpass: the working folder's path is not text in UTF-8; run this in another.\n"
        assert os.listdir(os.fsencode(tmp_path)) == [b"a\xff"] and os.listdir(folder) == []


def test_a_missing_key_file_is_a_configuration_error(tmp_path):
    check_failure(run("mint", "--key", tmp_path / "none", "--role", "driver", "--vehicle", "v"), CONFIGURATION)
    check_failure(run("verify", "a.b.c", "--keys", tmp_path / "none"), CONFIGURATION)


def test_a_key_folder_that_cannot_be_read_is_told_with_cause_and_remedy(tmp_path):
    (tmp_path / "file").touch()
    for folder, cause in [(tmp_path / "none", "none is missing"), (tmp_path / "file", "file is a file, not a folder")]:
        for arguments in (
            ["keys", "list", "--data", folder], ["keys", "rotate", "--data", folder],
            ["keys", "retire", "--data", folder, "--role", "driver", "--key", "k"],
        ):
            message = check_failure(run(*arguments), CONFIGURATION)
            assert cause in message and "fleetpass up" in message and "could not be completed" not in message


@needs_modes
def test_a_key_folder_that_this_user_may_not_read_is_a_configuration_error(service, tmp_path):
    keys = tmp_path / "service-accounts"
    keys.mkdir(mode=0o000)
    token = service.mint("driver", vehicle="v").encode()
    for arguments in (
        ["verify", "-", "--keys", tmp_path], ["lint", "-", "--keys", tmp_path], ["keys", "list", "--data", tmp_path],
        ["explain", "-", "--method", "GetVehicle", "--resource", "providers/p/vehicles/v", "--keys", tmp_path],
    ):
        message = check_failure(run(*arguments, stdin=token, prefix=BOUND_BY_MODES), CONFIGURATION)
        assert "service-accounts may not be read by this user" in message


def test_a_variable_that_is_no_setting_is_told(tmp_path):
    variables = {"FLEETPASS_LISTEN_PRT": "1", "FLEETPASS_LISTEN_HOST": "127.0.0.1", "FLEETPASS_SECRET": "a-secret"}
    (tmp_path / "callers.json").write_text('{"callers": []}')
    (tmp_path / "tokens.yaml").write_text("provider: demo-fleet\ndata: .\nkeys: gone\ncallers: {file: callers.json}\n")
    (tmp_path / "engine.yaml").write_text("providers: demo-fleet\ndata: .\ntrust: {files: gone.yaml}\n")
    for kind in ("tokens", "engine"):
        result = run("serve", kind, "--config", tmp_path / f"{kind}.yaml", environment=variables)
        message = check_failure(result, CONFIGURATION)
        assert "FLEETPASS_LISTEN_PRT" in message.splitlines()[0]
        assert "FLEETPASS_LISTEN_HOST" not in message and "FLEETPASS_SECRET" not in message and "a-secret" not in message


def test_keys_that_cannot_be_fetched_are_an_unreachable_service():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    message = check_failure(run("verify", "a.b.c", "--keys", f"http://127.0.0.1:{port}/keys"), UNREACHABLE)
    assert str(port) in message


def test_keys_are_fetched_of_whom_the_authorities_in_ssl_cert_file_vouch_for(tmp_path):
    class Keys(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "11")
            self.end_headers()
            self.wfile.write(b'{"keys":[]}')

        def log_message(self, *_):
            pass

    certificate(tmp_path, "authority", "DNS:authority")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(tmp_path, "keys", "IP:127.0.0.1", "authority"))
    with ThreadingHTTPServer(("127.0.0.1", 0), Keys) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        arguments = ["verify", "a.b.c", "--keys", f"https://127.0.0.1:{server.server_port}/keys"]
        check_failure(run(*arguments), UNREACHABLE)
        known = run(*arguments, environment={"SSL_CERT_FILE": str(tmp_path / "authority.pem")})
        assert "holds no key" in check_failure(known, CONFIGURATION)
        server.shutdown()


def test_keys_over_plain_http_from_elsewhere_are_not_fetched():
    check_failure(run("verify", "a.b.c", "--keys", "http://example.com/keys"), USAGE)


@pytest.mark.parametrize("option", ["--port", "--grpc-port"])
def test_a_port_in_use_is_a_configuration_error(service, tmp_path, option):
    # The keys are there already, so that the ports are what the start fails at.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = {"--port": "0", "--grpc-port": "0"} | {option: str(taken.getsockname()[1])}
        data = tmp_path / "data"
        (data / "service-accounts").mkdir(parents=True)
        for role in ROLES:
            (data / "service-accounts" / f"{role}.json").write_bytes(service.key_file(role).read_bytes())
        result = run("up", "--data", data, *(text for pair in ports.items() for text in pair), timeout=120)
    message = check_failure(result, CONFIGURATION)
    assert message.splitlines()[-1] == (
        f"fleetpass: port {ports[option]} of 127.0.0.1 is in use; end the other program, or pass {option} "
        "(0 picks a free one).")
    assert "Cancel" not in message and "closed" not in message, "what was only ended with it is not told"
    assert result.stdout == b"", "nothing is ready"


def test_a_data_folder_in_use_is_a_configuration_error(service):
    message = check_failure(run("up", "--data", service.data, "--port", "0", "--grpc-port", "0"), CONFIGURATION)
    assert "in use" in message


def test_a_data_folder_that_is_a_file_is_a_configuration_error(tmp_path):
    file = tmp_path / "file"
    file.touch()
    for data in (file, file / "below"):
        message = check_failure(run("up", "--data", data, "--port", "0", "--grpc-port", "0"), CONFIGURATION)
        assert f"{file} is a file, not a folder" in message


def test_a_data_folder_that_cannot_be_written_is_a_configuration_error():
    # /proc refuses even the superuser.
    check_failure(run("up", "--data", "/proc/fleetpass", "--port", "0", "--grpc-port", "0"), CONFIGURATION)


@needs_modes
def test_a_folder_of_somebody_else_is_a_configuration_error(tmp_path):
    tmp_path.chmod(0o500)
    result = run("up", "--data", tmp_path / "data", "--port", "0", "--grpc-port", "0", prefix=BOUND_BY_MODES)
    message = check_failure(result, CONFIGURATION)
    assert str(tmp_path) in message


def test_a_store_that_is_no_database_is_a_configuration_error(service, tmp_path):
    data = tmp_path / "data"
    (data / "service-accounts").mkdir(parents=True)
    for role in ROLES:
        (data / "service-accounts" / f"{role}.json").write_bytes(service.key_file(role).read_bytes())
    (data / "fleetpass.sqlite").write_text("This is no database, and it is long enough to be taken for one." * 40)
    check_failure(run("up", "--data", data, "--port", "0", "--grpc-port", "0"), CONFIGURATION)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com", "127.0.0.1.example.com"])
def test_up_refuses_addresses_that_others_reach(tmp_path, host):
    result = run("up", "--data", tmp_path / "data", "--host", host, "--port", "0", "--grpc-port", "0")
    check_failure(result, CONFIGURATION)
    assert not (tmp_path / "data").exists(), "nothing is made before the address is known to be safe"


# MARK: hostile tokens


@pytest.fixture(scope="module")
def hostile_tokens(service):
    forger = Forger(service.account("driver"), {"vehicleid": "v"})
    return {
        "one character": b"x",
        "dots": b"..",
        "binary": bytes(range(256)) * 10,
        "10 MB": b"a" * 10_000_000,
        "10 MB of dots": b"." * 10_000_000,
        "10 MB in three parts": b"a" * 5_000_000 + b"." + b"a" * 5_000_000 + b".a",
        "deep header": f"{encode(b'[' * 6000 + b']' * 6000)}.e30.AA".encode(),
        "deep payload": forger.signed_parts(forger.header(), b'{"a":' * 2000 + b"1" + b"}" * 2000).encode(),
        "alg none": forger.unsigned().encode(),
        "aud []": forger.token(aud=[]).encode(),
        "aud of a number": forger.signed_parts(forger.header(), forger.claims(aud=7)).encode(),
        "1e300": forger.signed_parts(
            forger.header(), b'{"iss":"a","sub":"a","aud":"a","iat":1e300,"exp":-1e300}').encode(),
        "huge integers": forger.signed_parts(
            forger.header(), forger.claims(exp=2**63, iat=-(2**63))).encode(),
        "largest integers": forger.signed_parts(
            forger.header(), forger.claims(exp=2**63 - 1, iat=-(2**63) + 1)).encode(),
        "not UTF-8": forger.signed_parts(forger.header(), b'{"iss":"\xff\xfe"}').encode(),
        "lone surrogate": forger.signed_parts(forger.header(), b'{"iss":"\\ud800"}').encode(),
        "NUL": forger.signed_parts(forger.header(), b'{"iss":"a\\u0000"}').encode(),
        "empty object": forger.signed_parts(forger.header(), b"{}").encode(),
        "payload of nothing": forger.signed_parts(forger.header(), b"").encode(),
        "escape sequences": forger.signed_parts(forger.header(kid="\x1b[31m"), forger.claims()).encode(),
        "a forged line": forger.token(**dict.fromkeys(("iss", "sub"), "a\r\x1b[2K   ok       signature")).encode(),
        "algorithm of escape sequences": forger.signed_parts(
            forger.header(alg="\x1b[2K\r"), forger.claims()).encode(),
        "escape sequences twice": forger.signed_parts(b'{"\\u001b[2K":1,"\\u001b[2K":2}', forger.claims()).encode(),
    }


HOSTILE = [
    "one character", "dots", "binary", "10 MB", "10 MB of dots", "10 MB in three parts", "deep header", "deep payload",
    "alg none", "aud []", "aud of a number", "1e300", "huge integers", "largest integers", "not UTF-8",
    "lone surrogate", "NUL", "empty object", "payload of nothing", "escape sequences", "a forged line",
    "algorithm of escape sequences", "escape sequences twice",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_token_is_refused(service, hostile_tokens, name):
    token = hostile_tokens[name]
    for arguments in (
        ["verify", "-", "--keys", service.data],
        ["explain", "-", "--method", "GetVehicle", "--resource", "providers/demo-fleet/vehicles/v", "--keys",
         service.data],
    ):
        result = run(*arguments, stdin=token)
        check_failure(result, REFUSED)
        assert not {*b"\x1b\r"} & {*result.stdout, *result.stderr}, "control characters never reach the terminal"
    # Without keys, some of them look well.
    result = run("inspect", "-", stdin=token)
    assert result.returncode in (0, REFUSED)
    assert not {*b"\x1b\r"} & {*result.stdout, *result.stderr}


def test_the_size_of_a_long_input_is_not_made_up():
    message = check_failure(run("inspect", "-", stdin=b"a" * 3_000_000), REFUSED)
    assert "TOKEN_TOO_LARGE" in message
    assert b"more than 12288 bytes" in run("inspect", "-", stdin=b"a" * 3_000_000).stdout


def test_an_empty_standard_input_is_a_usage_error(service):
    for stdin in (b"", b" \n\t"):
        check_failure(run("inspect", "-", stdin=stdin), USAGE)


def test_a_closed_standard_output_is_no_crash(service):
    # Where the reader goes away, the program ends as a filter does.
    token = service.mint("driver", vehicle="v").encode()
    read, write = os.pipe()
    os.close(read)
    process = subprocess.Popen([PROGRAM, "inspect", "-"], stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    _, errors = process.communicate(token, timeout=60)
    assert process.returncode in (0, 1, -13), (process.returncode, errors)
    assert b"Fatal error" not in errors


def run_with(redirection, *arguments, stdin=b""):
    """Runs the program with a standard stream that a shell opens or closes."""
    result = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", PROGRAM, *map(str, arguments)], input=stdin,
        capture_output=True, timeout=60, check=False)
    assert 0 <= result.returncode < 128, f"{arguments} ended with {result.returncode}: {result.stderr[-2000:]!r}"
    return result


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-"], ids=["full", "closed"])
def test_output_that_cannot_be_written_is_a_failure(service, tmp_path, redirection):
    token = requests.get(f"{service.http}/token/driver/v", timeout=10).json()["jwt"].encode()
    data = tmp_path / "data"
    (data / "service-accounts").mkdir(parents=True)
    for role in ROLES:
        (data / "service-accounts" / f"{role}.json").write_bytes(service.key_file(role).read_bytes())
    recording = json.dumps([{
        "timestamp": "2026-01-02T03:04:05Z", "logName": "projects/p/logs/x",
        "jsonPayload": {
            "@type": "type.googleapis.com/maps.fleetengine.v1.GetVehicleLog", "request": {"vehicleId": "v"},
            "errorResponse": {"code": "UNAVAILABLE", "message": "then"},
        },
    }]).encode()
    for arguments, stdin in [
        (["--help"], b""), (["inspect", "-"], token), (["keys", "list", "--data", service.data], b""),
        (["audit", "export", "--data", service.data], b""), (["export", "-"], recording),
        (["up", "--data", data, "--port", "0", "--grpc-port", "0"], b""),
    ]:
        message = check_failure(run_with(redirection, *arguments, stdin=stdin), REFUSED)
        assert message.splitlines()[-1].startswith("fleetpass: the output cannot be written: "), message


@pytest.mark.parametrize("redirection", ["</", "<&-"], ids=["a folder", "closed"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "-"], ["verify", "-", "--keys", "none"], ["lint", "-"], ["lint", "--recording", "-"],
        ["explain", "-", "--method", "GetVehicle", "--resource", "providers/p/vehicles/v"],
        ["replay", "-"], ["export", "-"], ["chaos", "set", "-"],
    ],
    ids=" ".join,
)
def test_standard_input_that_cannot_be_read_is_a_configuration_error(arguments, redirection):
    message = check_failure(run_with(redirection, *arguments), CONFIGURATION)
    assert message.startswith("fleetpass: standard input cannot be read: "), message


# MARK: start and end


def test_up_finds_its_keys_and_data_again(tmp_path, service):
    data = tmp_path / "data"
    (data / "service-accounts").mkdir(parents=True)
    for role in ROLES[:-1]:
        (data / "service-accounts" / f"{role}.json").write_bytes(service.key_file(role).read_bytes())
    first = Service(data)
    token = first.mint("server")
    body = {
        "vehicleState": "ONLINE", "supportedTripTypes": ["SHARED"], "maximumCapacity": 1,
        "vehicleType": {"category": "AUTO"},
    }
    assert first.rest("POST", "vehicles?vehicleId=kept", token, json=body).status_code == 200
    code, output, errors = first.stop()
    assert (code, output) == (0, ""), errors
    keys = {role: (data / "service-accounts" / f"{role}.json").read_bytes() for role in ROLES}

    second = Service(data)
    assert {role: second.key_file(role).read_bytes() for role in ROLES} == keys
    assert second.rest("GET", "vehicles/kept", token).status_code == 200
    code, output, errors = second.stop()
    assert (code, output) == (0, ""), errors


def test_an_assignment_that_ended_long_ago_is_refused(service):
    result = run(
        "assignments", "add", "--data", service.data, "--holder", "login/late", "--vehicle", "veh-late",
        "--from", "2020-01-01T00:00:00Z", "--until", "2020-01-02T00:00:00Z")
    assert "ended 30 days ago or earlier" in check_failure(result, USAGE)
    listed = run("assignments", "list", "--data", service.data, "--vehicle", "veh-late")
    assert (listed.returncode, listed.stdout) == (0, b"")


def test_the_ready_line_is_one_line_of_words_and_a_path(tmp_path, service):
    result = run("up", "--data", tmp_path / "a\nb", "--port", "0", "--grpc-port", "0")
    assert r"a\u000ab has a line break in its path" in check_failure(result, USAGE)
    assert result.stdout == b"" and list(tmp_path.iterdir()) == []
    shutil.copytree(service.data / "service-accounts", tmp_path / "keys")
    trust_file(tmp_path, "keys")
    (tmp_path / "callers.json").write_text(json.dumps(
        {"callers": [{"name": "app", "secret_sha256": "0" * 64, "roles": ["driver"]}]}))
    (tmp_path / "tokens.yaml").write_text(
        "provider: my fleet\ndata: tokens\nkeys: keys\nlisten: {port: 0}\ncallers: {file: callers.json}\n")
    (tmp_path / "engine.yaml").write_text(
        "providers: demo-fleet,my fleet\ndata: engine\nlisten: {http_port: 0, grpc_port: 0}\ntrust: {files: trust.yaml}\n")
    for name in ("tokens", "engine"):
        (tmp_path / name).mkdir()
    for arguments, data in (
        (("up", "--data", tmp_path / "my data", "--provider", "my fleet", "--port", "0", "--grpc-port", "0"),
         f" data={tmp_path}/my data"),
        (("serve", "tokens", "--config", tmp_path / "tokens.yaml"), ""),
        (("serve", "engine", "--config", tmp_path / "engine.yaml"), ""),
    ):
        ready = re.compile(f'^ready http=(?P<http>[^ ]+) (grpc=[^ ]+ )?provider=(demo-fleet,)?"my fleet"{re.escape(data)}$')
        code, output, errors = Program(ready, *arguments).stop()
        assert (code, output) == (0, ""), errors


def test_up_tells_of_keys_that_others_may_read(tmp_path):
    first = Service(tmp_path / "data")
    code, _, errors = first.stop()
    assert code == 0 and "chmod" not in errors, errors
    first.key_file("driver").chmod(0o644)
    code, _, errors = Service(tmp_path / "data").stop()
    assert code == 0 and f"chmod 600 {first.key_file('driver')}, as" in errors, errors


def test_a_folder_of_another_provider_is_a_configuration_error(tmp_path, service):
    data = tmp_path / "data"
    (data / "service-accounts").mkdir(parents=True)
    for role in ROLES:
        (data / "service-accounts" / f"{role}.json").write_bytes(service.key_file(role).read_bytes())
    result = run("up", "--data", data, "--provider", "other-fleet", "--port", "0", "--grpc-port", "0")
    assert "other-fleet" in check_failure(result, CONFIGURATION)
