# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""A run of all flows with secrets that can be told: nothing that anybody reads or keeps afterwards holds one of them."""

import base64
import hashlib
import json
import os
import secrets as random
import shutil
import signal
import sqlite3
import threading
import time

import jwt
import pytest
import requests

from forgery import Forger, new_rsa_key
from leaks import Evidence, Secrets
from service import Service, run
from stand_ins import Google, GoogleServer
from test_serve import IdentityProvider, TokenServer

POLICY = """
version: 1
rules:
  - {name: users, when: {issuer: login, claims: {groups: drivers}}, grant: driver, for: assigned}
  - {name: backend, when: {issuer: backend}, grant: [driver, consumer], for: any}
  - {name: app, when: {roles: driver}, grant: driver, for: any}
"""


@pytest.fixture(scope="module")
def secrets():
    return Secrets()


@pytest.fixture(scope="module")
def evidence(tmp_path_factory, service, secrets):
    """The whole run."""
    evidence = Evidence()
    root = tmp_path_factory.mktemp("leaks")
    bearer = secrets.add("static secret", "bearer-" + random.token_urlsafe(32))
    shared = secrets.add("HS256 secret", "shared-" + random.token_urlsafe(48))
    access = secrets.add("access token", "ya29." + random.token_urlsafe(60))

    def accounts(folder):
        shutil.copytree(service.data / "service-accounts", folder / "service-accounts")
        return folder

    folder = accounts(root / "tokens")
    for path in (folder / "service-accounts").iterdir():
        secrets.key(f"key {path.stem}", json.loads(path.read_text())["private_key"])
    entry = {"name": "app", "secret_sha256": hashlib.sha256(bearer.encode()).hexdigest(), "roles": ["driver"]}
    (folder / "callers.json").write_text(json.dumps({"callers": [entry]}), encoding="utf-8")
    (folder / "shared.secret").write_text(shared + "\n", encoding="utf-8")
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    provider = IdentityProvider()
    secrets.key("identity provider", provider.key)
    server = TokenServer(
        folder,
        f"  oidc:\n    login: {{issuer: '{provider.url}', audience: fleet}}\n"
        "  session:\n    backend: {issuer: 'https://backend.example', audience: fleet, secret_file: shared.secret}\n"
        "policy: {file: policy.yaml}\nlimits: {per_caller: 60/1m}\nlog: {level: debug, format: json}\n",
        environment={"SWIFT_BACKTRACE": "enable=yes,color=no"},
    )

    def users_token(subject, **claims):
        return secrets.token(f"ID token of {subject}", provider.token(subject, groups=["drivers"], **claims))

    def session(**claims):
        now = int(time.time())
        payload = {"iss": "https://backend.example", "sub": "dispatch", "aud": "fleet", "iat": now, "exp": now + 600}
        return secrets.token(f"session {claims}", jwt.encode(payload | claims, shared, algorithm="HS256"))

    def issued(name, path, secret):
        answer = server.get(path, secret)
        assert answer.status_code == 200, answer.text
        return secrets.token(name, answer.json()["jwt"])

    # Tokens that are given.
    held = ("--data", folder, "--holder", "login/dora", "--vehicle", "veh-1")
    dora = users_token("dora")
    assert evidence.command("assignments", "add", *held).returncode == 0
    tokens = [
        issued("driver's", "/token/driver/veh-1", dora),
        issued("backend's", "/token/consumer/trip-1", session()),
        issued("app's", "/token/driver/veh-2", bearer),
    ]

    # Requests that are refused, with secrets where they belong and where they do not.
    for name, path, secret in [
        ("not assigned", "/token/driver/veh-9", dora),
        ("no such user", "/token/driver/veh-1", users_token("dirk")),
        ("other audience", "/token/driver/veh-1", users_token("eve", aud="other")),
        ("ended", "/token/driver/veh-1", users_token("old", exp=int(time.time()) - 900)),
        ("ended session", "/token/driver/veh-1", session(exp=int(time.time()) - 900)),
        ("a fleet token", "/token/driver/veh-1", tokens[0]),
        ("changed", "/token/driver/veh-1", dora[:-6] + "AAAAAA"),
        ("cut", "/token/driver/veh-1", dora[:-40]),
        ("long", "/token/driver/veh-1", bearer * 400),
        ("in the query", f"/token/driver/veh-1?access_token={bearer}", None),
        ("in the path", f"/token/driver/{bearer}", None),
        ("known, in the path", f"/token/driver/{bearer}", bearer + "x"),
        ("no route", f"/{dora}", None),
    ]:
        answer = evidence.answer(name, server.get(path, secret))
        assert answer.status_code >= 400, name
    for name, headers in [("basic", {"Authorization": f"Basic {bearer}"}), ("other field", {"X-Api-Key": bearer})]:
        evidence.answer(name, requests.get(f"{server.http}/token/driver/veh-1", headers=headers, timeout=10))
    evidence.answer("posted", requests.post(f"{server.http}/token/driver/veh-1", data={"secret": bearer}, timeout=10))

    # An engine elsewhere that follows the server.
    data = accounts(root / "up")
    (root / "callers.json").write_text(json.dumps({"callers": [entry]}), encoding="utf-8")
    stranger_key = new_rsa_key()
    secrets.key("stranger", stranger_key)
    engine = Service(
        data, "--callers", str(root / "callers.json"), "--log-level", "debug",
        "--revocations", f"{server.http}/.well-known/revocations")
    account = engine.account("server")
    secrets.token("minted", engine.mint("server"))
    server_token = engine.mint("server")
    secrets.token("minted again", server_token)
    stranger = secrets.token(
        "stranger's", Forger(account | {"private_key_id": "none", "private_key": stranger_key}, {"vehicleid": "*"}).token())
    forged = secrets.token("forged", Forger(account | {"private_key": stranger_key}, {"vehicleid": "*"}).token())
    ended = secrets.token("ended", Forger(account, {"vehicleid": "*"}).token(iat=1, exp=3601))
    for name, token in [
        ("engine", tokens[0]), ("engine, server", server_token), ("engine, stranger", stranger), ("engine, forged", forged),
        ("engine, ended", ended), ("engine, ID token", dora), ("engine, secret", bearer), ("engine, access token", access),
        ("engine, cut", tokens[0][:-20]),
    ]:
        evidence.answer(name, engine.rest("GET", "vehicles/veh-1", token))
        evidence.answer(name, engine.rest("GET", f"vehicles/veh-1?access_token={token}"))
        evidence.answer(name, engine.rest("PUT", "vehicles/veh-1", server_token, data=token))
        # What is not found is told by its id, so this answer repeats what its caller sent; the logs must not.
        engine.rest("GET", f"vehicles/{token}", server_token)
    evidence.answer("up's tokens", requests.get(f"{engine.http}/token/driver/veh-1", timeout=10))
    evidence.answer("page", requests.get(engine.http + "/", timeout=10))
    evidence.answer("page's state", requests.get(engine.http + "/page/state", timeout=10))

    # Commands: judging tokens, administration, reading the audit.
    keys = ("--keys", data)
    for token in [*tokens, server_token, stranger, forged, ended, dora, bearer]:
        call = ("--method", "GetVehicle", "--resource", "providers/demo-fleet/vehicles/veh-1")
        for output in ("text", "json"):
            evidence.command("inspect", "-", "--output", output, stdin=token.encode())
            evidence.command("explain", "-", *call, *keys, "--output", output, stdin=token.encode())
        evidence.command("verify", "-", *keys, stdin=token.encode())
    environment = {"FLEETPASS_SECRET": bearer + "wrong"}
    evidence.command(
        "drive", "--vehicle", "veh-1", "--route", service_route(), "--token-server", server.http, "--engine", engine.http,
        "--speed", "10000", environment=environment, timeout=120)
    evidence.command("assignments", "list", "--data", folder)
    evidence.command("keys", "list", "--data", folder)
    evidence.command("keys", "rotate", "--data", folder, "--role", "consumer")
    for path in (folder / "service-accounts").glob("consumer.*.json"):
        secrets.key("rotated", json.loads(path.read_text())["private_key"])
    evidence.command("revoke", "--data", folder, "--subject", "dora")
    evidence.command("revoke", "--data", folder)
    evidence.command("assignments", "end", *held)
    for command in ("verify", "search", "export"):
        assert evidence.command("audit", command, "--data", folder).returncode == 0
    evidence.command("mint", "--key", folder / "callers.json", "--role", "driver", "--vehicle", "veh-1")
    evidence.answer("list", requests.get(f"{server.http}/.well-known/revocations", timeout=10))

    # Signing with an access token of this machine, which may and may not.
    google = GoogleServer(engine.account("driver"), handler=accepting(access))
    for email in (engine.account("driver")["client_email"], "stranger@demo-fleet.iam.gserviceaccount.com"):
        result = run(
            "mint", "--impersonate", email, "--role", "driver", "--vehicle", "veh-1", timeout=120,
            environment={
                "GCE_METADATA_HOST": google.host, "CLOUDSDK_CONFIG": str(root),
                "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAMCREDENTIALS": f"http://{google.host}/",
            })
        if result.returncode == 0:
            secrets.token("IAM's", result.stdout.decode().strip())
        else:
            evidence.note("mint, refused", result.stdout)
        evidence.note("mint", result.stderr)
    google.stop()

    # Numbers, then the end: one crashes, one is killed.
    for process in (server, engine):
        for path in ("/metrics", "/readyz", "/healthz"):
            evidence.answer(path, requests.get(process.http + path, timeout=10))
    evidence.limits = {
        line.split("  ")[0]: line for pid in (server.process.pid, engine.process.pid)
        for line in open(f"/proc/{pid}/limits", encoding="utf-8") if "core" in line
    }
    evidence.note("crashed", crash(server.process))
    engine.process.kill()
    output, errors = engine.process.communicate()
    evidence.note("killed", output + errors)
    evidence.logged = errors
    provider.shutdown()
    evidence.files = evidence.folder(folder, without={"callers.json", "shared.secret", *names(folder)})
    evidence.files |= evidence.folder(data, without=names(data))
    return evidence


