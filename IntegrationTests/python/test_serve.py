# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""`serve tokens` from its configuration file: who is let in, what it says of itself, how it ends, how keys change."""

import concurrent.futures
import contextlib
import ctypes
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import struct
import subprocess
import threading
import time
from pathlib import Path

import httpx
import jwt
import pytest
import requests
from cryptography.hazmat.primitives import serialization

from forgery import new_rsa_key
from service import AUDIENCE, PROGRAM, Program, Service, run
from stand_ins import DocumentServer, Webhook

SECRET = "a-long-secret-that-must-never-show-7f3a"
BASE = "provider: demo-fleet\ndata: .\nkeys: service-accounts\ncallers:\n  file: callers.json\n"
READY = re.compile(r"^ready http=(?P<http>https?://127\.0\.0\.1:\d+) provider=demo-fleet$")


class TokenServer(Program):
    """One `serve tokens`."""

    patience = 40

    def __init__(self, folder, settings="", environment=None, base=BASE):
        self.folder = folder
        config = folder / "tokens.yaml"
        config.write_text(base + settings, encoding="utf-8")
        super().__init__(
            READY, "serve", "tokens", "--config", config,
            environment={"FLEETPASS_LISTEN_PORT": "0", **(environment or {})})

    def get(self, path, secret=SECRET, **options):
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        headers |= options.pop("headers", {})
        return requests.get(self.http + path, headers=headers, timeout=10, **options)


@pytest.fixture
def folder(tmp_path, service):
    shutil.copytree(service.data / "service-accounts", tmp_path / "service-accounts")
    callers = [{"name": "app", "secret_sha256": hashlib.sha256(SECRET.encode()).hexdigest(), "roles": ["driver"]}]
    (tmp_path / "callers.json").write_text(json.dumps({"callers": callers}), encoding="utf-8")
    return tmp_path


def test_only_callers_that_are_known_get_tokens_and_only_their_roles(folder):
    server = TokenServer(folder)
    assert server.get("/token/driver/veh-1", secret=None).status_code == 401
    assert server.get("/token/driver/veh-1", secret="wrong").status_code == 401
    assert server.get("/token/consumer/trip-1").status_code == 403
    token = server.get("/token/driver/veh-1").json()["jwt"]
    keys = jwt.PyJWKClient(f"{server.http}/.well-known/jwks.json", timeout=10)
    claims = jwt.decode(
        token, keys.get_signing_key_from_jwt(token).key, algorithms=["RS256"], audience=AUDIENCE)
    assert claims["authorization"] == {"vehicleid": "veh-1"}
    code, output, _ = server.stop()
    assert (code, output) == (0, "")
    decisions = [
        json.loads(line)["record"]["decision"]
        for line in run("audit", "export", "--data", folder).stdout.decode().splitlines()
    ]
    assert decisions == ["refused", "granted"]


def test_a_log_that_nobody_reads_any_more_does_not_end_it(folder):
    server = TokenServer(folder, "log: {level: debug}\n")
    server.process.stderr.close()
    for _ in range(3):
        # Each is told in the log.
        assert server.get("/token/driver/veh-1").status_code == 200
        assert server.get("/token/driver/veh-1", secret="wrong").status_code == 401
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=40) == 0


def test_sighup_does_not_end_it(folder):
    server = TokenServer(folder)
    server.process.send_signal(signal.SIGHUP)
    # One that was to end by it would not answer, or not say how it ended.
    assert server.get("/healthz").status_code == 200
    assert server.get("/token/driver/veh-1").status_code == 200
    assert server.stop()[0] == 0


def test_who_is_taken_out_of_the_callers_file_gets_nothing_within_5_seconds(folder):
    (folder / "admins.json").write_text((folder / "callers.json").read_text().replace(', "roles": ["driver"]', ""))
    server = TokenServer(folder, "admin: {callers_file: admins.json}\n")
    paths = {"callers.json": "/token/driver/veh-1", "admins.json": "/admin/api/keys"}
    other = "another-secret-that-nobody-was-told-5b1e"
    for name, path in paths.items():
        assert server.get(path).status_code == 200
        text = (folder / name).read_text()
        digests = [hashlib.sha256(secret.encode()).hexdigest() for secret in (SECRET, other)]
        assert digests[0] in text
        (folder / "new").write_text(text.replace(*digests))
        (folder / "new").replace(folder / name)
    deadline = time.monotonic() + 5
    while any(server.get(path).status_code != 401 for path in paths.values()):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert all(server.get(path, secret=other).status_code == 200 for path in paths.values())
    code, _, errors = server.stop()
    assert code == 0 and errors.count("callers read again") == 2, errors


