# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Tokens across libraries: ours verify with PyJWT, PyJWT's are taken, and bad ones are refused by name on both wires."""

import time

import jwt
import pytest
import requests
from google.api_core import exceptions
from google.maps import fleetengine_v1 as fleet

import clients
from forgery import LEAVE_OUT, Forger, new_ec_key, new_rsa_key
from service import AUDIENCE, refusal

ROUTES = [
    ("driver", "vehicleid", "jwt", "expirationTimestamp"),
    ("consumer", "tripid", "jwt", "expirationTimestamp"),
    ("delivery_driver", "deliveryvehicleid", "token", "expiration_timestamp_ms"),
    ("delivery_consumer", "trackingid", "token", "expiration_timestamp_ms"),
]


@pytest.fixture(scope="module")
def published_keys(service):
    return jwt.PyJWKClient(f"{service.http}/.well-known/jwks.json", timeout=10)


@pytest.mark.parametrize(("route", "claim", "token_key", "expiry_key"), ROUTES, ids=[route[0] for route in ROUTES])
def test_the_token_servers_tokens_verify_with_pyjwt(service, published_keys, route, claim, token_key, expiry_key):
    answer = requests.get(f"{service.http}/token/{route}/id-7", timeout=10)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    token = body[token_key]
    claims = jwt.decode(
        token, published_keys.get_signing_key_from_jwt(token).key, algorithms=["RS256"], audience=AUDIENCE,
        options={"require": ["iss", "sub", "aud", "iat", "exp"]},
    )
    assert claims["authorization"] == {claim: "id-7"}
    assert claims["iss"] == claims["sub"]
    assert claims["exp"] - claims["iat"] == 3600
    assert body[expiry_key] == claims["exp"] * 1000
    assert 3000 < body["expires_in"] <= claims["exp"] - time.time() + 2
    assert 0 < body["refresh_after"] < body["expires_in"]


def test_a_fleet_readers_token_verifies_with_pyjwt(service, published_keys):
    token = requests.get(f"{service.http}/token/fleet_reader", timeout=10).json()["token"]
    key = published_keys.get_signing_key_from_jwt(token).key
    claims = jwt.decode(token, key, algorithms=["RS256"], audience=AUDIENCE)
    assert set(claims["authorization"].values()) == {"*"}


@pytest.mark.parametrize("path", ["driver/*", "driver/%2A", "driver/a%2Fb", "driver/a/b", "driver/", "server", "x/y"])
def test_no_route_gives_a_wildcard_or_a_servers_token(service, path):
    answer = requests.get(f"{service.http}/token/{path}", timeout=10)
    assert answer.status_code in (400, 404), answer.text
    assert answer.json()["error"]["message"]


def test_an_unknown_path_is_a_problem_beside_an_engine_too(service):
    answer = requests.get(f"{service.http}/nothing/here", timeout=10)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "not_found"
    # What is below the engine's path stays the engine's.
    assert requests.get(f"{service.http}/v1/nothing", timeout=10).json()["error"]["status"] == "NOT_FOUND"


def test_the_published_keys_are_public_halves_only(service):
    for key in requests.get(f"{service.http}/.well-known/jwks.json", timeout=10).json()["keys"]:
        assert set(key) <= {"kty", "alg", "use", "kid", "n", "e"}


@pytest.fixture
def forger(service, vehicle):
    return Forger(service.account("driver"), {"vehicleid": vehicle})


def over_rest(service, token, vehicle):
    return service.rest("GET", f"vehicles/{vehicle}", token)


def over_grpc(service, token, vehicle):
    return clients.with_token(service, token).vehicles.get_vehicle(
        fleet.GetVehicleRequest(name=f"providers/{service.provider}/vehicles/{vehicle}")
    )


@pytest.mark.parametrize("header", [{}, {"kid": LEAVE_OUT}, {"typ": LEAVE_OUT}], ids=["kid", "no kid", "no typ"])
def test_tokens_by_pyjwt_are_taken(service, vehicle, forger, header):
    token = forger.token(header=header)
    assert over_rest(service, token, vehicle).status_code == 200
    assert over_grpc(service, token, vehicle).name.endswith(vehicle)


UNAUTHENTICATED, DENIED = ("UNAUTHENTICATED", 401), ("PERMISSION_DENIED", 403)
NOW = time.time