def crash(process):
    """Ends a process as a trap does, and gives what it wrote, the backtrace included where the system has a backtracer."""
    watchdog = threading.Timer(240, process.kill)
    watchdog.start()
    process.send_signal(signal.SIGABRT)
    errors = ""
    # A signal from outside comes back from the backtracer, unlike a trap; the second one ends the process.
    for line in process.stderr:
        errors += line
        if line.startswith("Backtrace took"):
            process.send_signal(signal.SIGABRT)
    output = process.stdout.read()
    process.wait(timeout=30)
    watchdog.cancel()
    assert process.returncode == -signal.SIGABRT
    return output + errors


def names(folder):
    """The files where private keys are meant to be."""
    return {path.name for path in (folder / "service-accounts").iterdir()} | {"revocation-key.json"}


def service_route():
    return os.path.join(os.path.dirname(__file__), "../../Examples/routes/bay-area-trip-1.gpx")


def accepting(access):
    """Google as it answers to this access token."""

    class Accepting(Google):
        def answer(self, status, body, kind="application/json"):
            if isinstance(body, dict) and "access_token" in body:
                body = body | {"access_token": access}
            super().answer(status, body, kind)

        def do_POST(self):
            if self.headers.get("Authorization") == f"Bearer {access}":
                self.headers.replace_header("Authorization", "Bearer machine-token")
            super().do_POST()

    return Accepting