def test_an_entry_that_was_made_lets_in_its_secret_and_no_other(folder):
    def make(*options):
        result = run("callers", "new", "dispatch", *options)
        assert result.returncode == 0, result.stderr
        secret, entry = result.stdout.decode().splitlines()
        secret, entry = secret.removeprefix("secret: "), json.loads(entry.removeprefix("entry: "))
        assert secret not in json.dumps(entry) + result.stderr.decode()
        return secret, {"callers": [entry]}, result.stderr.decode()

    caller, callers, told = make("--role", "driver")
    assert "that callers.file or --callers names" in told
    administrator, admins, told = make("--administrator")
    assert "that admin.callers_file names" in told
    (folder / "callers.json").write_text(json.dumps(callers), encoding="utf-8")
    (folder / "admins.json").write_text(json.dumps(admins), encoding="utf-8")
    server = TokenServer(folder, "admin: {callers_file: admins.json}\n")
    secrets = [caller, administrator, make("--role", "driver")[0], callers["callers"][0]["secret_sha256"]]
    for path, status in [("/token/driver/veh-1", 200), ("/token/consumer/trip-1", 403)]:
        assert [server.get(path, secret=secret).status_code for secret in secrets] == [status, 401, 401, 401]
    assert [server.get("/admin/api/keys", secret=secret).status_code for secret in secrets] == [401, 200, 401, 401]
    assert server.stop()[0] == 0


def variables(server):
    """What the program that runs now was begun with."""
    return Path(f"/proc/{server.process.pid}/environ").read_text(encoding="utf-8").split("\0")


def test_it_tries_once_whether_openssl_signs_faster_without_some_instructions(folder):
    try:
        flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)[1].split()
    except (OSError, TypeError):
        flags = []
    if not {"adx", "avx2"} <= set(flags) or "avx512ifma" in flags:
        pytest.skip("this processor leaves OpenSSL no choice")
    trial = "FLEETPASS_SIGNING_TRIAL="
    server = TokenServer(folder)
    begun = variables(server)
    assert any(variable.startswith(trial) for variable in begun)
    # Either it stays so, or the program began once more without.
    assert ("OPENSSL_ia32cap=:~0x80000" in begun) != (trial + "over" in begun)
    assert server.get("/token/driver/veh-1").status_code == 200
    name = Path(f"/proc/{server.process.pid}/comm").read_text(encoding="utf-8").strip()
    assert name == Path(PROGRAM).name[:15]
    code, _, errors = server.stop()
    assert code == 0 and trial not in errors

    server = TokenServer(folder, environment={"OPENSSL_ia32cap": ":"})
    begun = variables(server)
    assert "OPENSSL_ia32cap=:" in begun and not any(variable.startswith(trial) for variable in begun)
    assert server.stop()[0] == 0

    server = TokenServer(folder, environment={"FLEETPASS_SIGNING_TRIAL": "what nobody measured"})
    assert server.get("/token/driver/veh-1").status_code == 200
    code, _, errors = server.stop()
    assert code == 0 and "SIGNING_TRIAL" not in errors


def test_tokens_that_are_wanted_at_once_are_each_as_good_as_one_alone(folder):
    server = TokenServer(folder)
    names = [f"veh-{number}" for number in range(64)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=32) as pool:
        answers = list(pool.map(lambda name: server.get(f"/token/driver/{name}"), names))
    keys = jwt.PyJWKClient(f"{server.http}/.well-known/jwks.json", timeout=10)
    for name, answer in zip(names, answers):
        token = answer.json()["jwt"]
        key = keys.get_signing_key_from_jwt(token).key
        claims = jwt.decode(token, key, algorithms=["RS256"], options={"verify_aud": False})
        assert claims["authorization"] == {"vehicleid": name}
    code, _, errors = server.stop()
    # With Intel's multi-buffer library, its name follows.
    assert code == 0 and re.search(r"local keys sign by (OpenSSL 3\.\d+\.\d+|swift-crypto)", errors)


def test_more_requests_than_places_are_turned_away_and_the_server_goes_on(folder):
    server = TokenServer(folder, "limits:\n  pending: 1\n")
    answers = []

    def ask(caller):
        with requests.Session() as session:
            session.headers["Authorization"] = f"Bearer {SECRET}"
            for number in range(25):
                answer = session.get(f"{server.http}/token/driver/veh-{caller}-{number}", timeout=30)
                answers.append((answer.status_code, answer.headers.get("Retry-After")))

    callers = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(answers) == 16 * 25
    assert {status for status, _ in answers} == {200, 503}
    assert all((status == 503) == (retry_after == "1") for status, retry_after in answers)
    assert server.get("/token/driver/veh-1").status_code == 200
    assert server.get("/readyz", secret=None).status_code == 200