BAD_TOKENS = {
    "payload changed": (lambda f: f.changed_payload(exp=int(NOW()) + 3000), UNAUTHENTICATED, "SIGNATURE_INVALID"),
    "signature changed": (lambda f: f.changed_signature(), UNAUTHENTICATED, "SIGNATURE_INVALID"),
    "another key under the same kid": (lambda f: f.token(key=new_rsa_key()), UNAUTHENTICATED, "SIGNATURE_INVALID"),
    "expired": (
        lambda f: f.token(iat=int(NOW()) - 3700, exp=int(NOW()) - 100), UNAUTHENTICATED, "TOKEN_EXPIRED"),
    "issued far ahead": (
        lambda f: f.token(iat=int(NOW()) + 1200, exp=int(NOW()) + 3000), UNAUTHENTICATED, "TOKEN_NOT_YET_VALID"),
    "issued long ago": (
        lambda f: f.token(iat=int(NOW()) - 9000, exp=int(NOW()) + 600), UNAUTHENTICATED, "TOKEN_TOO_OLD"),
    "an end before its begin": (
        lambda f: f.token(iat=int(NOW()) + 400, exp=int(NOW()) + 300), UNAUTHENTICATED, "TOKEN_MALFORMED"),
    "two hours of life": (
        lambda f: f.token(exp=int(NOW()) + 7200), UNAUTHENTICATED, "TOKEN_EXPIRES_TOO_LATE"),
    "audience of another service": (
        lambda f: f.token(aud="https://example.com/"), UNAUTHENTICATED, "AUDIENCE_MISMATCH"),
    "audience without its slash": (
        lambda f: f.token(aud=AUDIENCE.rstrip("/")), UNAUTHENTICATED, "AUDIENCE_MISMATCH"),
    "audience as a list": (lambda f: f.token(aud=[AUDIENCE]), UNAUTHENTICATED, "TOKEN_MALFORMED"),
    "empty audience": (lambda f: f.token(aud=[]), UNAUTHENTICATED, "TOKEN_MALFORMED"),
    "no expiry": (lambda f: f.token(exp=LEAVE_OUT), UNAUTHENTICATED, "TOKEN_MALFORMED"),
    "expiry of 1e300": (
        lambda f: f.signed_parts(f.header(), b'{"iss":"a","sub":"a","aud":"a","iat":0,"exp":1e300}'),
        UNAUTHENTICATED, "TOKEN_MALFORMED"),
    "header number of 1e300": (
        lambda f: f.signed_parts(b'{"alg":"RS256","x":1e300,"kid":"none"}', f.claims()), UNAUTHENTICATED, "KEY_UNKNOWN"),
    "unknown kid": (lambda f: f.token(header={"kid": "0" * 40}), UNAUTHENTICATED, "KEY_UNKNOWN"),
    "kid is a number": (
        lambda f: f.signed_parts(f.header(kid=7), f.claims()), UNAUTHENTICATED, "TOKEN_MALFORMED"),
    "no kid and a stranger's account": (
        lambda f: f.token(key=new_rsa_key(), header={"kid": LEAVE_OUT}, iss="a@b.c", sub="a@b.c"),
        UNAUTHENTICATED, "KEY_UNKNOWN"),
    "another account's name": (
        lambda f: f.token(
            iss="server@demo-fleet.iam.gserviceaccount.com", sub="server@demo-fleet.iam.gserviceaccount.com"),
        UNAUTHENTICATED, "ISSUER_MISMATCH"),
    "subject differs": (lambda f: f.token(sub="somebody@else"), UNAUTHENTICATED, "ISSUER_MISMATCH"),
    "algorithm none": (lambda f: f.unsigned(), UNAUTHENTICATED, "ALGORITHM_NOT_ALLOWED"),
    "algorithm NONE": (lambda f: f.unsigned("NONE"), UNAUTHENTICATED, "ALGORITHM_NOT_ALLOWED"),
    "RS256 without a signature": (lambda f: f.token().rsplit(".", 1)[0] + ".", UNAUTHENTICATED, "SIGNATURE_INVALID"),
    "HS256 with the public key": (
        lambda f: f.hs256_with_the_public_key(), UNAUTHENTICATED, "ALGORITHM_NOT_ALLOWED"),
    "RS512": (
        lambda f: f.token(algorithm="RS512", header={"alg": "RS512"}), UNAUTHENTICATED, "ALGORITHM_NOT_ALLOWED"),
    "ES256": (
        lambda f: f.token(key=new_ec_key(), algorithm="ES256", header={"alg": "ES256"}),
        UNAUTHENTICATED, "ALGORITHM_NOT_ALLOWED"),
    "critical header": (
        lambda f: f.signed_parts(f.header(crit=["exp"]), f.claims()),
        UNAUTHENTICATED, "CRITICAL_HEADER_NOT_SUPPORTED"),
    "header key twice": (
        lambda f: f.signed_parts(b'{"alg":"none","alg":"RS256"}', f.claims()), UNAUTHENTICATED, "TOKEN_MALFORMED"),
    "padding": (lambda f: f.token() + "==", UNAUTHENTICATED, "TOKEN_MALFORMED"),
    "two parts": (lambda f: f.token().rsplit(".", 1)[0], UNAUTHENTICATED, "TOKEN_MALFORMED"),
    "five parts": (lambda f: f.token() + ".a.b", UNAUTHENTICATED, "TOKEN_MALFORMED"),
    "deep payload": (
        lambda f: f.signed_parts(f.header(), b"[" * 4000 + b"]" * 4000), UNAUTHENTICATED, "TOKEN_MALFORMED"),
    "not a token": (lambda f: "ya29.opaque", UNAUTHENTICATED, "TOKEN_MALFORMED"),
    "claims of a wrong type": (
        lambda f: f.token(authorization={"vehicleid": 7}), UNAUTHENTICATED, "CLAIMS_INVALID"),
    "claims that exclude each other": (
        lambda f: f.token(authorization={"trackingid": "a", "taskid": "b"}), UNAUTHENTICATED, "CLAIMS_INVALID"),
    "no claims": (lambda f: f.token(authorization=LEAVE_OUT), DENIED, "CLAIMS_MISSING"),
    "empty claims": (lambda f: f.token(authorization={}), DENIED, "CLAIMS_MISSING"),
    "another vehicle": (lambda f: f.token(authorization={"vehicleid": "other"}), DENIED, "CLAIM_MISMATCH"),
    "another kind of id": (
        lambda f: f.token(authorization={"tripid": f.authorization["vehicleid"]}), DENIED, "CLAIM_MISMATCH"),
    "none": (lambda f: None, UNAUTHENTICATED, "TOKEN_MISSING"),
}


