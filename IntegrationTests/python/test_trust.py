# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Trust by URL: the engine takes service accounts' keys from where they are published, with the roles of a trust file."""

import datetime
import time

import jwt
import pytest
import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from clients import vehicle_body
from forgery import Forger, new_rsa_key
from service import Service, refusal, run
from stand_ins import DocumentServer

BACKEND = "backend@demo-fleet.iam.gserviceaccount.com"
DISPATCH = "dispatch@demo-fleet.iam.gserviceaccount.com"
BOTH = "both@demo-fleet.iam.gserviceaccount.com"
OTHER = "backend@other-fleet.iam.gserviceaccount.com"
ADMIN = "admin@demo-fleet.iam.gserviceaccount.com"

TRUST = """
version: 1
roles:
  dispatcher:
    permissions: [fleetengine.trips.get, fleetengine.vehicles.get]
accounts:
  - {{email: {backend}, roles: server, keys: "{url}/robot/v1/metadata/x509/{backend}"}}
  - {{email: {dispatch}, roles: dispatcher, keys: "{url}/jwk/{dispatch}"}}
  - {{email: {both}, roles: [server, delivery_server], keys: "{url}/jwk/{both}"}}
  - {{email: {other}, roles: server, keys: "{url}/jwk/{other}"}}
  - {{email: {admin}, roles: ondemand_admin, keys: admin.pem}}
"""


def certificate(key, common_name, days=2):
    private = serialization.load_pem_private_key(key.encode(), None)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(private.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=10))
        .not_valid_after(now + datetime.timedelta(days=days)).sign(private, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM).decode()


class Accounts(DocumentServer):
    """Service accounts whose keys are published as Google does: JWKS, and certificates by key id."""

    def __init__(self):
        self.keys = {email: {f"{email}-1": new_rsa_key()} for email in (BACKEND, DISPATCH, BOTH, OTHER, ADMIN)}
        self.ended = new_rsa_key()
        self.is_up = True
        self.requests = []
        super().__init__()

    def answer(self, path):
        self.requests.append(path)
        form, email = path.rsplit("/", 1)
        keys = self.keys[email]
        if form.endswith("/x509"):
            document = {kid: certificate(key, email.replace("@", ".")) for kid, key in keys.items()}
            document["ended"] = certificate(self.ended, email.replace("@", "."), days=-1)
        else:
            document = {"keys": [
                {**jwt.algorithms.RSAAlgorithm.to_jwk(
                    serialization.load_pem_private_key(key.encode(), None).public_key(), as_dict=True),
                 "use": "sig", "alg": "RS256", "kid": kid}
                for kid, key in keys.items()
            ]}
        return 200 if self.is_up else 503, document, {"Cache-Control": "public, max-age=19000"}

    def token(self, email, kid=None, key=None, claims=None, **changes):
        kid = kid or f"{email}-1"
        account = {"client_email": email, "private_key_id": kid, "private_key": key or self.keys[email][kid]}
        return Forger(account, {"vehicleid": "*", "tripid": "*"} if claims is None else claims).token(**changes)


@pytest.fixture(scope="module")
def accounts():
    accounts = Accounts()
    yield accounts
    accounts.shutdown()


@pytest.fixture(scope="module")
def engine(accounts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trust")
    file = folder / "trust.yaml"
    names = {"backend": BACKEND, "dispatch": DISPATCH, "both": BOTH, "other": OTHER, "admin": ADMIN}
    file.write_text(TRUST.format(url=accounts.url, **names), encoding="utf-8")
    private = serialization.load_pem_private_key(accounts.keys[ADMIN][f"{ADMIN}-1"].encode(), None)
    (folder / "admin.pem").write_bytes(private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))
    engine = Service(folder / "data", "--trust", str(file))
    yield engine
    assert engine.stop()[0] == 0


def test_published_accounts_have_the_roles_of_the_file(accounts, engine, new_id):
    vehicle = new_id("vehicle")
    backend = accounts.token(BACKEND)
    answer = engine.rest("POST", f"vehicles?vehicleId={vehicle}", backend, json=vehicle_body())
    assert answer.status_code == 200, answer.text
    # A custom role permits what it lists and nothing else.
    dispatch = accounts.token(DISPATCH)
    assert engine.rest("GET", f"vehicles/{vehicle}", dispatch).status_code == 200
    denied = engine.rest("PUT", f"vehicles/{vehicle}?updateMask=vehicleState", dispatch, json={"vehicleState": "ONLINE"})
    assert refusal(denied) == ("PERMISSION_DENIED", "ROLE_LACKS_PERMISSION")
    # Several roles add up.
    both = accounts.token(BOTH, claims={"vehicleid": "*", "deliveryvehicleid": "*"})
    assert engine.rest("GET", f"vehicles/{vehicle}", both).status_code == 200
    assert engine.rest("GET", "deliveryVehicles/none", both).status_code == 404
    assert refusal(engine.rest("GET", "deliveryVehicles/none", backend))[1] == "ROLE_LACKS_PERMISSION"
    # A PEM key has no id: it is its account's, whatever id a token names.
    for kid in ["4c1b39c5a7b0d15e8f5b5b9ab81e5d1b6bd5c1a2", ADMIN]:
        admin = accounts.token(ADMIN, kid=kid, key=accounts.keys[ADMIN][f"{ADMIN}-1"], claims={})
        assert engine.rest("GET", f"vehicles/{vehicle}", admin).status_code == 200
    # The folder's own accounts are trusted as before.
    assert engine.rest("GET", f"vehicles/{vehicle}", engine.mint("server")).status_code == 200


