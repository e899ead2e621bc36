# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The same credential files, loaded by google-auth and by Fleetpass, lead to the same requests."""

import base64
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import urllib.parse

import google.auth
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import _helpers, aws, identity_pool, pluggable
from google.auth.compute_engine import credentials as compute_engine

PACKAGE = pathlib.Path(os.environ.get("FLEETPASS_PACKAGE", pathlib.Path(__file__).parents[2]))
SCOPES = ["https://www.googleapis.com/auth/cloud-platform", "https://www.googleapis.com/auth/userinfo.email"]
POOL = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/p"
WORKFORCE = "//iam.googleapis.com/locations/global/workforcePools/pool/providers/p"
ACCOUNT = "driver-signer@acme-fleet.iam.gserviceaccount.com"
IMPERSONATION = f"https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{ACCOUNT}:generateAccessToken"
AWS = "http://169.254.169.254/latest"
USER = {
    "type": "authorized_user",
    "client_id": "client",
    "client_secret": "client secret/+",
    "refresh_token": "1//refresh",
    "quota_project_id": "billed",
}


def service_account(**more):
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {
        "type": "service_account",
        "project_id": "acme-fleet",
        "private_key_id": "4f1c",
        "private_key": pem.decode(),
        "client_email": ACCOUNT,
        "client_id": "1",
        "token_uri": "https://oauth2.googleapis.com/token",
        **more,
    }


def external(source, **more):
    return {
        "type": "external_account",
        "audience": POOL,
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "credential_source": source,
        **more,
    }