@pytest.mark.parametrize(("make", "status", "reason"), BAD_TOKENS.values(), ids=BAD_TOKENS)
def test_bad_token_is_refused_on_both_wires(service, vehicle, forger, make, status, reason):
    token = make(forger)
    word, code = status

    answer = over_rest(service, token, vehicle)
    assert (answer.status_code, *refusal(answer)) == (code, word, reason)

    expected = exceptions.Unauthenticated if code == 401 else exceptions.PermissionDenied
    with pytest.raises(expected) as caught:
        over_grpc(service, token, vehicle)
    assert caught.value.reason == reason
    assert caught.value.domain == "fleetengine.googleapis.com"
    if token and len(token) > 40:
        assert token[:40] not in caught.value.message + answer.text, "an answer never repeats the token"


def test_another_providers_resources_are_out_of_reach(service, vehicle, forger):
    answer = requests.get(
        f"{service.http}/v1/providers/other-fleet/vehicles/{vehicle}",
        headers={"Authorization": f"Bearer {forger.token()}"}, timeout=10,
    )
    assert (answer.status_code, *refusal(answer)) == (403, "PERMISSION_DENIED", "PROVIDER_MISMATCH")


def test_two_credentials_are_not_chosen_from(service, vehicle, forger):
    token = forger.token()
    answer = service.rest("GET", f"vehicles/{vehicle}", headers={"Authorization": f"Bearer {token} {token}"})
    assert (answer.status_code, *refusal(answer)) == (401, "UNAUTHENTICATED", "TOKEN_MALFORMED")


def test_an_overlong_token_is_refused_and_the_service_lives_on(service, vehicle, forger):
    for size, status, limit in (
        (17_000, 401, "12288 bytes"), (40_000, 431, "limits.header_bytes"), (200_000, 431, "limits.header_bytes"),
        (10_000_000, 431, "limits.header_bytes"),
    ):
        try:
            answer = over_rest(service, "a" * size, vehicle)
            assert answer.status_code == status
            assert limit in answer.json()["error"]["message"]
        except requests.ConnectionError:
            assert size > 40_000  # The server may hang up on a header that it does not want to read.
        # Over gRPC the transport closes the connection; the client would try again for its whole deadline.
        with pytest.raises(exceptions.GoogleAPICallError):
            clients.with_token(service, "a" * min(size, 200_000)).vehicles.get_vehicle(
                fleet.GetVehicleRequest(name=f"providers/{service.provider}/vehicles/{vehicle}"), retry=None, timeout=3
            )
    assert over_rest(service, forger.token(), vehicle).status_code == 200
    assert over_grpc(service, forger.token(), vehicle).maximum_capacity == 4