def test_requests_do_not_wait_for_one_another_at_the_policys_webhook(folder):
    count = 30
    webhook = Webhook(count)
    (folder / "hook.secret").write_text("a-secret-of-the-webhook-that-is-long-enough", encoding="utf-8")
    (folder / "policy.yaml").write_text(
        f"version: 1\nwebhook: {{url: '{webhook.url}', timeout: 20s}}\nrules:\n"
        "  - {name: ask, when: {issuer: static}, grant: driver, for: webhook}\n", encoding="utf-8")
    server = TokenServer(folder, "policy: {file: policy.yaml, secret_file: hook.secret}\n")
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        answers = pool.map(lambda number: server.get(f"/token/driver/veh-{number}").status_code, range(count))
        assert list(answers) == [200] * count
    assert server.stop()[0] == 0
    webhook.shutdown()


def test_supervisors_and_prometheus_are_told(folder):
    server = TokenServer(folder)
    assert server.get("/healthz", secret=None).status_code == 200
    assert server.get("/readyz", secret=None).status_code == 200
    assert server.get("/token/driver/veh-1").status_code == 200
    answer = server.get("/metrics", secret=None)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert 'fleetpass_token_requests_total{role="driver",outcome="granted"} 1' in lines
    assert 'fleetpass_canary_up{role="driver"} 1' in lines
    for line in lines:
        assert re.match(r'^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [0-9.e+-]+)$', line), line
    server.stop()


def test_a_role_that_is_granted_and_not_served_is_told_at_the_start_and_for_good(folder, service):
    for path in (folder / "service-accounts").iterdir():
        if path.name != "driver.json":
            path.unlink()
    callers = folder / "callers.json"
    callers.write_text(callers.read_text().replace('["driver"]', '["driver", "consumer"]'), encoding="utf-8")
    server = TokenServer(folder)
    assert server.get("/token/driver/veh-1").status_code == 200
    answer = requests.post(
        server.http + "/v1/tokens", json={"role": "consumer", "trip": "trip-1"}, timeout=10,
        headers={"Authorization": f"Bearer {SECRET}"})
    assert (answer.status_code, answer.json()["code"]) == (501, "role_not_served")
    assert "retry-after" not in answer.headers
    code, _, errors = server.stop()
    assert code == 0
    assert "a role is granted that nothing signs for" in errors and "consumer.json" in errors


def test_users_who_get_no_token_without_rules_are_told_once_at_the_start(folder):
    (folder / "hmac").write_text(os.urandom(32).hex(), encoding="utf-8")
    session = "  session: {backend: {issuer: acme, audience: fleet, secret_file: hmac}}\n"
    warning = "callers have no roles, and there are no rules"
    server = TokenServer(folder, session)
    claims = {"iss": "acme", "sub": "dora", "aud": "fleet", "iat": int(time.time()), "exp": int(time.time()) + 300}
    user = jwt.encode(claims, (folder / "hmac").read_text(), algorithm="HS256")
    assert [server.get("/token/driver/veh-1", secret=secret).status_code for secret in (user, SECRET)] == [403, 200]
    code, _, errors = server.stop()
    assert code == 0 and errors.count(warning) == 1, errors
    assert "who is let in by callers.session.backend has no roles" in errors and "policy.file" in errors
    (folder / "policy.yaml").write_text(
        "version: 1\nrules:\n  - {name: all, when: {issuer: backend}, grant: driver, for: any}\n", encoding="utf-8")
    server = TokenServer(folder, session + "policy: {file: policy.yaml}\n")
    assert server.get("/token/driver/veh-1", secret=user).status_code == 200
    code, _, errors = server.stop()
    assert code == 0 and warning not in errors


def test_the_audit_names_the_client_for_whom_a_listed_proxy_asks(folder):
    for proxies, address in [(None, "127.0.0.1"), ("192.0.2.0/24", "127.0.0.1"), ("127.0.0.1", "198.51.100.7")]:
        server = TokenServer(folder, environment={"FLEETPASS_LISTEN_PROXIES": proxies} if proxies else None)
        answer = server.get("/token/driver/veh-1", headers={"X-Forwarded-For": "203.0.113.9, 198.51.100.7"})
        assert answer.status_code == 200
        assert server.stop()[0] == 0
        result = run("audit", "search", "--data", folder, "--output", "json")
        assert json.loads(result.stdout.splitlines()[-1])["record"]["address"] == address


def test_a_client_behind_a_proxy_that_guesses_secrets_locks_out_itself_alone(folder):
    (folder / "admins.json").write_text((folder / "callers.json").read_text().replace(', "roles": ["driver"]', ""))
    server = TokenServer(
        folder, "admin: {callers_file: admins.json}\nlimits: {failed_logins: 2/1h}\nlisten: {proxies: 127.0.0.1}\n")

    def status(client, secret):
        return server.get("/admin/api/keys", secret=secret, headers={"X-Forwarded-For": client}).status_code

    assert [status("198.51.100.7", "x" * 40) for _ in range(3)] == [401, 401, 429]
    assert status("198.51.100.7", SECRET) == 429
    assert status("198.51.100.8", SECRET) == 200
    assert server.stop()[0] == 0


