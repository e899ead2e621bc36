# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The other ways in, with secrets that can be told, over one PostgreSQL database: `POST /v1/tokens`, certificates, a proxy's
headers, the policy's webhook, administrators, gRPC and recordings."""

import hashlib
import http.server
import json
import secrets as random
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest
import requests
from google.api_core import exceptions

from clients import vehicle_body, with_token
from engine_server import certificate
from forgery import Forger, new_rsa_key
from leaks import Evidence, Secrets
from service import PROVIDER, Service
from test_nodes import Database, fingerprint, node_folder
from test_serve import IdentityProvider, TokenServer

SETTINGS = """
provider: demo-fleet
data: .
keys: service-accounts
listen: {{tls: {{certificate: server.pem, key: server-key.pem, client_ca: authority.pem}}}}
callers:
  file: callers.json
  oidc: {{login: {{issuer: '{issuer}', audience: fleet}}}}
  certificate: {{dispatch: {{uri: 'spiffe://acme/dispatch', roles: driver}}}}
  proxy: {{edge: {{peers: 127.0.0.1, subject_header: X-User, claim_headers: X-Groups=groups}}}}
policy: {{file: policy.yaml, secret_file: webhook.secret}}
admin: {{callers_file: admins.json}}
log: {{level: debug, format: json}}
"""
POLICY = """
version: 1
webhook: {{url: '{webhook}', cache: 0s}}
rules:
  - {{name: asked, when: {{issuer: login}}, grant: driver, for: webhook}}
  - {{name: edge, when: {{issuer: edge, claims: {{groups: drivers}}}}, grant: driver, for: any}}
  - {{name: app, when: {{roles: driver}}, grant: driver, for: any}}
"""


class LoggingDatabase(Database):
    """A database that wants a password, and whose log has every statement with its values."""

    def close(self, password):
        """Asks for the password from now on; before, anybody on this machine could set it."""
        self.password = password
        self.query(f"ALTER ROLE fleetpass PASSWORD '{password}'")
        for setting in ("log_statement = 'all'", "log_min_duration_statement = 0", "log_connections = on"):
            self.query(f"ALTER SYSTEM SET {setting}")
        (self.folder / "data" / "pg_hba.conf").write_text("local all all scram-sha-256\n", encoding="utf-8")
        self.query("SELECT pg_reload_conf()")
        self.address = self.address.replace("fleetpass@", f"fleetpass:{password}@")

    def program(self, name, *arguments):
        found = shutil.which(name) or str(max(Path("/usr/lib/postgresql").glob(f"*/bin/{name}")))
        return subprocess.run([found, *arguments, self.address], check=True, capture_output=True, timeout=60).stdout

    def query(self, statement):
        return self.program("psql", "--no-psqlrc", "--quiet", "--command", statement)

    def content(self):
        """What it would give away to who copies it, reads its log or its journal."""
        yield "rows", self.program("pg_dump")
        yield "database's log", (self.folder / "log").read_bytes()
        journal = [path.read_bytes() for path in (self.folder / "data" / "pg_wal").iterdir() if path.is_file()]
        yield "database's journal", b"".join(journal)


