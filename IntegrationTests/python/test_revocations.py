# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Revocations by URL: an engine refuses what a token server elsewhere withdrew, and believes no other list."""

import base64
import shutil
import time

import jwt
import pytest
import requests
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from service import Service, refusal, run
from stand_ins import DocumentServer
from test_serve import TokenServer, folder  # noqa: F401  (a fixture)

TYPE = "fleetpass-revocations+jwt"
PATH = "/.well-known/revocations"


def accounts(source, target):
    shutil.copytree(source / "service-accounts", target / "service-accounts")
    return target


def eventually(holds, seconds=5):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.1)


def entries(server):
    answer = requests.get(server.http + PATH, timeout=10)
    assert answer.headers["content-type"] == "application/jwt"
    assert answer.headers["cache-control"] == "public, max-age=1"
    key = jwt.PyJWKClient(f"{server.http}{PATH}/jwks.json", timeout=10).get_signing_key_from_jwt(answer.text)
    assert jwt.get_unverified_header(answer.text)["typ"] == TYPE
    return jwt.decode(answer.text, key.key, algorithms=["EdDSA"]), answer


def test_a_token_withdrawn_at_its_server_is_refused_elsewhere(folder, tmp_path, service):
    server = TokenServer(folder)
    engine = Service(accounts(service.data, tmp_path / "engine"), "--revocations", server.http + PATH)
    first = server.get("/token/driver/veh-1").json()["jwt"]
    second = server.get("/token/driver/veh-2").json()["jwt"]
    eventually(lambda: requests.get(f"{engine.http}/readyz", timeout=10).status_code == 200)
    for token, vehicle in ((first, "veh-1"), (second, "veh-2")):
        assert engine.rest("GET", f"vehicles/{vehicle}", token).status_code == 404

    assert run("revoke", "--data", folder, "--vehicle", "veh-1").returncode == 0
    eventually(lambda: engine.rest("GET", "vehicles/veh-1", first).status_code == 401)
    assert refusal(engine.rest("GET", "vehicles/veh-1", first)) == ("UNAUTHENTICATED", "TOKEN_REVOKED")
    assert engine.rest("GET", "vehicles/veh-2", second).status_code == 404

    kid = jwt.get_unverified_header(second)["kid"]
    assert run("revoke", "--data", folder, "--key", kid).returncode == 0
    eventually(lambda: engine.rest("GET", "vehicles/veh-2", second).status_code == 401)
    # Nor does its server sign any more with it.
    eventually(lambda: server.get("/token/driver/veh-3").status_code == 503)

    # The list holds what it must, no longer than a token lives.
    payload, answer = entries(server)
    assert {(entry["kind"], entry["value"]) for entry in payload["revocations"]} >= {("key", kid)}
    assert len(payload["revocations"]) == 2
    assert all(payload["iat"] < entry["end"] <= payload["iat"] + 3600 for entry in payload["revocations"])
    assert payload["exp"] - payload["iat"] == 60
    again = requests.get(server.http + PATH, headers={"If-None-Match": answer.headers["etag"]}, timeout=10)
    assert (again.status_code, again.content) == (304, b"")

    # The server goes away: what is withdrawn stays so.
    assert server.stop()[0] == 0
    time.sleep(2.5)
    assert engine.rest("GET", "vehicles/veh-1", first).status_code == 401
    metrics = requests.get(f"{engine.http}/metrics", timeout=10).text
    assert 'fleetpass_revocation_polls_total{outcome="failed"}' in metrics
    assert "\nfleetpass_revocation_list_age_seconds " in metrics
    code, _, errors = engine.stop()
    assert code == 0
    assert "the list of revocations stays as it is" in errors


def test_the_key_stays_the_same_and_is_its_owners_alone(folder):
    server = TokenServer(folder)
    before = requests.get(f"{server.http}{PATH}/jwks.json", timeout=10).json()
    server.stop()
    file = folder / "revocation-key.json"
    assert file.stat().st_mode & 0o777 == 0o600
    server = TokenServer(folder)
    assert requests.get(f"{server.http}{PATH}/jwks.json", timeout=10).json() == before
    assert "d" not in before["keys"][0]
    server.stop()