def test_a_callers_name_forges_no_field_of_the_log(folder):
    name = "a rule=x reason=none"
    callers = [{"name": name, "secret_sha256": hashlib.sha256(SECRET.encode()).hexdigest(), "roles": ["driver"]}]
    (folder / "callers.json").write_text(json.dumps({"callers": callers}), encoding="utf-8")
    server = TokenServer(folder, "log: {level: debug}\n")
    assert server.get("/token/consumer/trip-1").status_code == 403
    code, _, errors = server.stop()
    assert code == 0, errors
    (line,) = [line for line in errors.splitlines() if "token refused" in line]
    fields = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', line))
    assert fields["caller"] == f'"{name}"' and fields["subject"] == f'"static/{name}"'
    assert fields["role"] == "consumer" and fields["rule"] == "none"
    assert fields["reason"] == '"The caller does not have the role consumer."'


def test_no_secret_shows_anywhere(folder):
    server = TokenServer(folder, "log: {level: debug, format: json}\n")
    tokens = [server.get(f"/token/driver/veh-{number}").json()["jwt"] for number in range(5)]
    answers = [server.get("/token/driver/" + "%2A"), server.get("/token/driver/veh-1?secret=" + SECRET, secret="x" * 99)]
    shown = "".join(answer.text for answer in answers) + server.get("/metrics").text
    _, output, errors = server.stop()
    for line in errors.splitlines():
        assert json.loads(line)["message"]
    shown += output + errors
    stored = b"".join(path.read_bytes() for path in folder.glob("token-server.sqlite*"))
    keys = [json.loads(path.read_text())["private_key"].split("\n")[1] for path in (folder / "service-accounts").iterdir()]
    for secret in [SECRET, *keys, *(part for token in tokens for part in token.split(".")[1:])]:
        assert secret not in shown
        assert secret.encode() not in stored


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("provider: p\ndata: .\nkeys: .\n", "No authenticator is set up"),
        ("provider: p\nlisten:\n  prot: 1\n", "Line 3: there is no setting listen.prot"),
        ("provider: p\ndata: .\nkeys: .\ncallers: {file: c}\nlisten: {host: 0.0.0.0}\n", "set listen.tls"),
    ],
    ids=["no authenticator", "unknown setting", "plain HTTP for others"],
)
def test_it_refuses_to_start_badly(tmp_path, text, message):
    config = tmp_path / "tokens.yaml"
    config.write_text(text, encoding="utf-8")
    result = run("serve", "tokens", "--config", config)
    assert result.returncode == 78
    assert message in result.stderr.decode()


def refused(folder, settings="", base=BASE, **variables):
    """What a start says that ends with 78."""
    config = folder / "tokens.yaml"
    config.write_text(base + settings, encoding="utf-8")
    result = run("serve", "tokens", "--config", config, environment={"FLEETPASS_LISTEN_PORT": "0", **variables})
    assert result.returncode == 78, result.stderr
    assert result.stdout == b"", "nothing is ready"
    return result.stderr.decode()


def test_what_keeps_it_from_starting_is_told_with_what_to_mend(folder):
    (folder / "policy.yaml").write_text(
        "version: 1\nrules:\n  - {name: a, when: {issuer: [static, acme-logn]}, grant: driver, for: assigned}\n",
        encoding="utf-8")
    told = refused(folder, "policy: {file: policy.yaml}\n")
    assert "policy.yaml:3:30: " in told and '"acme-logn"' in told and "There are static." in told
    told = refused(folder, "revocations: {key_file: gone/key.json}\n")
    assert f"{folder}/gone is missing" in told and "revocations.key_file" in told
    told = refused(folder, base=BASE.replace("provider: demo-fleet\n", ""))
    assert "The setting provider is missing" in told and "FLEETPASS_PROVIDER" in told
    told = refused(folder, base=BASE.replace("data: .", "data: gone"))
    assert f"{folder}/gone is missing" in told
    told = refused(folder, FLEETPASS_CALLERS_OIDC_ACME_ISSUER="https://login.example")
    assert "FLEETPASS_CALLERS_OIDC_ACME_ISSUER is for callers.oidc.NAME.issuer" in told
    callers = (folder / "callers.json").read_text(encoding="utf-8")
    (folder / "callers.json").write_text(callers.replace('"roles"', '"slat": "ab", "roles"'), encoding="utf-8")
    assert 'The entry of "app" has a member "slat"' in refused(folder)


def test_an_address_that_cannot_be_listened_on_is_told(folder):
    make_certificate(folder, "any")
    tls = "tls: {certificate: cert.pem, key: key.pem}"
    for host in ("192.0.2.1", "no-such-host.invalid"):
        told = refused(folder, f"listen: {{host: {host}, {tls}}}\n", FLEETPASS_LISTEN_PORT="8443")
        assert host in told and "port 8443" in told and "set listen.host" in told
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = refused(folder, FLEETPASS_LISTEN_PORT=str(port))
    assert told.endswith(f"port {port} of 127.0.0.1 is in use; end the other program, or set listen.port.\n")
    assert "Cancel" not in told and "readiness" not in told