def test_providers_are_strictly_apart(accounts, engine, new_id):
    vehicle = new_id("vehicle")
    other = accounts.token(OTHER)
    assert refusal(engine.rest("GET", f"vehicles/{vehicle}", other)) == ("PERMISSION_DENIED", "PROVIDER_MISMATCH")
    theirs = Service.__new__(Service)
    theirs.http, theirs.provider = engine.http, "other-fleet"
    assert theirs.rest("POST", f"vehicles?vehicleId={vehicle}", other, json=vehicle_body()).status_code == 200
    assert theirs.rest("GET", f"vehicles/{vehicle}", other).status_code == 200
    assert engine.rest("GET", f"vehicles/{vehicle}", accounts.token(BACKEND)).status_code == 404


def test_a_server_call_without_claims_is_an_admins(accounts, engine):
    backend = accounts.token(BACKEND, claims={})
    assert refusal(engine.rest("GET", "vehicles/none", backend)) == ("PERMISSION_DENIED", "CLAIMS_MISSING")


def test_keys_change_by_the_rules(accounts, engine):
    def status(token):
        return engine.rest("GET", "vehicles/none", token).status_code

    asked = f"/jwk/{OTHER}"
    theirs = Service.__new__(Service)
    theirs.http, theirs.provider = engine.http, "other-fleet"
    engine_status, before = status, accounts.requests.count(asked)
    # A bad signature makes nobody ask, and who signs with another account's key does not make that one be asked.
    assert engine_status(accounts.token(OTHER, key=new_rsa_key())) == 401
    assert engine_status(accounts.token(BACKEND, kid=f"{OTHER}-1", key=accounts.keys[OTHER][f"{OTHER}-1"])) == 401
    assert accounts.requests.count(asked) == before
    # A key that ended is no key.
    assert engine_status(accounts.token(BACKEND, kid="ended", key=accounts.ended)) == 401
    # A new key is taken at its first token; a key that nobody has is asked for once.
    accounts.keys[OTHER]["second"] = new_rsa_key()
    assert theirs.rest("GET", "vehicles/none", accounts.token(OTHER, kid="second")).status_code == 404
    assert accounts.requests.count(asked) == before + 1
    for _ in range(5):
        assert status(accounts.token(OTHER, kid="third", key=new_rsa_key())) == 401
    assert accounts.requests.count(asked) == before + 1
    # What is known stays so while nobody answers.
    accounts.is_up = False
    time.sleep(2.5)
    assert theirs.rest("GET", "vehicles/none", accounts.token(OTHER)).status_code == 404
    accounts.is_up = True


def test_the_age_of_fetched_keys_is_a_metric(engine):
    deadline = time.monotonic() + 20
    while not any(
        line.startswith("fleetpass_trusted_keys_age_seconds ")
        for line in requests.get(f"{engine.http}/metrics", timeout=10).text.splitlines()
    ):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_verify_and_explain_read_published_keys(accounts):
    token = accounts.token(BACKEND)
    for url in (f"{accounts.url}/robot/v1/metadata/x509/{BACKEND}", f"{accounts.url}/jwk/{BACKEND}"):
        result = run("verify", "-", "--keys", url, stdin=token.encode())
        assert result.returncode == 0, result.stderr
        assert f"valid: {BACKEND} key {BACKEND}-1".encode() in result.stdout


def test_a_key_without_an_id_is_withdrawn_by_its_accounts_name(accounts, engine):
    key = accounts.keys[ADMIN][f"{ADMIN}-1"]
    tokens = [accounts.token(ADMIN, kid=kid, key=key, claims={}) for kid in ("one", "another")]
    assert [engine.rest("GET", "vehicles/none", token).status_code for token in tokens] == [404, 404]
    assert run("revoke", "--data", engine.data, "--key", ADMIN).returncode == 0
    deadline = time.monotonic() + 5
    while engine.rest("GET", "vehicles/none", tokens[0]).status_code != 401:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    for token in tokens:
        assert refusal(engine.rest("GET", "vehicles/none", token)) == ("UNAUTHENTICATED", "TOKEN_REVOKED")


def test_a_trust_file_that_is_wrong_is_told_with_its_place(tmp_path):
    file = tmp_path / "trust.yaml"
    file.write_text("version: 1\naccounts:\n  - {email: a@b.iam.gserviceaccount.com, roles: king}\n", encoding="utf-8")
    result = run("up", "--data", tmp_path / "data", "--port", "0", "--grpc-port", "0", "--trust", file)
    assert result.returncode == 78
    assert b'trust.yaml:3:5: there is no role "king"' in result.stderr
