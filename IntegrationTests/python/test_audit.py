# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The audit tells who could read what; every tampering is found; a killed service leaves a chain that holds."""

import getpass
import hashlib
import json
import re
import secrets
import shlex
import shutil
import sqlite3
import stat
import threading
import time
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import requests

from service import Service, refusal, run

STORE = "token-server.sqlite"


@pytest.fixture(scope="module")
def empty_store(service, tmp_path_factory):
    """Puts a token server's store without any record somewhere; only a server makes one."""
    data = tmp_path_factory.mktemp("store") / "data"
    shutil.copytree(service.data / "service-accounts", data / "service-accounts")
    code, _, errors = Service(data).stop()
    assert code == 0, errors

    def put(path):
        # What was written last may be in the journal beside the file.
        with closing(sqlite3.connect(data / STORE)) as store:
            store.execute("VACUUM INTO ?", [str(path)])

    return put


def audit(service, *arguments):
    return run("audit", arguments[0], "--data", service.data, *arguments[1:])


def lines(service, *arguments):
    result = audit(service, "search", *arguments, "--output", "json")
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def iso(time):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def get_token(service, kind, name):
    answer = requests.get(f"{service.http}/token/{kind}/{name}", timeout=10)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    return body.get("jwt") or body["token"]


def fingerprint(token):
    return hashlib.sha256(token.encode()).hexdigest()[:16]


def test_the_audit_tells_who_could_read_a_trip(service, new_id):
    trip, vehicle = new_id("trip"), new_id("vehicle")
    token = get_token(service, "consumer", trip)
    driver = get_token(service, "driver", vehicle)
    get_token(service, "consumer", new_id("trip"))
    now = datetime.now(timezone.utc) + timedelta(seconds=2)

    found = lines(service, "--trip", trip, "--at", iso(now))
    by_fingerprint = {line["record"]["fingerprint"]: line["record"] for line in found}
    record = by_fingerprint[fingerprint(token)]
    assert record["claims"] == {"tripid": trip}
    assert record["decision"] == "granted"
    assert record["caller"] == "anyone"
    assert record["role"] == "consumer"
    assert record["address"] == "127.0.0.1"
    assert record["key_id"] == service.account("consumer")["private_key_id"]
    assert {fingerprint(token), fingerprint(driver)} <= set(by_fingerprint)
    # Where the vehicle of the trip is known, only its driver counts.
    found = lines(service, "--trip", trip, "--at", iso(now), "--trip-vehicle", "another")
    assert [line["record"]["fingerprint"] for line in found] == [fingerprint(token)]
    assert lines(service, "--trip", trip, "--at", iso(now + timedelta(hours=1))) == []
    assert lines(service, "--trip", trip, "--at", iso(now - timedelta(minutes=10))) == []


def test_nothing_of_the_token_is_kept(service, new_id):
    token = get_token(service, "driver", new_id("vehicle"))
    kept = b"".join(path.read_bytes() for path in service.data.glob("*.sqlite*"))
    assert fingerprint(token).encode() in kept
    for part in token.split(".")[1:]:
        assert part.encode() not in kept


def test_an_export_can_be_checked_without_the_program(service, new_id):
    get_token(service, "driver", new_id("vehicle"))
    previous, sequence = "0" * 64, 0
    for text in audit(service, "export").stdout.decode().splitlines():
        line = json.loads(text)
        record = json.dumps(line["record"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        sequence += 1
        assert line["sequence"] == sequence
        content = f"fleetpass-audit-1\n{previous}\n{sequence}\n{record}"
        assert hashlib.sha256(content.encode()).hexdigest() == line["hash"]
        previous = line["hash"]
    assert sequence > 0
    result = audit(service, "verify", "--anchor", f"{sequence}:{previous}")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE audit_record SET content = replace(content, 'anyone', 'nobody') WHERE sequence = 2",
        "DELETE FROM audit_record WHERE sequence = 1",
        "DELETE FROM audit_record WHERE sequence = 2",
        "DELETE FROM audit_record WHERE sequence = (SELECT max(sequence) FROM audit_record)",
        "UPDATE audit_record SET sequence = 999 WHERE sequence = 2;"
        "UPDATE audit_record SET sequence = 2 WHERE sequence = 3;"
        "UPDATE audit_record SET sequence = 3 WHERE sequence = 999;",
    ],
    ids=["changed", "first removed", "removed", "last removed", "reordered"],
)
def test_tampering_is_found(service, tmp_path, sql):
    for number in range(1, 4):
        get_token(service, "driver", f"veh-{number}")
    source = sqlite3.connect(f"file:{service.data / STORE}?mode=ro", uri=True)
    copy = sqlite3.connect(tmp_path / STORE)
    source.backup(copy)
    copy.executescript("DROP TRIGGER audit_record_stays; DROP TRIGGER audit_record_is_final;" + sql)
    copy.close()
    result = run("audit", "verify", "--data", tmp_path)
    assert result.returncode == 1, result.stdout
    assert b"not intact" in result.stderr
    result = run("audit", "verify", "--data", tmp_path, "--output", "json")
    assert result.returncode == 1
    report = json.loads(result.stdout)
    assert report.pop("intact") is False and report.pop("problem").encode() in result.stderr and not report