LOWEST_PORT = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None or int(LOWEST_PORT.read_text(encoding="utf-8")) <= 80,
    reason="needs the superuser, to give up what makes a port special")
def test_a_port_that_is_not_for_this_user_is_told(folder):
    config = folder / "tokens.yaml"
    config.write_text(BASE + "listen: {port: 80}\n", encoding="utf-8")
    result = subprocess.run(
        ["setpriv", "--bounding-set", "-net_bind_service", PROGRAM, "serve", "tokens", "--config", config],
        capture_output=True, timeout=60, check=False)
    assert result.returncode == 78, result.stderr
    assert b"port 80 of 127.0.0.1 may not be listened on by this user" in result.stderr


def test_a_data_folder_that_others_may_write_to_is_told(folder):
    for mode, is_told in [(0o700, False), (0o770, True)]:
        folder.chmod(mode)
        code, _, errors = TokenServer(folder).stop()
        assert code == 0, errors
        assert (f"chmod 700 {folder}" in errors) == is_told, errors


class IdentityProvider(DocumentServer):
    """An OpenID provider on this machine: discovery, one key, and ID tokens."""

    def __init__(self):
        self.key = new_rsa_key()
        public = serialization.load_pem_private_key(self.key.encode(), None).public_key()
        self.jwk = {
            **jwt.algorithms.RSAAlgorithm.to_jwk(public, as_dict=True), "use": "sig", "alg": "RS256", "kid": "k1"}
        super().__init__()

    def answer(self, path):
        documents = {
            "/.well-known/openid-configuration": {
                "issuer": self.url, "jwks_uri": self.url + "/keys",
                "id_token_signing_alg_values_supported": ["RS256"],
            },
            "/keys": {"keys": [self.jwk]},
        }
        return 200, documents[path], {}

    def token(self, subject, **claims):
        now = int(time.time())
        payload = {"iss": self.url, "sub": subject, "aud": "fleet", "iat": now, "exp": now + 600, **claims}
        return jwt.encode(payload, self.key, algorithm="RS256", headers={"kid": "k1"})


def test_users_of_an_identity_provider_get_what_they_are_assigned_to(folder):
    provider = IdentityProvider()
    (folder / "policy.yaml").write_text(
        "version: 1\nrules:\n  - {name: shift, when: {issuer: login, claims: {groups: drivers}}, grant: driver, "
        "for: assigned}\n",
        encoding="utf-8",
    )
    server = TokenServer(
        folder,
        f"  oidc:\n    login: {{issuer: '{provider.url}', audience: fleet}}\npolicy: {{file: policy.yaml}}\n"
        "limits: {per_caller: 6/1m}\n",
    )
    dora = provider.token("dora", groups=["drivers"])
    held = ("--data", folder, "--holder", "login/dora", "--vehicle", "veh-1")
    assert server.get("/token/driver/veh-1", dora).status_code == 403
    assert run("assignments", "add", *held).returncode == 0
    assert server.get("/token/driver/veh-1", dora).status_code == 200
    assert server.get("/token/driver/veh-2", dora).status_code == 403
    assert server.get("/token/driver/veh-1", provider.token("dirk", groups=["drivers"])).status_code == 403
    assert server.get("/token/driver/veh-1", provider.token("dora", aud="other")).status_code == 401
    assert run("assignments", "end", *held).returncode == 0
    assert server.get("/token/driver/veh-1", dora).status_code == 403
    for _ in range(2):
        server.get("/token/driver/veh-1", dora)
    limited = server.get("/token/driver/veh-1", dora)
    assert limited.status_code == 429
    assert int(limited.headers["retry-after"]) > 0
    search = ("audit", "search", "--data", folder, "--subject", "dora", "--output", "json")
    found = run(*search, "--kind", "decision").stdout.decode().splitlines()
    records = [json.loads(line)["record"] for line in found]
    assert [record["decision"] for record in records] == ["refused", "granted", *["refused"] * 4]
    assert records[1]["rule"] == "shift"
    assert len(run(*search).stdout.splitlines()) == len(records) + 2, "and what was assigned to dora"
    assert server.stop()[0] == 0
    provider.shutdown()


def make_certificate(folder, name):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
         "-keyout", folder / "new-key.pem", "-out", folder / "new-cert.pem", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True, capture_output=True,
    )
    (folder / "new-key.pem").rename(folder / "key.pem")
    (folder / "new-cert.pem").rename(folder / "cert.pem")


