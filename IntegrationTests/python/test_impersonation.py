# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Tokens that IAM signs for the machine's own account: no key file near the program, and the engine takes them."""

import http.server
import json
import threading
import time

import jwt
import pytest

from service import run


class Google(http.server.BaseHTTPRequestHandler):
    """The metadata server and IAM Credentials, as far as signing needs them."""

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json"):
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.server.seen.append(self.path)
        if self.headers.get("Metadata-Flavor") != "Google":
            self.answer(403, "metadata flavor is missing", "text/plain")
        elif self.path.split("?")[0].endswith("/token"):
            self.answer(200, {"access_token": "machine-token", "expires_in": 3599, "token_type": "Bearer"})
        elif self.path.endswith("/email"):
            self.answer(200, "machine@demo-fleet.iam.gserviceaccount.com", "text/plain")
        elif "universe" in self.path:
            self.answer(200, "googleapis.com", "text/plain")
        elif self.path.endswith("/project-id"):
            self.answer(200, "demo-fleet", "text/plain")
        else:
            self.answer(200, "", "text/plain")

    def do_POST(self):
        self.server.seen.append(self.path)
        account, _, verb = self.path.rpartition("/")[2].partition(":")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        key = self.server.keys.get(account)
        if self.headers.get("Authorization") != "Bearer machine-token" or verb != "signJwt" or key is None:
            self.answer(403, {"error": {"code": 403, "message": "denied", "status": "PERMISSION_DENIED"}})
            return
        signed = jwt.encode(
            json.loads(body["payload"]), key["private_key"], algorithm="RS256", headers={"kid": key["private_key_id"]}
        )
        self.answer(200, {"keyId": key["private_key_id"], "signedJwt": signed})


@pytest.fixture
def google(service):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Google)
    server.seen = []
    server.keys = {service.account("driver")["client_email"]: service.account("driver")}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def mint(google, tmp_path, account, *options):
    address = f"127.0.0.1:{google.server_address[1]}"
    return run(
        "mint", "--impersonate", account, "--role", "driver", "--vehicle", "veh-iam", *options,
        environment={
            "GCE_METADATA_HOST": address,
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAMCREDENTIALS": f"http://{address}/",
            "CLOUDSDK_CONFIG": str(tmp_path),
        },
        timeout=120,
    )


def test_the_engine_takes_a_token_that_iam_signed(service, google, tmp_path):
    account = service.account("driver")
    result = mint(google, tmp_path, account["client_email"], "--output", "json")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["keyID"] == account["private_key_id"]
    claims = jwt.decode(report["token"], options={"verify_signature": False})
    assert claims["iss"] == claims["sub"] == account["client_email"]
    assert abs(claims["iat"] - time.time()) < 900
    server_token = service.mint("server", vehicle="veh-iam")
    service.rest(
        "POST", "vehicles?vehicleId=veh-iam", server_token,
        json={"vehicleState": "OFFLINE", "supportedTripTypes": ["EXCLUSIVE"], "maximumCapacity": 4,
              "vehicleType": {"category": "AUTO"}},
    )
    assert service.rest("GET", "vehicles/veh-iam", report["token"]).status_code == 200
    assert any("signJwt" in path for path in google.seen)


def test_an_account_that_may_not_be_impersonated_is_named(google, tmp_path):
    result = mint(google, tmp_path, "stranger@demo-fleet.iam.gserviceaccount.com")
    assert result.returncode == 78
    assert "stranger@demo-fleet.iam.gserviceaccount.com" in result.stderr.decode()
    assert "machine-token" not in result.stderr.decode()


def test_what_was_looked_for_is_listed_when_there_are_no_credentials(tmp_path):
    result = run(
        "mint", "--impersonate", "a@b.iam.gserviceaccount.com", "--role", "driver", "--vehicle", "v",
        environment={"CLOUDSDK_CONFIG": str(tmp_path)}, timeout=120,
    )
    assert result.returncode in (69, 78)
    for step in ["GOOGLE_APPLICATION_CREDENTIALS", "gcloud", "metadata"]:
        assert step in result.stderr.decode()


def test_a_key_file_and_an_account_to_impersonate_exclude_each_other():
    for options in [[], ["--key", "k.json", "--impersonate", "a@b"], ["--key", "k.json", "--delegate", "a@b"]]:
        assert run("mint", "--role", "driver", "--vehicle", "v", *options).returncode == 2