def test_reading_a_copy_leaves_it_and_its_folder_as_they_are(service, tmp_path):
    get_token(service, "driver", "veh-1")
    source = sqlite3.connect(f"file:{service.data / STORE}?mode=ro", uri=True)
    copy = sqlite3.connect(tmp_path / STORE)
    source.backup(copy)
    source.close()
    # As a server writes it.
    assert copy.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    copy.close()
    before = (tmp_path / STORE).read_bytes()
    assert before[18:20] == b"\2\2"
    for command in (["verify"], ["search", "--vehicle", "veh-1"], ["export"]):
        result = run("audit", *command, "--data", tmp_path)
        assert result.returncode == 0 and result.stdout, result.stderr
        assert [path.name for path in tmp_path.iterdir()] == [STORE]
        assert (tmp_path / STORE).read_bytes() == before


def test_a_killed_service_leaves_a_chain_that_holds(tmp_path, service):
    data = tmp_path / "data"
    shutil.copytree(service.data / "service-accounts", data / "service-accounts")
    for _ in range(8):
        running = Service(data)
        given, stop = [], threading.Event()

        def fetch():
            while not stop.is_set():
                try:
                    given.append(get_token(running, "driver", "veh-1"))
                except requests.RequestException:
                    return

        threads = [threading.Thread(target=fetch) for _ in range(4)]
        for thread in threads:
            thread.start()
        while len(given) < 40:
            time.sleep(0.01)
        running.kill()
        stop.set()
        for thread in threads:
            thread.join()
        result = run("audit", "verify", "--data", data)
        assert result.returncode == 0, result.stderr
        exported = run("audit", "export", "--data", data).stdout.decode().splitlines()
        recorded = {json.loads(line)["record"].get("fingerprint") for line in exported}
        assert {fingerprint(token) for token in given} <= recorded, "every token that was handed out is recorded"


def test_a_withdrawn_token_is_refused_within_five_seconds(service, vehicle):
    token = get_token(service, "driver", vehicle)
    body = {"lastLocation": {"location": {"latitude": 1, "longitude": 2}}}
    path = f"vehicles/{vehicle}?updateMask=lastLocation"
    assert service.rest("PUT", path, token, json=body).status_code == 200
    result = run("revoke", "--data", service.data, "--vehicle", vehicle)
    assert result.returncode == 0, result.stderr
    assert fingerprint(token) in result.stdout.decode()
    deadline = time.monotonic() + 5
    while (answer := service.rest("PUT", path, token, json=body)).status_code == 200:
        assert time.monotonic() < deadline, "the token still holds"
        time.sleep(0.1)
    assert refusal(answer) == ("UNAUTHENTICATED", "TOKEN_REVOKED")
    again = get_token(service, "driver", vehicle)
    assert again != token and service.rest("PUT", path, again, json=body).status_code == 200


def changes(folder, *arguments):
    result = run("audit", "search", "--data", folder, "--kind", "change", "--output", "json", *arguments)
    assert result.returncode == 0, result.stderr
    return [json.loads(line)["record"] for line in result.stdout.splitlines()]


