# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The token server does what its OpenAPI file says, tried by schemathesis with what the file allows and forbids; and what
administrators change holds at once."""

import hashlib
import json

import requests

import schema
from service import run
from test_serve import SECRET, TokenServer, folder  # noqa: F401

ADMIN = "an-administrators-secret-of-the-tests-91c2"
ROLES = [
    "driver", "consumer", "delivery_untrusted_driver", "delivery_trusted_driver", "delivery_consumer", "fleet_reader",
    "delivery_fleet_reader",
]


def callers(secret, **more):
    return json.dumps({"callers": [{"name": "app", "secret_sha256": hashlib.sha256(secret.encode()).hexdigest(), **more}]})


def explore(server, secret, *options):
    """Tries every operation of the token server; any answer that is not as documented ends in a failure."""
    schema.explore(
        f"{server.http}/openapi.json", server.folder, secret, "--max-examples", "40",
        "--phases", "examples,coverage,fuzzing", *options)


def test_every_answer_is_as_documented(folder):  # noqa: F811
    (folder / "callers.json").write_text(callers(SECRET, roles=ROLES), encoding="utf-8")
    (folder / "admins.json").write_text(callers(ADMIN), encoding="utf-8")
    server = TokenServer(
        folder, "log: {level: error}\nlimits: {refused_per_caller: off}\nadmin: {callers_file: admins.json}\n")
    explore(server, SECRET, "--exclude-path-regex", "^/admin/api")
    # That an end comes after its start, and a kind with its id, no schema says.
    explore(server, ADMIN, "--include-path-regex", "^/admin/api", "--exclude-checks", "positive_data_acceptance")
    assert requests.get(f"{server.http}/readyz", timeout=10).status_code == 200
    assert server.stop()[0] == 0
    assert run("audit", "verify", "--data", folder).returncode == 0


def test_the_admin_api_is_off_where_no_administrator_is_named(folder):  # noqa: F811
    server = TokenServer(folder)
    for path in ["/admin", "/admin/admin.js", "/admin/api/keys", "/v1/token"]:
        answer = server.get(path)
        assert answer.status_code == 404 and answer.json()["code"] == "not_found"
    assert requests.post(f"{server.http}/.well-known/revocations", timeout=10).status_code == 405
    server.stop()


def test_what_is_assigned_holds_at_once(folder):  # noqa: F811
    (folder / "admins.json").write_text(callers(ADMIN), encoding="utf-8")
    (folder / "policy.yaml").write_text(
        "version: 1\nrules:\n  - {name: shift, when: {issuer: static}, grant: driver, for: assigned}\n", encoding="utf-8")
    server = TokenServer(folder, "admin: {callers_file: admins.json}\npolicy: {file: policy.yaml}\n")

    def administer(path, **body):
        answer = requests.post(
            f"{server.http}/admin/api/{path}", json=body, headers={"Authorization": f"Bearer {ADMIN}"}, timeout=10)
        assert answer.status_code in (200, 201), answer.text

    held = {"holder": "static/app", "kind": "vehicle", "id": "veh-1"}
    assert server.get("/token/driver/veh-1").status_code == 403
    administer("assignments", **held)
    assert server.get("/token/driver/veh-1").status_code == 200
    administer("assignments/end", **held)
    assert server.get("/token/driver/veh-1").status_code == 403
    assert requests.get(f"{server.http}/admin/api/keys", headers={"Authorization": f"Bearer {SECRET}"}, timeout=10).status_code == 401
    assert server.stop()[0] == 0