def test_tls_takes_a_new_certificate_without_a_restart(folder):
    make_certificate(folder, "first")
    server = TokenServer(folder, "listen: {tls: {certificate: cert.pem, key: key.pem}}\n")
    port = int(server.http.rsplit(":", 1)[1])
    assert server.http.startswith("https://")
    assert server.get("/token/driver/veh-1", verify=str(folder / "cert.pem")).status_code == 200
    metrics = server.get("/metrics", verify=str(folder / "cert.pem")).text
    end = int(re.search(r"^fleetpass_certificate_expiry_timestamp_seconds (\d+)$", metrics, re.M)[1])
    assert abs(end - time.time() - 2 * 86_400) < 600
    first = ssl.get_server_certificate(("127.0.0.1", port))
    make_certificate(folder, "second")
    deadline = time.monotonic() + 10
    while ssl.get_server_certificate(("127.0.0.1", port)) == first:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert server.get("/token/driver/veh-1", verify=str(folder / "cert.pem")).status_code == 200
    assert server.stop()[0] == 0


def test_clients_choose_between_http_2_and_http_1(folder):
    make_certificate(folder, "both")
    server = TokenServer(folder, "listen: {tls: {certificate: cert.pem, key: key.pem}}\n")
    trust = ssl.create_default_context(cafile=folder / "cert.pem")
    headers = {"Authorization": f"Bearer {SECRET}"}
    for wanted, version in [({"http2": True}, "HTTP/2"), ({"http2": False}, "HTTP/1.1")]:
        with httpx.Client(base_url=server.http, verify=trust, headers=headers, **wanted) as client:
            answers = [client.get(f"/token/driver/veh-{number}") for number in range(5)]
            answers.append(client.post("/v1/tokens", json={"role": "driver", "vehicle": "veh-9"}))
            refused = client.post("/v1/tokens", content=b"x" * 100_000, headers={"Content-Type": "application/json"})
            assert refused.status_code == 413
            answers.append(client.get("/readyz"))
            assert [(answer.status_code, answer.http_version) for answer in answers] == [(200, version)] * 7
    assert server.stop()[0] == 0


def test_requests_under_way_are_answered_before_the_end(folder):
    server = TokenServer(folder)
    statuses, go = [], threading.Event()

    def fetch():
        session = requests.Session()
        session.headers["Authorization"] = f"Bearer {SECRET}"
        go.wait()
        while True:
            try:
                statuses.append(session.get(f"{server.http}/token/driver/veh-1", timeout=10).status_code)
            except requests.ConnectionError:
                return

    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    go.set()
    while len(statuses) < 20:
        time.sleep(0.01)
    code, _, errors = server.stop()
    for thread in threads:
        thread.join()
    assert code == 0, errors
    assert set(statuses) == {200}
    assert run("audit", "verify", "--data", folder).returncode == 0


def test_an_idle_connection_and_huge_headers_are_ended(folder):
    server = TokenServer(folder, "limits: {idle: 1s, header_bytes: 2048}\n")
    port = int(server.http.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        while connection.recv(1024):
            pass  # It ends; a connection that stays open runs into the socket's time limit.
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 10_000 + b"\r\n\r\n")
        assert not connection.recv(1024).startswith(b"HTTP/1.1 200")
    assert server.get("/healthz").status_code == 200
    server.stop()


def wait_for_readiness(server, words, status=503):
    """Waits until `/readyz` answers with a status and some words."""
    deadline = time.monotonic() + 20
    while True:
        answer = server.get("/readyz", secret=None)
        if answer.status_code == status and words in answer.text:
            return
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.1)


def test_no_token_is_given_while_the_stores_file_is_elsewhere(folder):
    server = TokenServer(folder)
    assert server.get("/token/driver/veh-1").status_code == 200
    gone = folder / "gone"
    gone.mkdir()
    files = sorted(folder.glob("token-server.sqlite*"))
    assert len(files) == 3
    for path in files:
        path.rename(gone / path.name)
    assert server.get("/token/driver/veh-1").status_code == 503
    wait_for_readiness(server, "store: the store's file was removed or replaced")
    # A copy in its place is what commands find, and not what the server has.
    for path in files:
        shutil.copy(gone / path.name, path)
    assert server.get("/token/driver/veh-1").status_code == 503
    wait_for_readiness(server, "store: the store's file was removed or replaced")
    assert run("audit", "verify", "--data", folder).stdout.startswith(b"intact records=1 ")

    for path in folder.glob("token-server.sqlite*"):
        path.unlink()
    for path in files:
        (gone / path.name).rename(path)
    wait_for_readiness(server, "ok", status=200)
    assert server.get("/token/driver/veh-1").status_code == 200
    assert run("audit", "verify", "--data", folder).stdout.startswith(b"intact records=2 ")
    code, _, errors = server.stop()
    assert code == 0 and "token-server.sqlite" in errors and "was removed or replaced" in errors