def test_what_commands_change_is_recorded_with_who_made_it(tmp_path, service, empty_store):
    shutil.copytree(service.data / "service-accounts", tmp_path / "service-accounts")
    empty_store(tmp_path / STORE)
    holder = ["--holder", "login/driver-7", "--vehicle", "veh-3"]
    for command in (
        ["assignments", "add", "--data", tmp_path, *holder], ["assignments", "end", "--data", tmp_path, *holder],
        ["revoke", "--data", tmp_path, "--subject", "driver-7"],
        ["keys", "rotate", "--data", tmp_path, "--role", "driver"],
    ):
        result = run(*command)
        assert result.returncode == 0, result.stderr
    key = service.account("driver")["private_key_id"]
    retired = run("keys", "retire", "--data", tmp_path, "--role", "driver", "--key", key, "--force")
    assert retired.returncode == 0, retired.stderr
    # What fails or changes nothing is no change.
    assert run("assignments", "end", "--data", tmp_path, *holder).returncode == 1
    assert run("keys", "retire", "--data", tmp_path, "--role", "driver", "--key", key).returncode == 78

    found = changes(tmp_path)
    assert [record["change"] for record in found] == [
        "assignment_added", "assignment_ended", "tokens_withdrawn", "key_rotated", "key_retired"]
    assert {(record["issuer"], record["actor"]) for record in found} == {("command line", getpass.getuser())}
    assert all(abs(record["time_ms"] / 1000 - time.time()) < 300 for record in found)
    assert found[0]["details"] | {"start": ""} == {
        "holder": "login/driver-7", "kind": "vehicle", "id": "veh-3", "start": ""}
    assert found[4]["details"] == {"role": "driver", "key_id": key, "forced": "true"}
    assert [record["change"] for record in changes(tmp_path, "--vehicle", "veh-3")] == [
        "assignment_added", "assignment_ended"]
    text = run("audit", "search", "--data", tmp_path).stdout.decode()
    assert f"key_retired by={getpass.getuser()}" in text
    assert len(run("audit", "export", "--data", tmp_path).stdout.splitlines()) == 5
    assert run("audit", "verify", "--data", tmp_path).stdout.startswith(b"intact records=5 ")


def test_keys_without_a_store_are_changed_and_the_lack_of_a_record_is_told(tmp_path, service):
    shutil.copy(service.data / "service-accounts" / "driver.json", tmp_path)
    # A store that is named and not there is a mistake, made before anything is changed.
    before = sorted(tmp_path.iterdir())
    assert run("keys", "rotate", "--data", tmp_path, "--store", tmp_path / "gone.sqlite").returncode == 78
    assert sorted(tmp_path.iterdir()) == before
    result = run("keys", "rotate", "--data", tmp_path, "--role", "driver")
    assert result.returncode == 0
    assert b"no audit records this" in result.stderr


