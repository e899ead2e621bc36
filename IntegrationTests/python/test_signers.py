# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""`serve tokens` with Google's signers: no key on the disk, what is wrong in words, recovery, and the ladder."""

import hashlib
import json
import re
import time

import jwt
import pytest
import requests

from clients import vehicle_body
from service import run
from stand_ins import Google, GoogleServer
from test_serve import SECRET, TokenServer

BASE = "provider: demo-fleet\ndata: .\ncallers:\n  file: callers.json\n"


class Later(Google):
    """Google's services, whose clock is 5 minutes ahead of this machine's."""

    def date_time_string(self, timestamp=None):
        return super().date_time_string(time.time() + 300)


@pytest.fixture
def google(service):
    server = GoogleServer(service.account("driver"))
    yield server
    server.stop()


@pytest.fixture
def folder(tmp_path):
    callers = [{"name": "app", "secret_sha256": hashlib.sha256(SECRET.encode()).hexdigest(), "roles": ["driver"]}]
    (tmp_path / "callers.json").write_text(json.dumps({"callers": callers}), encoding="utf-8")
    return tmp_path


def start(folder, google, signer, **options):
    endpoints = f"{{iam: 'http://{google.host}', keys: 'http://{google.host}'}}"
    return TokenServer(
        folder, f"signers:\n  driver: {signer}\ngoogle:\n  endpoints: {endpoints}\n",
        environment={"GCE_METADATA_HOST": google.host}, base=options.get("base", BASE))


def until(condition, seconds):
    """How long it took until a condition held."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds
        time.sleep(0.1)
    return time.monotonic() - start


def metrics(server):
    lines = server.get("/metrics", secret=None).text.splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("way", ["sign_jwt", "sign_blob"])
def test_without_a_key_on_the_disk_the_engine_takes_the_tokens(folder, service, google, server_token, way):
    account = service.account("driver")
    server = start(folder, google, f"{{account: {account['client_email']}, ways: {way}}}")
    assert server.get("/readyz", secret=None).status_code == 200
    vehicle = f"veh-{way}"
    service.rest("POST", f"vehicles?vehicleId={vehicle}", server_token, json=vehicle_body())
    token = server.get(f"/token/driver/{vehicle}").json()["jwt"]
    assert jwt.get_unverified_header(token)["kid"] == account["private_key_id"]
    assert service.rest("GET", f"vehicles/{vehicle}", token).status_code == 200
    assert any(path.endswith("signJwt" if way == "sign_jwt" else "signBlob") for path in google.seen)
    assert requests.get(f"{server.http}/.well-known/jwks.json", timeout=10).json() == {"keys": []}
    numbers = metrics(server)
    assert int(numbers[f'fleetpass_signer_calls_total{{role="driver",way="{way}",outcome="signed"}}']) >= 2
    assert numbers['fleetpass_access_token_fetches_total{outcome="fetched"}'] == "1"
    _, output, errors = server.stop()
    written = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    for secret in [b"machine-token", b"PRIVATE KEY", account["private_key"].splitlines()[1].encode(), token.encode()]:
        assert secret not in written + output.encode() + errors.encode()


def test_the_account_that_the_machine_runs_as_signs_for_itself(folder, service, google):
    google.machine = service.account("driver")["client_email"]
    server = start(folder, google, "{account: self}")
    token = server.get("/token/driver/veh-self").json()["jwt"]
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims["iss"] == claims["sub"] == google.machine
    # Authorization comes before existence: a token that does not verify would be told 401.
    assert service.rest("GET", "vehicles/veh-self", token).status_code == 404
    server.stop()


@pytest.mark.parametrize("fault", [(503, "UNAVAILABLE"), (429, "RESOURCE_EXHAUSTED"), (401, "UNAUTHENTICATED")])
def test_while_iam_is_down_the_answer_is_to_come_again_and_recovery_is_noticed(folder, service, google, fault):
    server = start(folder, google, f"{{account: {service.account('driver')['client_email']}}}")
    assert server.get("/token/driver/veh-1").status_code == 200
    google.fault = fault
    for _ in range(4):
        answer = server.get("/token/driver/veh-1")
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
    google.fault = None
    # A breaker that opened after the third failure rests a second or two.
    assert until(lambda: server.get("/token/driver/veh-1").status_code == 200, 10) < 5
    server.stop()


def test_a_clock_that_was_wrong_from_the_start_is_told_by_google_s_answers(folder, service):
    google = GoogleServer(service.account("driver"), handler=Later)
    server = start(folder, google, f"{{account: {service.account('driver')['client_email']}}}")
    answer = server.get("/readyz", secret=None)
    assert answer.status_code == 503
    assert re.search(r"clock: the clock is (299|30[0-2]) s behind 127\.0\.0\.1; set it by NTP", answer.text), answer.text
    server.stop()
    google.stop()


def test_what_is_missing_is_said_until_it_is_there(folder, service, google):
    account = service.account("driver")
    del google.keys[account["client_email"]]
    server = start(folder, google, f"{{account: {account['client_email']}}}")
    answer = server.get("/readyz", secret=None)
    assert answer.status_code == 503
    for part in ["driver", "roles/iam.serviceAccountTokenCreator", google.machine, account["client_email"]]:
        assert part in answer.text
    assert metrics(server)['fleetpass_canary_up{role="driver"}'] == "0"
    google.keys[account["client_email"]] = account
    until(lambda: server.get("/readyz", secret=None).status_code == 200, 45)
    assert server.get("/token/driver/veh-1").status_code == 200
    _, _, errors = server.stop()
    assert "serviceAccountTokenCreator" in errors


def test_a_key_of_the_account_signs_when_iam_cannot(folder, service, google):
    account = service.account("driver")
    (folder / "spare.json").write_text(json.dumps(account), encoding="utf-8")
    google.fault = (500, "INTERNAL")
    server = start(
        folder, google, f"{{account: {account['client_email']}, ways: 'sign_jwt, key', key: spare.json}}")
    token = server.get("/token/driver/veh-1").json()["jwt"]
    keys = jwt.PyJWKClient(f"{server.http}/.well-known/jwks.json", timeout=10)
    jwt.decode(
        token, keys.get_signing_key_from_jwt(token).key, algorithms=["RS256"],
        audience="https://fleetengine.googleapis.com/")
    numbers = metrics(server)
    assert int(numbers['fleetpass_signer_calls_total{role="driver",way="key",outcome="signed"}']) > 0
    assert int(numbers['fleetpass_signer_calls_total{role="driver",way="sign_jwt",outcome="failed"}']) > 0
    server.stop()


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ("", ["Nothing is set up to sign with", "signers.driver.account"]),
        ("signers: {driver: {ways: key}}\n", ["signers.driver.key", "driver.json"]),
        ("signers: {driver: {ways: key, key: gone.json}}\n", ["gone.json", "signers.driver.key"]),
        ("keys: .\n", ["holds no key file ROLE.json", "signers"]),
        ("keys: gone\n", ["gone", "cannot be read"]),
    ],
)
def test_a_configuration_that_cannot_sign_is_refused_with_the_fix(folder, settings, parts):
    config = folder / "tokens.yaml"
    config.write_text(BASE + settings, encoding="utf-8")
    result = run("serve", "tokens", "--config", config)
    assert result.returncode == 78
    for part in parts:
        assert part in result.stderr.decode()