class ListServer(DocumentServer):
    """Serves any list, and the key that it should be signed with."""

    def __init__(self):
        self.key = Ed25519PrivateKey.generate()
        self.text = ""
        self.pause = 0
        super().__init__()

    def answer(self, path):
        time.sleep(self.pause)
        return 200, self.text if path == "/list" else {"keys": [self.jwk()]}, {}

    def jwk(self):
        public = self.key.public_key().public_bytes_raw()
        return {"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": base64.urlsafe_b64encode(public).rstrip(b"=").decode()}

    def sign(self, keys, *, key=None, typ=TYPE, age=0):
        now = int(time.time()) - age
        entries = [{"kind": "key", "value": kid, "end": now + 600} for kid in keys]
        return jwt.encode(
            {"iat": now, "exp": now + 60, "revocations": entries}, key or self.key, algorithm="EdDSA",
            headers={"kid": "k", "typ": typ})


def test_lists_that_cannot_be_believed_withdraw_nothing(tmp_path, service):
    lists = ListServer()
    lists.text = lists.sign(["other"], age=600)
    engine = Service(accounts(service.data, tmp_path / "engine"), "--revocations", f"{lists.url}/list")
    kid = engine.account("driver")["private_key_id"]
    token = engine.mint("driver", vehicle="veh-1")

    def says(problem):
        answer = requests.get(f"{engine.http}/readyz", timeout=10)
        assert engine.rest("GET", "vehicles/veh-1", token).status_code == 404
        return answer.status_code == 503 and problem in answer.text

    good = lists.sign([kid])
    changed = good.split(".")
    changed[1] = lists.sign([kid, "more"]).split(".")[1]
    for text, problem in [
        (lists.sign([kid], age=600), "out of date"),
        (lists.sign([kid], age=-600), "from the future"),
        (lists.sign([kid], key=Ed25519PrivateKey.generate()), "signature does not hold"),
        (".".join(changed), "signature does not hold"),
        (lists.sign([kid], typ="JWT"), "header is not that of a list"),
        (engine.mint("driver", vehicle="veh-1"), "header is not that of a list"),
        ("x" * (5 << 20), ""),
    ]:
        lists.text = text
        eventually(lambda problem=problem: says(problem))
    # A list is no token either.
    assert refusal(engine.rest("GET", "vehicles/veh-1", good))[0] == "UNAUTHENTICATED"

    earlier = lists.sign([])
    time.sleep(1.1)
    lists.text = lists.sign([kid])
    eventually(lambda: engine.rest("GET", "vehicles/veh-1", token).status_code == 401)
    # What the engine's own token server lacks now is another key to sign with, and not the list.
    assert "list" not in requests.get(f"{engine.http}/readyz", timeout=10).text
    lists.text = earlier
    time.sleep(3)
    assert refusal(engine.rest("GET", "vehicles/veh-1", token)) == ("UNAUTHENTICATED", "TOKEN_REVOKED")
    lists.text = lists.sign([])
    eventually(lambda: engine.rest("GET", "vehicles/veh-1", token).status_code == 404)
    assert engine.stop()[0] == 0
    lists.shutdown()


def test_what_a_list_withdraws_is_refused_from_the_first_call_on(tmp_path, service):
    lists = ListServer()
    lists.text = lists.sign([service.account("driver")["private_key_id"]])
    # An engine that did not wait for it would answer long before.
    lists.pause = 1
    engine = Service(accounts(service.data, tmp_path / "engine"), "--revocations", f"{lists.url}/list")
    token = service.mint("driver", vehicle="veh-1")
    assert refusal(engine.rest("GET", "vehicles/veh-1", token)) == ("UNAUTHENTICATED", "TOKEN_REVOKED")
    assert engine.stop()[0] == 0
    lists.shutdown()


def test_a_list_that_can_be_had_is_no_news_at_the_start(folder, tmp_path, service):
    server = TokenServer(folder)
    engine = Service(accounts(service.data, tmp_path / "engine"), "--revocations", server.http + PATH)
    eventually(lambda: requests.get(f"{engine.http}/readyz", timeout=10).status_code == 200)
    code, _, errors = engine.stop()
    assert code == 0
    assert "readiness changed" not in errors and "Cancel" not in errors, errors
    assert server.stop()[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--revocations", "http://tokens.example/list"), "must be https, or http on this machine"),
        (("--revocations", "https://tokens.example/list", "--revocations-keys", "/nowhere"),
            "--revocations-keys: the file /nowhere cannot be read: /nowhere is missing."),
    ],
    ids=["plain HTTP", "missing keys"],
)
def test_up_refuses_a_list_it_cannot_follow(tmp_path, options, message):
    result = run("up", "--data", tmp_path / "data", "--port", "0", "--grpc-port", "0", *options)
    assert result.returncode == 78
    assert message in result.stderr.decode()