class Webhook(http.server.BaseHTTPRequestHandler):
    """Keeps what it is told, and answers what its server is to answer."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.told.append(f"{self.headers}\n{body.decode()}")
        status, answer = self.server.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *_):
        pass


class Run:
    """All that is done, in the order of the methods."""

    def __init__(self, root, service, secrets, database):
        self.secrets, self.database = secrets, database
        self.evidence = Evidence()
        self.given = []
        self.bearer = secrets.add("static secret", "bearer-" + random.token_urlsafe(32))
        self.admin = secrets.add("administrator's secret", "admin-" + random.token_urlsafe(32))
        self.folder = node_folder(root, "tokens", service)
        for path in (self.folder / "service-accounts").iterdir():
            secrets.key(f"key {path.stem}", json.loads(path.read_text())["private_key"])
        self.provider = IdentityProvider()
        self.webhook = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Webhook)
        self.webhook.told, self.webhook.answer = [], (200, '{"decision": "grant"}')
        threading.Thread(target=self.webhook.serve_forever, daemon=True).start()
        self.write_files()
        self.server = TokenServer(
            self.folder, SETTINGS.format(issuer=self.provider.url), base="",
            environment={"FLEETPASS_STORE_POSTGRESQL": database.address})
        self.traffic = root / "traffic.jsonl"
        self.engine = Service(
            node_folder(root, "engine", service), "--store", database.address, "--callers", self.folder / "callers.json",
            "--record", self.traffic, "--log-level", "debug")

    def write_files(self):
        hook = self.secrets.add("webhook's secret", "hook-" + random.token_urlsafe(48))
        key = self.secrets.add("key in the webhook's address", random.token_urlsafe(24))
        address = f"http://127.0.0.1:{self.webhook.server_port}/may?key={key}"
        callers = [{"name": "app", "secret_sha256": hashlib.sha256(self.bearer.encode()).hexdigest(), "roles": ["driver"]}]
        admins = [{"name": "ann", "secret_sha256": hashlib.sha256(self.admin.encode()).hexdigest()}]
        for name, text in {
            "callers.json": json.dumps({"callers": callers}), "admins.json": json.dumps({"callers": admins}),
            "webhook.secret": hook + "\n", "policy.yaml": POLICY.format(webhook=address),
        }.items():
            (self.folder / name).write_text(text, encoding="utf-8")
            (self.folder / name).chmod(0o600)
        certificate(self.folder, "authority", "DNS:authority")
        certificate(self.folder, "server", "IP:127.0.0.1")
        self.pair = certificate(self.folder, "dispatch", "URI:spiffe://acme/dispatch", "authority")
        for path in self.folder.glob("*-key.pem"):
            self.secrets.key(path.stem, path.read_text(encoding="utf-8"))

    def ask(self, verb, path, secret=None, headers=None, **options):
        headers = ({"Authorization": f"Bearer {secret}"} if secret else {}) | (headers or {})
        return requests.request(
            verb, self.server.http + path, headers=headers, verify=str(self.folder / "server.pem"), timeout=10, **options)

    def ask_for_token(self, vehicle, secret=None, **options):
        return self.ask("POST", "/v1/tokens", secret, json={"role": "driver", "vehicle": vehicle}, **options)

    def give(self, name, vehicle, secret=None, **options):
        answer = self.ask_for_token(vehicle, secret, **options)
        assert answer.status_code == 200, answer.text
        self.evidence.note(f"{name}, headers", str(answer.headers))
        self.given.append(self.secrets.token(name, answer.json()["token"]))

    def refuse(self, name, answer):
        assert 400 <= answer.status_code < 600, f"{name}: {answer.text}"
        self.evidence.answer(name, answer)

    def tokens_are_given(self):
        forwarded = {
            "X-User": "dirk", "X-Groups": "drivers",
            "Cookie": "session=" + self.secrets.add("proxy's cookie", random.token_urlsafe(40)),
            "X-Forwarded-Access-Token": self.secrets.add("proxy's access token", "ya29." + random.token_urlsafe(40)),
        }
        self.dora = self.secrets.token("ID token", self.provider.token("dora"))
        self.give("app's", "veh-1", self.bearer)
        self.give("certificate's", "veh-2", cert=self.pair)
        self.give("proxy's", "veh-3", headers=forwarded)
        self.give("webhook's", "veh-4", self.dora)
        self.refuse("proxy, no driver", self.ask_for_token("veh-3", headers=forwarded | {"X-Groups": "guests"}))
        self.give("proxy's beside a secret", "veh-3", self.bearer, headers=forwarded)

    def tokens_are_refused(self):
        self.webhook.answer = (200, '{"decision": "refuse"}')
        self.refuse("webhook refuses", self.ask_for_token("veh-4", self.dora))
        # What a backend says of its own failure may hold anything.
        trace = self.secrets.add("what the webhook says", "trace-" + random.token_urlsafe(32))
        for answer in [(500, trace), (200, trace), (200, json.dumps({"decision": trace})), (302, trace)]:
            self.webhook.answer = answer
            self.refuse(f"webhook fails with {answer[0]}", self.ask_for_token("veh-4", self.dora))
        good = {"role": "driver", "vehicle": "veh-1"}
        for name, options in {
            "unknown member": {"json": good | {"authorization": self.bearer}},
            "as a role": {"json": {"role": self.bearer}},
            "as a vehicle": {"json": {"role": "driver", "vehicle": self.given[0]}},
            "no JSON": {"data": self.bearer, "headers": {"Content-Type": "application/json"}},
            "a form": {"data": {"token": self.bearer}},
        }.items():
            self.refuse(name, self.ask("POST", "/v1/tokens", self.bearer, **options))
        for name, secret in {
            "a given token": self.given[0], "administrator's": self.admin, "cut": self.bearer[:-3], "long": self.bearer * 400,
        }.items():
            self.refuse(name, self.ask_for_token("veh-1", secret))
        self.refuse("in the query", self.ask("POST", f"/v1/tokens?access_token={self.bearer}", json=good))
        self.refuse("in another field", self.ask("POST", "/v1/tokens", json=good, headers={"X-Api-Key": self.bearer}))

    def administrators_act(self):
        held = {"holder": "login/dora", "kind": "vehicle", "id": "veh-5"}
        acts = [("GET", "decisions", None), ("GET", "keys", None), ("POST", "assignments", held), ("GET", "assignments", None),
                ("POST", "assignments/end", held),
                ("POST", "revocations", {"kind": "fingerprint", "value": fingerprint(self.given[1])}),
                ("POST", "revocations", {"kind": "vehicle", "value": "veh-3"}), ("GET", "revocations", None)]
        for verb, path, body in acts:
            answer = self.evidence.answer(path, self.ask(verb, f"/admin/api/{path}", self.admin, json=body))
            assert answer.status_code < 300, answer.text
            self.refuse(f"{path}, app", self.ask(verb, f"/admin/api/{path}", self.bearer, json=body))
        for kind in ("fingerprint", "vehicle", self.given[0]):
            body = {"kind": kind, "value": self.given[0]}
            self.refuse("a whole token", self.ask("POST", "/admin/api/revocations", self.admin, json=body))
        found = self.ask("GET", f"/admin/api/decisions?fingerprint={self.given[0]}", self.admin)
        self.refuse("a whole token in the query", found)
        self.refuse("in the query", self.ask("GET", f"/admin/api/keys?secret={self.admin}"))
        for path in ("/admin", "/admin/admin.js", "/openapi.json", "/problems", "/.well-known/revocations"):
            assert self.evidence.answer(path, self.ask("GET", path)).status_code == 200

    def engine_is_called(self):
        engine, server = self.engine, self.secrets.token("server's", self.engine.mint("server"))
        account = engine.account("server")
        forged = Forger(account | {"private_key": new_rsa_key()}, {"vehicleid": "*"}).token()
        ended = Forger(account, {"vehicleid": "*"}).token(iat=1, exp=3601)
        parent = f"providers/{PROVIDER}"
        assert engine.rest("POST", "vehicles?vehicleId=veh-1", server, json=vehicle_body()).status_code == 200
        for name, token in {
            "server": server, "driver": self.given[0], "withdrawn": self.given[1], "ID token": self.dora, "secret": self.bearer,
            "forged": self.secrets.token("forged", forged), "ended": self.secrets.token("ended", ended), "cut": server[:-9],
        }.items():
            clients = with_token(engine, token)
            for call, request in [
                (clients.vehicles.get_vehicle, {"name": f"{parent}/vehicles/veh-1"}),
                (clients.vehicles.list_vehicles, {"parent": parent}),
                (clients.vehicles.update_vehicle, {"name": f"{parent}/vehicles/veh-1", "vehicle": {"vehicle_state": "ONLINE"},
                                                   "update_mask": {"paths": ["vehicle_state"]}}),
                (clients.trips.get_trip, {"name": f"{parent}/trips/trip-1"}),
                (clients.deliveries.get_task, {"name": f"{parent}/tasks/task-1"}),
            ]:
                self.note_call(f"{name}, {call.__name__}", call, request, metadata=[("x-api-key", self.bearer)])
            for verb, options in [("GET", {}), ("PUT", {"json": {"vehicleState": token}}), ("PUT", {"data": token})]:
                self.evidence.answer(name, engine.rest(verb, f"vehicles/veh-1?access_token={token}", server, **options))
            if token.startswith("eyJ"):
                # In place of an id.
                self.evidence.answer(name, engine.rest("GET", f"vehicles/{token}", server))
        for path in ("/metrics", "/page/state", "/readyz", "/openapi.json"):
            self.evidence.answer(path, requests.get(engine.http + path, timeout=10))

    def note_call(self, name, call, request, **options):
        try:
            self.evidence.note(name, str(call(request=request, timeout=10, retry=None, **options)))
        except exceptions.GoogleAPICallError as error:
            told = [(each.details(), each.trailing_metadata()) for each in error.errors if hasattr(each, "details")]
            assert told
            self.evidence.note(name, f"{error} {told}")

    def commands_are_run(self):
        store = ("--store", self.database.address)
        for command in [("audit", "verify"), ("audit", "search"), ("audit", "export"), ("revoke",), ("assignments", "list"),
                        ("revoke", "--subject", "dora")]:
            assert self.evidence.command(*command, *store).returncode == 0, command
        self.exported = self.evidence.command("audit", "export", *store).stdout
        self.evidence.command("keys", "rotate", "--data", self.folder, *store, "--role", "driver")
        for path in (self.folder / "service-accounts").glob("driver.*.json"):
            self.secrets.key("rotated", json.loads(path.read_text())["private_key"])
        wrong = self.secrets.add("wrong password", "wrong-" + random.token_urlsafe(24))
        # A wrong password, no such socket, no such database, no such option, and no address at all.
        for part, other in [(self.database.password, wrong), ("host=", "host=%2Fnone"), ("fleetpass?", "none?"),
                            ("?", "?sslmode=none&"), ("postgresql://", "postgresql:")]:
            address = self.database.address.replace(part, other)
            assert self.evidence.command("audit", "verify", "--store", address).returncode != 0
        self.evidence.command(
            "doctor", "--config", self.folder / "tokens.yaml", timeout=120,
            environment={"FLEETPASS_STORE_POSTGRESQL": self.database.address})
        for arguments in ([self.traffic], [self.traffic, "--about", "veh-1"]):
            assert self.evidence.command("export", *arguments).returncode == 0

    def end(self):
        self.evidence.answer("metrics", self.ask("GET", "/metrics"))
        self.evidence.answer("readyz", self.ask("GET", "/readyz"))
        for process in (self.server, self.engine):
            code, output, errors = process.stop()
            assert code == 0, errors
            self.evidence.note("log", output + errors)
        for told in self.webhook.told:
            self.evidence.note("webhook was told", told)
        self.webhook.shutdown()
        self.provider.shutdown()
        self.evidence.note("recording", self.traffic.read_bytes())
        for place, data in self.database.content():
            self.evidence.note(place, data)
        kept = {path.name for path in (self.folder / "service-accounts").iterdir()} | {
            "webhook.secret", "policy.yaml", "revocation-key.json", *(path.name for path in self.folder.glob("*-key.pem"))}
        self.evidence.folder(self.folder, without=kept)
        self.evidence.folder(self.engine.data, without=kept)


@pytest.fixture(scope="module")
def secrets():
    return Secrets()


@pytest.fixture(scope="module")
def database(secrets):
    # Sockets want short paths that another user may enter.
    folder = Path("/tmp") / f"fleetpass-leaks-{time.time_ns() % 1_000_000_000}"
    database = LoggingDatabase(folder)
    try:
        database.close(secrets.add("database's password", random.token_urlsafe(24)))
        yield database
    finally:
        database.stop()


@pytest.fixture(scope="module")
def done(tmp_path_factory, service, secrets, database):
    """The whole run."""
    done = Run(tmp_path_factory.mktemp("shared"), service, secrets, database)
    done.tokens_are_given()
    done.tokens_are_refused()
    done.administrators_act()
    done.engine_is_called()
    done.commands_are_run()
    done.end()
    return done


def test_no_secret_is_found(done, secrets):
    assert secrets.found_in(done.evidence) == []


def test_all_was_looked_at(done, secrets):
    def looked_at(where):
        return b"".join(data for place, data in done.evidence.items() if place.endswith(f": {where}"))

    assert len(secrets.named) > 50
    records = [json.loads(line)["record"] for line in done.exported.splitlines()]
    granted = [record for record in records if record.get("decision") == "granted"]
    # What the audit keeps of each token, in every place that keeps the audit.
    fingerprints = [fingerprint(token) for token in done.given]
    assert [record["fingerprint"] for record in granted] == fingerprints
    assert {record["issuer"] for record in granted} == {"static", "certificate", "edge", "login"}
    for place in ("rows", "database's log", "database's journal"):
        assert all(text.encode() in looked_at(place) for text in fingerprints), place
    for place, part in [
        ("log", b'"level":"debug"'), ("log", b" debug "), ("webhook was told", b'"subject":"dora"'),
        ("recording", b"UpdateVehicleLog"), ("recording", b"PERMISSION_DENIED"), ("fleetpass export", b"UpdateVehicleLog"),
        ("forged, get_vehicle", b"401 "), ("metrics", b"fleetpass_"),
    ]:
        assert part in looked_at(place), place


def test_a_secret_planted_in_the_database_is_found(done, secrets, database):
    database.query(f"CREATE TABLE planted AS SELECT 'Bearer {done.bearer}' AS text")
    for place, data in database.content():
        assert ("static secret", place) in secrets.found_in({place: data})