def test_no_token_is_given_without_the_wal_and_sigterm_saves_what_is_in_it(folder):
    server = TokenServer(folder)
    assert server.get("/token/driver/veh-1").status_code == 200
    (folder / "token-server.sqlite-wal").unlink()
    wait_for_readiness(server, "store: the store's file was removed or replaced, or the -wal or -shm beside it")
    assert server.get("/token/driver/veh-1").status_code == 503
    assert server.stop()[0] == 0
    assert run("audit", "verify", "--data", folder).stdout.startswith(b"intact records=1 ")


def test_no_token_is_given_without_the_shm_and_what_a_command_changes_meanwhile_stays(folder):
    server = TokenServer(folder)
    assert server.get("/token/driver/veh-1").status_code == 200
    (folder / "token-server.sqlite-shm").unlink()
    wait_for_readiness(server, "store: the store's file was removed or replaced, or the -wal or -shm beside it")
    assert run("revoke", "--data", folder, "--key", "veh-key").returncode == 0
    assert server.get("/token/driver/veh-1").status_code == 503
    assert server.stop()[0] == 0
    assert run("revoke", "--data", folder).stdout.startswith(b"key=veh-key ")
    assert run("audit", "verify", "--data", folder).stdout.startswith(b"intact records=2 ")


def test_a_server_that_ended_leaves_its_store_whole_in_one_file(folder):
    server = TokenServer(folder)
    store, begun, ended = (folder / name for name in ("token-server.sqlite", "begun.sqlite", "ended.sqlite"))
    # From the start, the file has the tables.
    shutil.copy(store, begun)
    assert run("audit", "verify", "--store", begun).stdout.startswith(b"intact records=0 ")
    for number in range(3):
        assert server.get(f"/token/driver/veh-{number}").status_code == 200
    # Who only reads keeps nothing back, and is not waited for.
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as reader:
        assert reader.execute("SELECT count(*) FROM audit_record").fetchall() == [(3,)]
        assert server.stop()[0] == 0
        shutil.copy(store, ended)
    assert run("audit", "verify", "--store", ended).stdout.startswith(b"intact records=3 ")


def test_a_key_that_google_made_takes_its_turn(tmp_path, service):
    shutil.copytree(service.data / "service-accounts", tmp_path / "keys")
    account = json.loads((tmp_path / "keys" / "driver.json").read_text(encoding="utf-8"))
    new = tmp_path / "new.json"

    def rotate(*options, **changes):
        new.write_text(json.dumps(account | {"private_key": new_rsa_key()} | changes), encoding="utf-8")
        return run("keys", "rotate", "--data", tmp_path / "keys", "--with", new, *options)

    assert rotate().returncode == 2
    assert rotate("--role", "driver", "--role", "server").returncode == 2
    for changes, words in [
        ({"client_email": "other@demo-fleet.iam.gserviceaccount.com"}, "The new key is of other@"),
        ({}, "has the key"),
        ({"private_key": "none"}, "new.json"),
    ]:
        result = rotate("--role", "driver", **changes)
        assert result.returncode == 78 and words in result.stderr.decode()
    result = rotate("--role", "driver", "--output", "json", private_key_id="made-by-google")
    assert result.returncode == 0, result.stderr
    states = {key["keyID"]: key["state"] for key in json.loads(result.stdout)}
    assert states == {account["private_key_id"]: "signing", "made-by-google": "published"}


def test_a_new_key_is_for_its_owner_alone_from_its_first_moment(folder):
    """Whoever opens a file before its mode is set reads what is written to it later."""
    changed_mode, made = 0x4, 0x100
    libc = ctypes.CDLL(None)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    keys = folder / "service-accounts"
    assert libc.inotify_add_watch(watch, os.fsencode(keys), changed_mode | made) > 0
    assert run("keys", "rotate", "--data", keys, "--role", "driver").returncode == 0
    seen, events = 0, os.read(watch, 65536)
    while events:
        _, mask, _, length = struct.unpack_from("iIII", events)
        seen |= mask
        events = events[16 + length:]
    os.close(watch)
    assert seen == made
    (key,) = [path for path in keys.iterdir() if re.fullmatch(r"driver\.\d+\.json", path.name)]
    assert key.stat().st_mode & 0o777 == 0o600


def test_a_stolen_key_is_followed_by_no_retired_one(tmp_path, service):
    shutil.copy(service.key_file("driver"), tmp_path / "driver.json")
    account = service.account("driver")
    stolen = account | {"private_key": new_rsa_key(), "private_key_id": "stolen"}
    (tmp_path / f"driver.{int(time.time()) - 7200}.json").write_text(json.dumps(stolen), encoding="utf-8")

    def keys(command, *options):
        return run("keys", command, "--data", tmp_path, "--role", "driver", "--output", "json", *options)

    result = keys("retire", "--key", "stolen")
    assert result.returncode == 1 and b"rotate first" in result.stderr and b"--force" not in result.stderr
    result = keys("retire", "--key", "stolen", "--force")
    assert result.returncode == 78 and b"rotate first" in result.stderr
    assert len(list(tmp_path.iterdir())) == 2
    assert keys("rotate").returncode == 0
    result = keys("retire", "--key", "stolen", "--force")
    assert result.returncode == 0, result.stderr
    states = {key["keyID"]: key["state"] for key in json.loads(result.stdout)}
    assert states.pop(account["private_key_id"]) == "retired"
    assert list(states.values()) == ["signing"] and "stolen" not in states