def test_who_is_on_call_ends_a_stolen_key_in_a_folder_of_its_own(tmp_path, service, empty_store, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("data", "keys"):
        Path(name).mkdir()
    shutil.copy(service.data / "service-accounts" / "driver.json", "keys")
    empty_store(f"data/{STORE}")
    key = service.account("driver")["private_key_id"]
    page = (Path(__file__).resolve().parents[2] / "docs/on-call.md").read_text(encoding="utf-8")
    section = re.search(r"^## A key was stolen\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)[1]
    # Without Google's engine, as the page says of it.
    commands = [re.split(" --with |#", line)[0] for line in re.findall(r"^ {4}fleetpass (.*)", section, re.MULTILINE)]
    assert len(commands) == 5
    given = {"DIR": "data", "KEYS": "keys", "STORE": f"data/{STORE}", "ROLE": "driver", "ID": key}
    for command in commands:
        result = run(*shlex.split(re.sub(r"\b(DIR|KEYS|STORE|ROLE|ID)\b", lambda name: given[name[0]], command)))
        assert result.returncode == 0, (command, result.stderr)
    assert [record["change"] for record in changes("data")] == ["key_rotated", "tokens_withdrawn", "key_retired"]
    assert b"key_retired" in result.stdout


def test_what_is_no_store_is_refused_and_left_as_it_is(tmp_path, service):
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("This is no database, and it is long enough to be taken for one." * 40)
    shutil.copy(service.data / "fleetpass.sqlite", tmp_path / "engine")
    (tmp_path / "keys").mkdir()
    shutil.copy(service.data / "service-accounts" / "driver.json", tmp_path / "keys")
    holder = ["--holder", "login/driver-7", "--vehicle", "veh-3"]
    commands = [
        ["audit", "verify"], ["audit", "search"], ["audit", "export"], ["revoke"], ["revoke", "--subject", "driver-7"],
        ["audit", "archive", "--keep", "2h", "--to", tmp_path / "archive"], ["assignments", "list"],
        ["assignments", "add", *holder], ["assignments", "end", *holder],
        ["keys", "rotate", "--data", tmp_path / "keys", "--role", "driver"],
    ]
    for store, words in [
        (tmp_path / "empty", "is no store of a token server"), (tmp_path / "text", "is damaged or no database"),
        (tmp_path / "engine", "is no store of a token server"), (tmp_path / "gone", f"{tmp_path}/gone is missing"),
        (tmp_path, f"{tmp_path} is a folder, not a file"),
        (tmp_path / "empty" / "below", f"{tmp_path}/empty is a file, not a folder"),
    ]:
        before = store.read_bytes() if store.is_file() else None
        for command in commands:
            result = run(*command, "--store", store)
            assert result.returncode == 78 and result.stdout == b"", command
            assert words in result.stderr.decode()
        assert (store.read_bytes() if store.is_file() else None) == before
    assert not (tmp_path / "gone").exists() and not (tmp_path / "archive").exists()
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["driver.json"]


def test_an_empty_path_is_not_the_folder_that_a_command_is_run_in(tmp_path, service, empty_store, monkeypatch):
    shutil.copytree(service.data / "service-accounts", tmp_path / "service-accounts")
    empty_store(tmp_path / STORE)
    monkeypatch.chdir(tmp_path)
    token = service.mint("driver", vehicle="veh-3").encode()
    holder = ["--holder", "login/driver-7", "--vehicle", "veh-3"]
    stores = [
        ["audit", "verify"], ["audit", "search"], ["audit", "export"], ["revoke"], ["revoke", "--subject", "driver-7"],
        ["audit", "archive", "--keep", "2h", "--to", "archive"], ["assignments", "list"],
        ["assignments", "add", *holder], ["assignments", "end", *holder],
    ]
    call = ["--method", "GetVehicle", "--resource", "providers/demo-fleet/vehicles/veh-3"]

    def files():
        return {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    before = files()
    for option, command in [
        *(("--data", command) for command in stores), *(("--store", command) for command in stores),
        ("--data", ["keys", "list"]), ("--data", ["keys", "rotate"]),
        ("--data", ["keys", "retire", "--role", "driver", "--key", "k"]),
        ("--store", ["keys", "rotate", "--data", "."]), ("--key", ["mint", "--role", "driver", "--vehicle", "veh-3"]),
        ("--keys", ["verify", "-"]), ("--keys", ["lint", "-"]), ("--keys", ["explain", "-", *call]),
    ]:
        result = run(*command, option, "", stdin=token)
        assert result.returncode == 2 and result.stdout == b"", command
        assert f"{option} is empty; " in result.stderr.decode(), command
    assert files() == before


def test_a_server_makes_its_store_of_an_empty_file_and_of_nothing_else(tmp_path, service):
    data = tmp_path / "data"
    shutil.copytree(service.data / "service-accounts", data / "service-accounts")
    with sqlite3.connect(data / STORE) as database:
        database.execute("CREATE TABLE other (x)")
    database.close()
    before = (data / STORE).read_bytes()
    result = run("up", "--data", data, "--port", "0", "--grpc-port", "0")
    assert result.returncode == 78 and b"is no store of a token server; move it away" in result.stderr
    assert (data / STORE).read_bytes() == before
    (data / STORE).write_bytes(b"")
    code, _, errors = Service(data).stop()
    assert code == 0, errors
    assert run("audit", "verify", "--data", data).stdout.startswith(b"intact records=0 ")


def test_all_roles_take_new_keys_or_none(tmp_path, service, empty_store):
    folder = tmp_path / "keys"
    shutil.copytree(service.data / "service-accounts", folder)
    assert run("keys", "rotate", "--data", folder, "--role", "driver").returncode == 0
    before = sorted(folder.iterdir())
    result = run("keys", "rotate", "--data", folder)
    assert result.returncode == 78
    assert b"nothing was changed: the newest key of the role driver" in result.stderr
    assert sorted(folder.iterdir()) == before

    # What was changed is told also where the rest fails, here because its record is refused.
    store = tmp_path / STORE
    empty_store(store)
    assert run("revoke", "--store", store, "--subject", "nobody").returncode == 0
    with sqlite3.connect(store) as database:
        database.execute(
            "CREATE TRIGGER is_full BEFORE INSERT ON audit_record WHEN new.sequence > 2 "
            "BEGIN SELECT RAISE(ABORT, 'full'); END")
    database.close()
    result = run("keys", "rotate", "--data", folder, "--store", store, "--role", "server", "--role", "consumer")
    assert result.returncode == 1
    assert b"the audit does not tell" in result.stderr
    told = [line.split()[0] for line in result.stdout.decode().splitlines()]
    assert told == ["consumer", "consumer", "server", "server"]


def test_a_folder_without_keys_is_told_before_anything_else(tmp_path):
    (tmp_path / "file").touch()
    for folder, words in [
        (tmp_path, f"{tmp_path} holds no key files"), (tmp_path / "none", "cannot be read"),
        (tmp_path / "file", "cannot be read"),
    ]:
        for command in ("list", "rotate"):
            result = run("keys", command, "--data", folder)
            assert result.returncode == 78 and result.stdout == b""
            assert words in result.stderr.decode() and b"no audit" not in result.stderr


def test_a_token_is_withdrawn_once_and_one_that_nobody_knows_is_told(service, new_id):
    vehicle = new_id("vehicle")
    tokens = [get_token(service, "driver", vehicle) for _ in range(6)]
    assert len(set(tokens)) < 6, "tokens of one second are the same"
    result = run("revoke", "--data", service.data, "--vehicle", vehicle)
    told = [line.split()[0].removeprefix("fingerprint=") for line in result.stdout.decode().splitlines()]
    assert sorted(told) == sorted({fingerprint(token) for token in tokens})
    assert result.stderr.decode() == f"fleetpass: withdrew {len(told)}.\n"

    unknown = b"the audit knows no living token of it"
    for target in (["--key", "nope"], ["--fingerprint", "0123456789abcdef"]):
        result = run("revoke", "--data", service.data, *target)
        assert result.returncode == 0 and unknown in result.stderr and b"withdrew 1." in result.stderr
    result = run("revoke", "--data", service.data, "--fingerprint", fingerprint(tokens[0]))
    assert result.returncode == 0 and unknown not in result.stderr


def test_a_list_of_assignments_that_is_cut_says_so(tmp_path, empty_store):
    store = tmp_path / STORE
    empty_store(store)
    for number in range(3):
        holder = ["--holder", f"idp/driver-{number}", "--vehicle", "veh-1"]
        assert run("assignments", "add", "--store", store, *holder).returncode == 0
    told = b"fleetpass: there are more than these 2; pass a greater --limit"
    result = run("assignments", "list", "--store", store, "--limit", "2")
    assert result.returncode == 0 and result.stdout.count(b"\n") == 2
    assert result.stderr.startswith(told)
    result = run("assignments", "list", "--store", store, "--limit", "2", "--output", "json")
    assert len(json.loads(result.stdout)) == 2
    assert result.stderr.startswith(told)
    for limit in ([], ["--limit", "3"], ["--limit", str(2**63 - 1)]):
        result = run("assignments", "list", "--store", store, *limit)
        assert result.stdout.count(b"\n") == 3 and result.stderr == b""
    for limit in ("0", "-1"):
        result = run("assignments", "list", "--store", store, f"--limit={limit}")
        assert result.returncode == 2 and result.stdout == b""
        assert b"--limit must be 1 or more" in result.stderr


def test_a_store_of_an_older_version_is_not_changed_by_a_command_that_reads(tmp_path, empty_store):
    store = tmp_path / STORE
    empty_store(store)
    with closing(sqlite3.connect(store)) as database:
        database.executescript(
            "DROP TRIGGER audit_record_stays; DROP TABLE audit_start; "
            "CREATE TRIGGER audit_record_stays BEFORE DELETE ON audit_record "
            "BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END; "
            "DELETE FROM grdb_migrations WHERE identifier = '3 archives'")
    before = store.read_bytes()
    for command in (
        ["assignments", "list"], ["revoke"], ["audit", "verify"], ["audit", "search"], ["audit", "export"],
    ):
        result = run(*command, "--store", store)
        assert result.returncode == 78 and result.stdout == b"", command
        assert b"was written by an older version" in result.stderr, command
        assert store.read_bytes() == before and list(tmp_path.iterdir()) == [store], command


def test_assignments_and_withdrawals_are_told_in_json(service, new_id):
    parcel = new_id("parcel")
    held = ("--data", service.data, "--holder", "login/dora", "--tracking-id", parcel)
    assert run("assignments", "add", *held, "--until", "2100-01-01T00:00:00Z").returncode == 0
    listing = ("assignments", "list", "--data", service.data, "--output", "json")
    (assignment,) = json.loads(run(*listing, "--tracking", parcel).stdout)
    assert datetime.fromisoformat(assignment.pop("start")) <= datetime.now(timezone.utc)
    assert assignment == {
        "holder": "login/dora", "kind": "tracking", "id": parcel, "end": "2100-01-01T00:00:00Z"}
    assert json.loads(run(*listing, "--tracking", new_id("parcel")).stdout) == []

    token = secrets.token_hex(8)
    result = run("revoke", "--data", service.data, "--fingerprint", token, "--output", "json")
    assert result.returncode == 0, result.stderr
    (withdrawn,) = json.loads(result.stdout)
    assert datetime.fromisoformat(withdrawn["endsAt"]) > datetime.now(timezone.utc)
    assert (withdrawn["kind"], withdrawn["value"]) == ("fingerprint", token)
    now = json.loads(run("revoke", "--data", service.data, "--output", "json").stdout)
    assert token in [revocation["value"] for revocation in now]


def fill(store, *ages):
    """Puts a change of each age into an empty store."""
    return keep(store, *(
        {"actor": "ops", "change": "tokens_withdrawn", "details": {"id": "s", "kind": "subject"},
         "issuer": "command line", "subject": "ops", "time_ms": int((time.time() - age) * 1000)} for age in ages))


def keep(store, *records):
    """Puts records into an empty store, with the hashes that the documentation tells."""
    previous = "0" * 64
    with sqlite3.connect(store) as database:
        for sequence, content in enumerate(records, 1):
            record = json.dumps(content, separators=(",", ":"), sort_keys=True)
            previous = hashlib.sha256(f"fleetpass-audit-1\n{previous}\n{sequence}\n{record}".encode()).hexdigest()
            database.execute("INSERT INTO audit_record (sequence, content, hash) VALUES (?, ?, ?)",
                             (sequence, record, previous))
            database.execute("UPDATE audit_head SET sequence = ?, hash = ?", (sequence, previous))
    database.close()
    return previous


def test_old_records_are_moved_to_an_archive(tmp_path, empty_store):
    store, old, day = tmp_path / STORE, tmp_path / "old.sqlite", 86400
    empty_store(store)
    fill(store, 100 * day, 91 * day, 89 * day, 5)
    archive = ("audit", "archive", "--data", tmp_path, "--keep", "90d", "--to")
    result = run(*archive, old)
    assert result.returncode == 0, result.stderr
    head = result.stdout.decode().split("head=")[1].strip()
    assert result.stdout.startswith(b"moved records=2 head=2:")
    assert stat.S_IMODE(old.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.sqlite", STORE]

    kept = run("audit", "verify", "--data", tmp_path)
    assert kept.stdout.decode().startswith(f"intact records=3 start={head} head=5:")
    assert run("audit", "verify", "--store", old, "--anchor", head).stdout.decode() == (
        f"intact records=2 head={head} archive\n")
    assert [json.loads(line)["sequence"] for line in run("audit", "export", "--data", tmp_path).stdout.splitlines()] == [
        3, 4, 5]
    (told,) = [record for record in changes(tmp_path) if record["change"] == "records_archived"]
    assert told["details"] == {"count": "2", "file": "old.sqlite", "head": head}
    assert told["actor"] == getpass.getuser()

    note = b"the first 2 records were moved to archives"
    assert note in run("audit", "search", "--data", tmp_path).stderr
    assert note in run("audit", "search", "--data", tmp_path, "--at", iso(datetime.now() - timedelta(days=95))).stderr
    assert note in run("audit", "export", "--data", tmp_path).stderr
    recent = run("audit", "search", "--data", tmp_path, "--from", iso(datetime.now() - timedelta(days=1)))
    assert recent.returncode == 0 and recent.stderr == b""
    assert len(run("audit", "search", "--store", old).stdout.splitlines()) == 2

    # Nothing is moved twice, over a file, or that living tokens may need.
    assert run(*archive, tmp_path / "none.sqlite").stdout == b"moved records=0\n"
    assert not (tmp_path / "none.sqlite").exists()
    again = run("audit", "archive", "--data", tmp_path, "--keep", "2h", "--to", old)
    assert again.returncode == 78 and b"exists; name a new file" in again.stderr
    (tmp_path / "link").symlink_to("nowhere")
    again = run("audit", "archive", "--data", tmp_path, "--keep", "2h", "--to", tmp_path / "link")
    assert again.returncode == 78 and b"exists; name a new file" in again.stderr
    again = run("audit", "archive", "--data", tmp_path, "--keep", "2h", "--to", "")
    assert again.returncode == 2 and b"--to is empty" in again.stderr
    again = run("audit", "archive", "--data", tmp_path, "--keep", "2h", "--to", tmp_path / "gone" / "old.sqlite")
    assert again.returncode == 78 and f"{tmp_path}/gone is missing".encode() in again.stderr

    # The origin is an anchor of every chain; any other from before the start is one of an archive.
    assert run("audit", "verify", "--data", tmp_path, "--anchor", "0:" + "0" * 64).stdout == kept.stdout
    early = run("audit", "verify", "--data", tmp_path, "--anchor", "1:" + "0" * 64)
    assert early.returncode == 2 and early.stdout == b""
    assert b"in an archive" in early.stderr and b"not intact" not in early.stderr
    for time_to_keep in ("1h", "0d", "soon"):
        result = run("audit", "archive", "--data", tmp_path, "--keep", time_to_keep, "--to", tmp_path / "no")
        assert result.returncode == 2 and b"such as 2h or 90d" in result.stderr
    assert run("audit", "archive", "--store", old, "--keep", "2h", "--to", tmp_path / "no").returncode == 78
    assert run("revoke", "--store", old, "--subject", "s").returncode != 0
    # It says nothing of now, so an empty list would be wrong.
    for command in (["assignments", "list"], ["revoke"]):
        result = run(*command, "--store", old)
        assert result.returncode == 78 and result.stdout == b"" and b"is an archive" in result.stderr, command
    assert run("audit", "verify", "--data", tmp_path).stdout == kept.stdout


def test_a_store_that_calls_itself_an_archive_hides_no_cut(tmp_path, empty_store):
    store = tmp_path / STORE
    empty_store(store)
    head = f"14:{fill(store, *[60] * 14)}"
    assert run("audit", "verify", "--data", tmp_path, "--anchor", head).returncode == 0
    with sqlite3.connect(store) as database:
        (start,) = database.execute("SELECT hash FROM audit_record WHERE sequence = 5").fetchone()
        database.execute("UPDATE audit_start SET sequence = 5, hash = ?, is_archive = 1", (start,))
        database.execute("DELETE FROM audit_record WHERE sequence <= 5")
    database.close()
    for anchors in ([], ["--anchor", head], ["--anchor", f"5:{start}", "--anchor", head]):
        cut = run("audit", "verify", "--data", tmp_path, *anchors)
        assert cut.returncode == 1 and cut.stdout == b"", anchors
        assert b"says that it is an archive" in cut.stderr
    cut = run("audit", "verify", "--data", tmp_path, "--output", "json")
    assert cut.returncode == 1 and json.loads(cut.stdout)["intact"] is False
    # By its file it may be an archive, whose start is vouched for from elsewhere.
    for anchors in ([], ["--anchor", head]):
        unknown = run("audit", "verify", "--store", store, *anchors)
        assert unknown.returncode == 2 and unknown.stdout == b"", anchors
        assert b"start after record 5" in unknown.stderr
    assert run("audit", "verify", "--store", store, "--anchor", f"5:{start}", "--anchor", head).returncode == 0


def test_an_archive_that_follows_another_is_verified_by_the_head_of_that_one(tmp_path, empty_store):
    store, first, second, day = tmp_path / STORE, tmp_path / "1.sqlite", tmp_path / "2.sqlite", 86400
    empty_store(store)
    fill(store, 100 * day, 95 * day, 80 * day, 5)
    heads = []
    for keep, path in (("90d", first), ("70d", second)):
        moved = run("audit", "archive", "--data", tmp_path, "--keep", keep, "--to", path)
        assert moved.returncode == 0, moved.stderr
        heads.append(moved.stdout.decode().split("head=")[1].strip())
    assert run("audit", "verify", "--store", first, "--anchor", heads[0]).returncode == 0
    assert run("audit", "verify", "--store", second).returncode == 2
    assert run("audit", "verify", "--store", second, "--anchor", heads[1]).returncode == 2
    both = run("audit", "verify", "--store", second, "--anchor", heads[0], "--anchor", heads[1])
    assert both.stdout.decode() == f"intact records=1 start={heads[0]} head={heads[1]} archive\n"
    assert run("audit", "verify", "--data", tmp_path, "--anchor", heads[1]).returncode == 0


def test_what_users_choose_is_one_value_of_a_line(tmp_path, empty_store):
    name = "dispatch subject=static/dispatch role=driver claims={} address=10.0.0.1 rule=x fingerprint=0000000000000000"
    store = tmp_path / STORE
    empty_store(store)
    now = int(time.time())
    keep(
        store,
        {"address": "192.0.2.7", "caller": name, "claims": {"vehicleid": "veh 1 role=x"}, "decision": "granted",
         "expires_at": now + 3300, "fingerprint": "00ff00ff00ff00ff", "issuer": "login", "key_id": "key 1",
         "role": "driver", "rule": "the drivers", "subject": "dora address=10.0.0.1", "time_ms": now * 1000},
        {"actor": "ops\n2026", "change": "assignment_ended", "details": {"holder": 'login/a"b id=veh-9', "id": "veh 1"},
         "issuer": "command line", "subject": "ops", "time_ms": now * 1000})
    result = run("audit", "search", "--data", tmp_path)
    assert result.returncode == 0, result.stderr
    granted, changed = result.stdout.decode().splitlines()

    def fields(line):
        return dict(word.split("=", 1) for word in shlex.split(line)[2:])

    assert granted.split(" ")[1:3] == ["granted", 'caller="dispatch']
    until = fields(granted).pop("until")
    assert datetime.fromisoformat(until).timestamp() == now + 3300
    assert fields(granted) == {
        "caller": name, "subject": "login/dora address=10.0.0.1", "role": "driver",
        "claims": '{"vehicleid":"veh 1 role=x"}', "address": "192.0.2.7", "rule": "the drivers",
        "fingerprint": "00ff00ff00ff00ff", "key": "key 1", "until": until}
    assert fields(changed) == {
        "by": "ops\\n2026", "subject": "command line/ops", "holder": 'login/a"b id=veh-9', "id": "veh 1"}

    holder, vehicle = "login/dora vehicle=veh-9 from=2026-01-01T00:00:00Z", "veh 3 until=2026"
    assigned = run("assignments", "add", "--data", tmp_path, "--holder", holder, "--vehicle", vehicle)
    assert assigned.returncode == 0, assigned.stderr
    listed = shlex.split(run("assignments", "list", "--data", tmp_path).stdout.decode())
    assert listed[:2] == [holder, f"vehicle={vehicle}"] and listed[2].startswith("from=") and len(listed) == 3
    assert run("revoke", "--data", tmp_path, "--key", "k1 until=2100").returncode == 0
    withdrawn = shlex.split(run("revoke", "--data", tmp_path).stdout.decode())
    assert withdrawn[0] == "key=k1 until=2100" and len(withdrawn) == 2


def test_archives_made_at_once_to_one_file_lose_no_record(tmp_path, empty_store):
    day = 86400
    for number in range(5):
        data = tmp_path / str(number)
        data.mkdir()
        empty_store(data / STORE)
        fill(data / STORE, *[100 * day] * 50, 5)
        results = []

        def archive():
            results.append(run("audit", "archive", "--data", data, "--keep", "90d", "--to", data / "old.sqlite"))

        threads = [threading.Thread(target=archive) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(result.returncode in (0, 78) for result in results), [result.stderr for result in results]
        assert sum(result.stdout.startswith(b"moved records=50 ") for result in results) == 1
        exported = b"".join(
            run("audit", "export", "--store", data / name).stdout for name in ("old.sqlite", STORE)).splitlines()
        assert [json.loads(line)["sequence"] for line in exported] == list(range(1, 53))
        assert run("audit", "verify", "--data", data).returncode == 0
        assert not list(data.glob("*unfinished*"))


def test_records_that_cannot_be_removed_are_moved_with_a_warning(tmp_path, empty_store):
    store, old, day = tmp_path / STORE, tmp_path / "old.sqlite", 86400
    empty_store(store)
    fill(store, 100 * day, 5)
    with sqlite3.connect(store) as database:
        database.execute(
            "CREATE TRIGGER is_stuck BEFORE DELETE ON audit_record BEGIN SELECT RAISE(ABORT, 'stuck'); END")
    database.close()
    archive = ("audit", "archive", "--data", tmp_path, "--keep", "90d", "--to")
    result = run(*archive, old)
    assert result.returncode == 0 and result.stdout.startswith(b"moved records=1 ")
    assert f"warning: {old} is the archive".encode() in result.stderr
    assert run("audit", "verify", "--store", old).returncode == 0
    note = b"the first 1 records were moved to archives"
    assert note in run("audit", "search", "--data", tmp_path, "--from", iso(datetime.now() - timedelta(days=99))).stderr
    with sqlite3.connect(store) as database:
        database.execute("DROP TRIGGER is_stuck")
    database.close()
    assert run(*archive, tmp_path / "none.sqlite").stdout == b"moved records=0\n"
    with sqlite3.connect(store) as database:
        assert database.execute("SELECT min(sequence) FROM audit_record").fetchone() == (2,)
    database.close()