def test_no_secret_is_found(evidence, secrets):
    assert secrets.found_in(evidence) == []


def test_all_was_looked_at(evidence, secrets):
    assert len(secrets.named) > 40
    assert "token-server.sqlite" in evidence.files
    assert "fleetpass.sqlite" in evidence.files
    assert any("IAM's" in name for name in secrets.named), "signing by IAM was part of the run"
    crashed = next(data for place, data in evidence.items() if place.endswith("crashed"))
    assert b'"level":"debug"' in crashed
    assert " debug " in evidence.logged


def test_a_crash_leaves_no_image_of_the_memory(evidence):
    for line in evidence.limits.values():
        assert line.split()[4:6] == ["0", "0"]


@pytest.mark.parametrize("form", [
    lambda text: text.encode(),
    lambda text: b'{"error": "' + text.encode() + b'"}',
    lambda text: base64.b64encode(b"user:" + text.encode()),
    lambda text: text.encode().hex().encode(),
], ids=["plain", "within JSON", "base64", "hexadecimal"])
def test_a_planted_secret_is_found(secrets, evidence, form):
    for name, text in secrets.named.items():
        assert (name, "planted") in secrets.found_in({"planted": b"\x00log " + form(text) + b" line\n"})


def test_a_secret_planted_in_a_store_is_found(tmp_path, secrets, evidence):
    secret = secrets.named["static secret"]
    database = sqlite3.connect(tmp_path / "token-server.sqlite")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE planted (text TEXT)")
    database.execute("INSERT INTO planted VALUES (?)", (f"Bearer {secret}",))
    database.commit()
    planted = Evidence()
    planted.folder(tmp_path)
    database.close()
    assert secrets.found_in(planted)