def test_a_retired_key_that_is_put_back_signs_nothing(folder, service):
    place, stolen = folder / "service-accounts" / "driver.json", service.account("driver")["private_key_id"]
    server = TokenServer(folder)

    def keys(command, *options):
        return run("keys", command, "--data", folder, *options)

    def signs():
        return jwt.get_unverified_header(server.get("/token/driver/veh-1").json()["jwt"])["kid"]

    def published():
        return {key["kid"] for key in server.get("/.well-known/jwks.json", secret=None).json()["keys"]}

    token = server.get("/token/driver/veh-1").json()["jwt"]
    assert jwt.get_unverified_header(token)["kid"] == stolen
    retire = ("retire", "--role", "driver", "--key", stolen, "--force")
    assert keys("rotate", "--role", "driver").returncode == 0
    assert keys(*retire).returncode == 0
    deadline = time.monotonic() + 10
    while stolen in published():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    new = signs()
    place.write_bytes(service.key_file("driver").read_bytes())
    # The folder is looked at every 2 seconds.
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        assert signs() == new and stolen not in published()
        time.sleep(0.5)
    assert "was retired and never signs again" in keys("list").stderr.decode()
    minted = run("mint", "--key", place, "--role", "driver", "--vehicle", "v")
    assert minted.returncode == 78 and b"signs no more" in minted.stderr
    verified = run("verify", "-", "--keys", folder / "service-accounts", stdin=token.encode())
    assert verified.returncode != 0 and b"KEY_UNKNOWN" in verified.stdout + verified.stderr

    assert keys("rotate", "--role", "driver").returncode == 0
    assert keys(*retire).returncode == 0
    next_key = json.loads(place.read_text(encoding="utf-8"))["private_key_id"]
    deadline = time.monotonic() + 10
    while next_key not in published():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert signs() == next_key and stolen not in published()
    code, _, errors = server.stop()
    assert code == 0 and f"driver.json holds the key {stolen}, which was retired" in errors
    result = keys("rotate", "--role", "driver", "--with", service.key_file("driver"))
    assert result.returncode == 78 and b"was retired from the role driver" in result.stderr
    place.write_bytes(service.key_file("driver").read_bytes())
    assert "was retired and never signs again" in refused(folder)


def test_keys_rotate_under_a_running_service(tmp_path, service):
    data = tmp_path / "data"
    shutil.copytree(service.data / "service-accounts", data / "service-accounts")
    running = Service(data)

    def published():
        keys = requests.get(f"{running.http}/.well-known/jwks.json", timeout=10).json()["keys"]
        return {key["kid"] for key in keys}

    old = running.account("driver")["private_key_id"]
    result = run("keys", "rotate", "--data", data, "--role", "driver", "--output", "json")
    assert result.returncode == 0, result.stderr
    states = {key["keyID"]: key["state"] for key in json.loads(result.stdout)}
    assert states.pop(old) == "signing"
    ((new, state),) = states.items()
    assert state == "published"
    deadline = time.monotonic() + 10
    while new not in published():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    # The new key signs nothing yet; a second rotation and a retirement wait.
    token = requests.get(f"{running.http}/token/driver/veh-1", timeout=10).json()["jwt"]
    assert jwt.get_unverified_header(token)["kid"] == old
    assert run("keys", "rotate", "--data", data, "--role", "driver").returncode == 78
    result = run("keys", "retire", "--data", data, "--role", "driver", "--key", old)
    assert result.returncode == 1
    assert re.search(r"is signing, .* wait (79|80) minutes, until \S+Z; --force removes it now", result.stderr.decode())
    # A stolen key goes at once, and its tokens with it.
    result = run("keys", "retire", "--data", data, "--role", "driver", "--key", old, "--force")
    assert result.returncode == 0, result.stderr
    deadline = time.monotonic() + 5
    while running.rest("GET", "vehicles/veh-1", token).json()["error"]["details"][0]["reason"] != "KEY_UNKNOWN":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    token = requests.get(f"{running.http}/token/driver/veh-1", timeout=10).json()["jwt"]
    assert jwt.get_unverified_header(token)["kid"] == new
    assert running.stop()[0] == 0
    assert sorted(path.name for path in (data / "service-accounts").glob("driver*")) == ["driver.json"]