URL_SOURCE = {
    "url": "http://localhost:5000/token",
    "headers": {"X-Identity": "yes"},
    "format": {"type": "json", "subject_token_field_name": "token"},
}
AWS_SOURCE = {
    "environment_id": "aws1",
    "region_url": f"{AWS}/meta-data/placement/availability-zone",
    "url": f"{AWS}/meta-data/iam/security-credentials",
    "imdsv2_session_token_url": f"{AWS}/api/token",
    "regional_cred_verification_url": "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
}
# Gives as its token what it was called with, of another type than the file names.
PROGRAM = (
    "/bin/sh -c 'V=GOOGLE_EXTERNAL_ACCOUNT; "
    + r'''printf "{\"version\":1,\"success\":true,\"id_token\":\"%s\",'''
    + r'''\"token_type\":\"urn:ietf:params:oauth:token-type:id_token\"}" '''
    + r'''"$1 $0|$(env | grep ^$V | LC_ALL=C sort | tr "\n" "|")"' "a b" c\ d'''
)
REGIONAL = "https://sts.us-central1.rep.googleapis.com/v1/token"
PRIVATE_IMPERSONATION = IMPERSONATION.replace("iamcredentials.", "iamcredentials-corp.p.")
UNIVERSE = "fleet-universe.goog"
UNIVERSE_TOKEN_URL = f"https://sts.{UNIVERSE}/v1/token"
UNIVERSE_IMPERSONATION = IMPERSONATION.replace("googleapis.com", UNIVERSE)
STS_ANSWER = json.dumps({"access_token": "MARKED-sts", "expires_in": 3600, "token_type": "Bearer"})
IMPERSONATION_ANSWER = json.dumps({"accessToken": "MARKED-impersonated", "expireTime": "2026-01-01T01:00:00Z"})
ANSWERS = {
    f"POST {REGIONAL}": STS_ANSWER,
    f"POST {UNIVERSE_TOKEN_URL}": STS_ANSWER,
    f"POST {PRIVATE_IMPERSONATION}": IMPERSONATION_ANSWER,
    f"POST {UNIVERSE_IMPERSONATION}": IMPERSONATION_ANSWER,
    "GET http://localhost:5000/token": json.dumps({"token": "subject token"}),
    "GET http://localhost:5000/plain": "subject token, a plain one\n",
    f"PUT {AWS}/api/token": "session",
    f"GET {AWS}/meta-data/placement/availability-zone": "us-east-2b",
    f"GET {AWS}/meta-data/iam/security-credentials": "fleet-role",
    f"GET {AWS}/meta-data/iam/security-credentials/fleet-role": json.dumps(
        {"AccessKeyId": "AKIDEXAMPLE", "SecretAccessKey": "aws secret", "Token": "aws+session/="}
    ),
}
ALLOWED = {"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "1"}
AWS_TYPE = {"subject_token_type": "urn:ietf:params:aws:token-type:aws4_request"}
AWS_KEYS = {"AWS_ACCESS_KEY_ID": "AKIDVARIABLE", "AWS_SECRET_ACCESS_KEY": "secret of a variable"}
CASES = {
    "service-account": service_account(),
    "user": USER,
    "impersonated-by-user": {
        "type": "impersonated_service_account",
        "service_account_impersonation_url": IMPERSONATION,
        "delegates": ["projects/-/serviceAccounts/between@acme-fleet.iam.gserviceaccount.com"],
        "source_credentials": USER,
    },
    "impersonated-by-account": {
        "type": "impersonated_service_account",
        "service_account_impersonation_url": IMPERSONATION,
        "source_credentials": service_account(),
    },
    "external-url": external(URL_SOURCE),
    "external-url-text": external({"url": "http://localhost:5000/plain"}),
    "external-url-named-text": external({"url": "http://localhost:5000/plain", "format": {"type": "text"}}),
    "external-impersonating": external(
        URL_SOURCE,
        service_account_impersonation_url=IMPERSONATION,
        service_account_impersonation={"token_lifetime_seconds": 2800},
    ),
    "external-workforce": external(URL_SOURCE, audience=WORKFORCE, workforce_pool_user_project="billed"),
    "external-client": external(
        URL_SOURCE, audience=WORKFORCE, workforce_pool_user_project="billed", client_id="c", client_secret="s"
    ),
    "external-aws": external(AWS_SOURCE, **AWS_TYPE),
    "external-aws-fips": external(
        {
            **AWS_SOURCE,
            "regional_cred_verification_url": AWS_SOURCE["regional_cred_verification_url"].replace("sts.", "sts-fips."),
        },
        **AWS_TYPE,
    ),
    "external-aws-keys": external(AWS_SOURCE, **AWS_TYPE),
    "external-aws-variables": external(AWS_SOURCE, **AWS_TYPE),
    "external-aws-no-urls": external(
        {name: AWS_SOURCE[name] for name in ("environment_id", "regional_cred_verification_url")}, **AWS_TYPE
    ),
    "external-regional": external(URL_SOURCE, token_url=REGIONAL),
    "external-private": external(URL_SOURCE, service_account_impersonation_url=PRIVATE_IMPERSONATION),
    "external-nulls": external({**URL_SOURCE, "file": None}, service_account_impersonation_url=None),
    "external-program": external({"executable": {"command": PROGRAM}}),
    "external-user": {
        "type": "external_account_authorized_user",
        "audience": WORKFORCE,
        "client_id": "client",
        "client_secret": "client secret/+",
        "refresh_token": "1//refresh",
        "token_url": "https://sts.googleapis.com/v1/oauthtoken",
        "token_info_url": "https://sts.googleapis.com/v1/introspect",
    },
    "universe-external": external(
        URL_SOURCE,
        universe_domain=UNIVERSE,
        token_url=UNIVERSE_TOKEN_URL,
        service_account_impersonation_url=UNIVERSE_IMPERSONATION,
    ),
    # Elsewhere no endpoint takes an assertion: what the account signs by itself is its access token.
    "universe-impersonated-by-account": {
        "type": "impersonated_service_account",
        "universe_domain": UNIVERSE,
        "service_account_impersonation_url": UNIVERSE_IMPERSONATION,
        "source_credentials": service_account(universe_domain=UNIVERSE),
    },
    "metadata": None,
}
# What the environment holds for a case, beside what allows programs.
VARIABLES = {
    "external-aws-keys": {**AWS_KEYS, "AWS_SESSION_TOKEN": "session/+="},
    "external-aws-variables": {**AWS_KEYS, "AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "us-west-2"},
    "external-aws-no-urls": {**AWS_KEYS, "AWS_DEFAULT_REGION": "us-west-2"},
}


class Answer:
    status = 200

    def __init__(self, text):
        self.data = text.encode()
        self.headers = {"metadata-flavor": "Google", "content-type": "application/json"}


class Recorder:
    """Takes the place of google-auth's transport."""

    def __init__(self):
        self.requests = []

    def __call__(self, url, method="GET", body=None, headers=None, timeout=None, **_):
        body = body.decode() if isinstance(body, bytes) else body or ""
        headers = {
            name.lower(): value.decode() if isinstance(value, bytes) else value
            for name, value in (headers or {}).items()
        }
        self.requests.append({"method": method, "url": url, "headers": headers, "body": body})
        if text := ANSWERS.get(f"{method} {url}"):
            answer = Answer(text)
            if url.startswith(AWS) and not text.startswith("{"):
                answer.headers["content-type"] = "text/plain"
            return answer
        if "recursive=true" in url:
            return Answer(json.dumps({"email": ACCOUNT, "scopes": [], "aliases": ["default"]}))
        if url.endswith(":signBlob"):
            return Answer(json.dumps({"keyId": "k", "signedBlob": base64.b64encode(b"signed").decode()}))
        if url.startswith("https://iamcredentials."):
            return Answer(IMPERSONATION_ANSWER)
        if url.startswith("https://sts."):
            return Answer(STS_ANSWER)
        return Answer(json.dumps({"access_token": "MARKED-access", "expires_in": 3600, "token_type": "Bearer"}))


def set_variables(variables, monkeypatch):
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_")):
            monkeypatch.delenv(name)
    for name, value in {**ALLOWED, **variables}.items():
        monkeypatch.setenv(name, value)


def loaded(file, scopes):
    """The credentials of a file as google-auth has them."""
    if file is None:
        return compute_engine.Credentials(scopes=scopes)
    if file["type"] == "external_account":
        # The general way would also ask for the project's number.
        kinds = {"environment_id": aws, "executable": pluggable}
        kind = next((kinds[name] for name in kinds if name in file["credential_source"]), identity_pool)
        return kind.Credentials.from_info(file, scopes=scopes).with_quota_project_from_environment()
    return google.auth.load_credentials_from_dict(file, scopes=scopes)[0]


def theirs(name, monkeypatch):
    monkeypatch.setattr(_helpers, "utcnow", lambda: datetime.datetime(2026, 1, 1))
    set_variables(VARIABLES.get(name, {}), monkeypatch)
    recorder = Recorder()
    loaded(CASES[name], SCOPES).refresh(recorder)
    return recorder.requests


def without_times(token):
    header = jwt.get_unverified_header(token)
    claims = jwt.decode(token, options={"verify_signature": False})
    claims["life"] = claims.pop("exp") - claims.pop("iat")
    return header, claims


def fields(request):
    """What a request says, without what may differ: order, version headers, and the moment of signing."""
    url = urllib.parse.urlsplit(request["url"])
    headers = {
        name: value
        for name, value in request["headers"].items()
        if name in ("authorization", "x-goog-user-project", "metadata-flavor", "x-identity")
        or name.startswith("x-aws")
    }
    kind, _, token = headers.get("authorization", "").partition(" ")
    if token.count(".") == 2:
        headers["authorization"] = kind, without_times(token)
    body = request["body"]
    if body.startswith("{"):
        body = {name: value for name, value in json.loads(body).items() if value not in (None, [])}
    elif body:
        body = dict(urllib.parse.parse_qsl(body, strict_parsing=True))
        if "assertion" in body:
            body["assertion"] = without_times(body["assertion"])
        if "options" in body:
            body["options"] = json.loads(urllib.parse.unquote(body["options"]))
        if body.get("subject_token", "").startswith("%7B"):
            subject = json.loads(urllib.parse.unquote(body["subject_token"]))
            subject["headers"] = {entry["key"].lower(): entry["value"] for entry in subject["headers"]}
            # Fleetpass also signs the audience's header, which binds the request to it; google-auth adds it unsigned.
            # That the signature is right is checked where the header sets are equal, in the Swift tests.
            subject["headers"]["authorization"] = subject["headers"]["authorization"].split(", ")[0]
            body["subject_token"] = subject
    # The account that `default` stands for may be named by its e-mail.
    path = url.path.replace(f"/service-accounts/{ACCOUNT}/", "/service-accounts/default/")
    return request["method"], url.scheme, url.netloc, path, urllib.parse.parse_qs(url.query), headers, body


def compared(requests):
    """The requests that count: google-auth asks metadata servers for more than a token needs, and for some things twice."""
    different = []
    for request in requests:
        counts = "metadata.google.internal" not in request["url"] or "/token" in request["url"]
        if counts and fields(request) not in different:
            different.append(fields(request))
    return different


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    if shutil.which("swift") is None or not list(PACKAGE.glob(".build/debug/*.xctest")):
        pytest.skip(f"needs the tests of {PACKAGE} built with swift build --build-tests")
    folder = tmp_path_factory.mktemp("cases")
    for name, file in CASES.items():
        variables = {**ALLOWED, "PATH": os.environ["PATH"], **VARIABLES.get(name, {})}
        case = {"scopes": SCOPES, "answers": ANSWERS, "variables": variables}
        if file is None:
            case["variables"]["GCE_METADATA_HOST"] = "metadata.google.internal"
        else:
            case["file"] = file
        (folder / f"{name}.case.json").write_text(json.dumps(case))
    run = subprocess.run(
        ["swift", "test", "--skip-build", "--filter", "CredentialTraceTests"],
        cwd=PACKAGE,
        env={**os.environ, "FLEETPASS_CREDENTIAL_CASES": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    return {name: json.loads((folder / f"{name}.trace.json").read_text()) for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_both_libraries_send_the_same_requests(name, ours, monkeypatch):
    expected = compared(theirs(name, monkeypatch))
    assert expected
    assert compared(ours[name]) == expected
