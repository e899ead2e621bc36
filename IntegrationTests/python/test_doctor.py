# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""`fleetpass doctor`: nothing to say of a good set-up, and the next step for each fault of a bad one."""

import hashlib
import json
import secrets
import shutil
import stat
import subprocess
from datetime import datetime, timedelta, timezone

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from engine_server import certificate
from forgery import new_rsa_key
from service import Service, run
from stand_ins import Google, GoogleServer, Webhook
from test_nodes import database, distant, node_folder  # noqa: F401 (fixtures)
from test_serve import SECRET, IdentityProvider

CHECKS = ["configuration", "store", "secret files", "credentials", "signer driver", "callers", "policy", "clock"]


@pytest.fixture
def google(service):
    server = GoogleServer(service.account("driver"))
    yield server
    server.stop()


@pytest.fixture
def folder(tmp_path):
    callers = [{"name": "app", "secret_sha256": hashlib.sha256(SECRET.encode()).hexdigest(), "roles": ["driver"]}]
    (tmp_path / "callers.json").write_text(json.dumps({"callers": callers}), encoding="utf-8")
    (tmp_path / "callers.json").chmod(0o600)
    (tmp_path / "policy.yaml").write_text(
        "version: 1\nrules:\n  - {name: all, when: {issuer: static}, grant: driver, for: any}\n", encoding="utf-8")
    (tmp_path / "policy.yaml").chmod(0o644)
    (tmp_path / "data").mkdir(mode=0o700)
    return tmp_path


@pytest.fixture
def settings(google, service):
    """A good configuration, for tests to spoil."""
    return {
        "provider": "demo-fleet", "data": "data", "callers": {"file": "callers.json"},
        "policy": {"file": "policy.yaml"},
        "signers": {"driver": {"account": service.account("driver")["client_email"]}},
        "google": {"endpoints": {"iam": f"http://{google.host}", "keys": f"http://{google.host}"}},
    }


def doctor(folder, settings, host, *options, environment=None):
    config = folder / "tokens.yaml"
    if not config.exists():
        config.touch(mode=0o600)
    config.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML.
    result = run(
        "doctor", "--config", config, "--output", "json", *options,
        environment={"GCE_METADATA_HOST": host, "CLOUDSDK_CONFIG": str(folder), **(environment or {})})
    report = json.loads(result.stdout)
    checks = {check["check"]: check for check in report["checks"]}
    faults = [name for name, check in checks.items() if check["outcome"] == "fault"]
    assert report["outcome"] == ("fault" if faults else "ok")
    assert all(checks[name]["next"] for name in faults), "each fault has its next step"
    assert (result.returncode == 0) == (not faults)
    for secret in ["machine-token", "PRIVATE KEY", SECRET]:
        assert secret not in result.stdout.decode() + result.stderr.decode()
    return result.returncode, checks, faults


def test_a_good_configuration_has_no_fault_and_nothing_is_changed(folder, settings, google):
    before = sorted(path.name for path in folder.rglob("*"))
    code, checks, _ = doctor(folder, settings, google.host)
    assert code == 0
    assert list(checks) == CHECKS
    assert google.machine in checks["credentials"]["detail"]
    assert sorted(path.name for path in folder.rglob("*")) == sorted([*before, "tokens.yaml"])
    text = run(
        "doctor", "--config", folder / "tokens.yaml", environment={"GCE_METADATA_HOST": google.host}).stdout.decode()
    assert [line.split(":")[0].split(maxsplit=1)[1] for line in text.splitlines()] == CHECKS


def spoil_role(settings, folder, google):
    settings["signers"]["driver"]["account"] = "stranger@demo-fleet.iam.gserviceaccount.com"


def spoil_iam(settings, folder, google):
    google.fault = (403, "PERMISSION_DENIED", "SERVICE_DISABLED")


def spoil_network(settings, folder, google):
    google.fault = (503, "UNAVAILABLE")


def spoil_data(settings, folder, google):
    settings["data"] = "gone"


def spoil_data_mode(settings, folder, google):
    (folder / "data").chmod(stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO)


def spoil_policy(settings, folder, google):
    (folder / "policy.yaml").write_text("version: 1\nrules:\n  - {name: all}\n", encoding="utf-8")


def spoil_issuer(settings, folder, google):
    policy = folder / "policy.yaml"
    policy.write_text(policy.read_text(encoding="utf-8").replace("issuer: static", "issuer: statik"), encoding="utf-8")


def spoil_callers(settings, folder, google):
    (folder / "callers.json").write_text("[]", encoding="utf-8")


def spoil_key(settings, folder, google):
    settings["signers"]["driver"]["ways"] = "sign_jwt, key"


def spoil_credentials(settings, folder, google):
    settings["google"]["credentials"] = "gone.json"


def spoil_provider(settings, folder, google):
    settings["callers"]["oidc"] = {"login": {"issuer": "http://127.0.0.1:9", "audience": "fleet"}}


def spoil_provider_name(settings, folder, google):
    settings["callers"]["oidc"] = {"login": {"issuer": IdentityProvider().url + "/", "audience": "fleet"}}


def spoil_tls(settings, folder, google):
    certificate(folder, "server", "IP:127.0.0.1")
    (folder / "server-key.pem").write_text(new_rsa_key(), encoding="utf-8")
    (folder / "server-key.pem").chmod(stat.S_IRUSR | stat.S_IWUSR)
    settings["listen"] = {"tls": {"certificate": "server.pem", "key": "server-key.pem"}}


def spoil_key_of_tls(settings, folder, google):
    certificate(folder, "server", "IP:127.0.0.1")
    key = serialization.load_pem_private_key((folder / "server-key.pem").read_bytes(), None)
    (folder / "server-key.pem").write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(SECRET.encode())))
    (folder / "server-key.pem").chmod(stat.S_IRUSR | stat.S_IWUSR)
    settings["listen"] = {"tls": {"certificate": "server.pem", "key": "server-key.pem"}}


def spoil_chain(settings, folder, google):
    certificate(folder, "root", "DNS:root")
    certificate(folder, "server", "IP:127.0.0.1", "root")
    (folder / "server-key.pem").chmod(stat.S_IRUSR | stat.S_IWUSR)
    (folder / "chain.pem").write_bytes((folder / "root.pem").read_bytes() + (folder / "server.pem").read_bytes())
    settings["listen"] = {"tls": {"certificate": "chain.pem", "key": "server-key.pem"}}


def spoil_authorities(settings, folder, google):
    for name, authority in [("server", None), ("root", None), ("issuing", "root")]:
        certificate(folder, name, "IP:127.0.0.1", authority)
    (folder / "server-key.pem").chmod(stat.S_IRUSR | stat.S_IWUSR)
    settings["listen"] = {
        "tls": {"certificate": "server.pem", "key": "server-key.pem", "client_ca": "issuing.pem"}}


def spoil_clock(settings, folder, google):
    google.RequestHandlerClass = type(
        "Late", (Google,), {"date_time_string": lambda self, timestamp=None: "Sun, 06 Nov 1994 08:49:37 GMT"})


def spoil_administrators(settings, folder, google):
    settings["admin"] = {"callers_file": "gone.json"}


def spoil_origins(settings, folder, google):
    settings["cors"] = {"origins": "https://App.example/path"}


def spoil_store(settings, folder, google):
    (folder / "data" / "token-server.sqlite").write_text("not a database, and long enough to be read as one" * 9)


@pytest.mark.parametrize(
    ("spoil", "check", "code", "words"),
    [
        (spoil_role, "signer driver", 1, ["roles/iam.serviceAccountTokenCreator to machine@", "on stranger@"]),
        (spoil_iam, "signer driver", 1, ["Enable the IAM Service Account Credentials API"]),
        (spoil_network, "signer driver", 69, ["503", "Check the network"]),
        (spoil_data, "store", 78, ["gone", "install -d -m 700"]),
        (spoil_data_mode, "store", 78, ["chmod 700"]),
        (spoil_policy, "policy", 78, ["policy.yaml"]),
        (spoil_issuer, "policy", 78, ["policy.yaml:3:", '"statik"', "There are static."]),
        (spoil_callers, "callers", 78, ["callers.json"]),
        (spoil_key, "keys", 78, ["signers.driver.key"]),
        (spoil_credentials, "credentials", 78, ["gone.json"]),
        (spoil_provider, "callers.oidc.login", 69, ["127.0.0.1:9"]),
        (spoil_provider_name, "callers.oidc.login", 78, ["/ says that its issuer is", "callers.oidc.login.issuer"]),
        (spoil_tls, "tls", 78, ["server.pem"]),
        (spoil_key_of_tls, "tls", 78, ["server-key.pem is encrypted", "openssl pkey -in "]),
        (spoil_chain, "tls", 78, ["chain.pem", "must stand first", "the one at place 2"]),
        (spoil_authorities, "tls", 78, ["CN=issuing is signed by CN=root, which is not in the file"]),
        (spoil_administrators, "admin", 78, ["gone.json"]),
        (spoil_origins, "cors", 78, ["App.example", "cors.origins"]),
        (spoil_store, "store", 78, ["token-server.sqlite", "backup"]),
        (spoil_clock, "clock", 1, ["ahead of", "NTP"]),
    ],
)
def test_each_fault_is_found_with_its_next_step(folder, settings, google, spoil, check, code, words):
    spoil(settings, folder, google)
    status, checks, faults = doctor(folder, settings, google.host)
    assert check in faults, checks
    assert set(faults) <= {check, "signer driver"}, checks
    assert status == code
    told = checks[check]["detail"] + " " + checks[check]["next"]
    for word in words:
        assert word in told


def test_each_way_to_sign_is_tried_by_itself(folder, settings, service, google):
    shutil.copy(service.key_file("driver"), folder / "driver.json")
    settings["signers"]["driver"] |= {"ways": "sign_jwt, key", "key": "driver.json"}
    code, checks, _ = doctor(folder, settings, google.host)
    assert code == 0, checks
    assert [name for name in checks if name.startswith("signer ")] == ["signer driver sign_jwt", "signer driver key"]
    google.fault = (403, "PERMISSION_DENIED", "IAM_PERMISSION_DENIED")
    code, checks, faults = doctor(folder, settings, google.host)
    assert (code, faults) == (1, ["signer driver sign_jwt"])
    assert "roles/iam.serviceAccountTokenCreator" in checks["signer driver sign_jwt"]["next"]


def test_the_policys_webhook_is_asked(folder, settings, google):
    (folder / "hook.secret").write_text("a-secret-of-the-webhook-that-is-long-enough", encoding="utf-8")
    (folder / "hook.secret").chmod(0o600)
    settings["policy"]["secret_file"] = "hook.secret"

    def check(url):
        (folder / "policy.yaml").write_text(
            f"version: 1\nwebhook: {{url: '{url}'}}\nrules:\n"
            "  - {name: ask, when: {issuer: static}, grant: driver, for: webhook}\n", encoding="utf-8")
        return doctor(folder, settings, google.host)

    webhook = Webhook(1)
    code, checks, _ = check(webhook.url)
    assert code == 0, checks
    assert checks["policy webhook"]["outcome"] == "ok"
    webhook.together.abort()
    code, checks, faults = check(webhook.url)
    assert (code, faults) == (1, ["policy webhook"])
    assert "503" in checks["policy webhook"]["detail"]
    webhook.shutdown()
    code, checks, faults = check("http://127.0.0.1:9/may?code=MARKED")
    assert (code, faults) == (69, ["policy webhook"])
    assert "MARKED" not in json.dumps(checks)


def test_files_of_keys_that_others_may_read_are_named(folder, settings, service, google):
    shutil.copytree(service.data / "service-accounts", folder / "keys")
    (folder / "secret").write_text(secrets.token_hex(32), encoding="utf-8")
    (folder / "secret").chmod(0o600)
    del settings["signers"]
    settings["keys"] = "keys"
    settings["callers"]["session"] = {"backend": {"issuer": "acme", "audience": "fleet", "secret_file": "secret"}}
    code, checks, faults = doctor(folder, settings, google.host)
    assert (code, faults) == (0, []), checks
    assert checks["secret files"]["outcome"] == "ok"
    (folder / "keys").chmod(0o750)
    (folder / "keys" / "driver.json").chmod(0o640)
    (folder / "secret").chmod(0o604)
    code, checks, faults = doctor(folder, settings, google.host)
    assert (code, faults) == (78, ["secret files"])
    finding = checks["secret files"]
    for word in ["keys (0750)", "driver.json (0640)", "secret (0604)"]:
        assert word in finding["detail"], finding
    for word in ["consumer.json", "callers.json", "policy.yaml", "tokens.yaml"]:
        assert word not in finding["detail"] + finding["next"], finding
    # What it says to do is what helps.
    commands = finding["next"].removeprefix("Run ").removesuffix(", as their owner.")
    subprocess.run(["bash", "-c", commands], check=True)
    assert doctor(folder, settings, google.host)[2] == []


def test_files_by_which_others_could_let_themselves_in_are_named(folder, settings, google):
    settings["admin"] = {"callers_file": "admins.json"}
    admins = json.loads((folder / "callers.json").read_text(encoding="utf-8"))
    del admins["callers"][0]["roles"]
    (folder / "admins.json").write_text(json.dumps(admins), encoding="utf-8")
    for name in ("admins.json", "tokens.yaml"):
        (folder / name).touch()
        (folder / name).chmod(0o600)
    assert doctor(folder, settings, google.host)[2] == []
    for name, mode, command in [
        ("callers.json", 0o644, "chmod 600"), ("admins.json", 0o644, "chmod 600"),
        ("policy.yaml", 0o664, "chmod go-w"), ("tokens.yaml", 0o666, "chmod go-w"),
    ]:
        (folder / name).chmod(mode)
        code, checks, faults = doctor(folder, settings, google.host)
        assert (code, faults) == (78, ["secret files"]), name
        assert checks["secret files"]["next"] == f"Run {command} {folder / name}, as their owner."
        (folder / name).chmod(0o600)


def test_what_is_for_everybody_is_not_to_be_closed(folder, settings, google, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    settings["data"] = str(shared)
    settings["keys"] = str(shared)
    settings["callers"] = {"file": "/dev/null"}
    _, checks, faults = doctor(folder, settings, google.host)
    assert "store" in faults and "folder of the server's own" in checks["store"]["next"]
    assert "chmod" not in json.dumps(checks)


def test_a_role_that_is_granted_has_something_that_signs(folder, settings, service, google):
    (folder / "keys").mkdir(mode=0o700)
    shutil.copy(service.key_file("driver"), folder / "keys")
    (folder / "keys" / "driver.json").chmod(0o600)
    del settings["signers"]
    settings["keys"] = "keys"
    policy = folder / "policy.yaml"
    assert doctor(folder, settings, google.host)[2] == []
    policy.write_text(policy.read_text().replace("grant: driver", "grant: [driver, consumer]"), encoding="utf-8")
    code, checks, faults = doctor(folder, settings, google.host)
    assert (code, faults) == (78, ["signer consumer"])
    assert "the rule all" in checks["signer consumer"]["detail"]
    for word in ["consumer.json", "signers.consumer.account"]:
        assert word in checks["signer consumer"]["next"]
    # Without rules, callers have what their entries say.
    del settings["policy"]
    assert doctor(folder, settings, google.host)[2] == []
    callers = folder / "callers.json"
    callers.write_text(callers.read_text().replace('["driver"]', '["driver", "consumer"]'), encoding="utf-8")
    code, checks, faults = doctor(folder, settings, google.host)
    assert (code, faults) == (78, ["signer consumer"])
    assert "the caller app" in checks["signer consumer"]["detail"]
    shutil.copy(service.key_file("consumer"), folder / "keys")
    (folder / "keys" / "consumer.json").chmod(0o600)
    assert doctor(folder, settings, google.host)[2] == []


def test_who_gets_no_token_without_rules_is_told(folder, settings, google):
    (folder / "secret").write_text(secrets.token_hex(32), encoding="utf-8")
    (folder / "secret").chmod(0o600)
    session = {"backend": {"issuer": "acme", "audience": "fleet", "secret_file": "secret"}}
    settings["callers"] = {"session": session}
    (folder / "policy.yaml").write_text(
        "version: 1\nrules:\n  - {name: all, when: {issuer: backend}, grant: driver, for: any}\n", encoding="utf-8")
    code, checks, _ = doctor(folder, settings, google.host)
    assert code == 0 and "next" not in checks["policy"], checks
    del settings["policy"]
    settings["callers"]["proxy"] = {"edge": {"peers": "192.0.2.1", "subject_header": "X-User"}}
    settings["callers"]["certificate"] = {"spare": {"fingerprint": "ab" * 32}}
    settings["listen"] = {"tls": {"certificate": "server.pem", "key": "server-key.pem", "client_ca": "server.pem"}}
    certificate(folder, "server", "IP:127.0.0.1")
    (folder / "server-key.pem").chmod(0o600)
    names = "callers.session.backend, callers.proxy.edge, callers.certificate.spare"
    code, checks, faults = doctor(folder, settings, google.host)
    assert (code, faults) == (78, ["policy"]), checks
    # Who has a role gets tokens, and the rest may be meant so.
    settings["callers"]["file"] = "callers.json"
    code, others, _ = doctor(folder, settings, google.host)
    assert code == 0, others
    for policy in checks["policy"], others["policy"]:
        assert f"who is let in by {names} has no roles, and gets no token" in policy["detail"]
        assert "policy.file" in policy["next"] and "docs/policy.md" in policy["next"]
    settings["callers"] = {"file": "callers.json"}
    assert "next" not in doctor(folder, settings, google.host)[1]["policy"]


def test_only_files_that_are_there_count_as_secret_ones(folder, settings, service, google):
    settings["google"]["credentials"] = "gone.json"
    _, checks, faults = doctor(folder, settings, google.host)
    assert "credentials" in faults and checks["secret files"]["detail"] == "1, for their owner alone"
    file = folder / "data" / "revocation-key.json"
    shutil.copy(service.data / "revocation-key.json", file)
    file.chmod(0o600)
    _, checks, _ = doctor(folder, settings, google.host)
    assert checks["secret files"]["detail"] == "2, for their owner alone"


def dated_certificate(folder, start, end):
    """A certificate by itself that is valid between two times, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(start).not_valid_after(end)
        .sign(key, hashes.SHA256()))
    (folder / "server.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "server-key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    (folder / "server-key.pem").chmod(0o600)


@pytest.mark.parametrize(("hours_since_start", "hours_left", "words"), [
    (24, 24 * 30, None), (1, 12, None), (8, 4, None),
    (-2, 24 * 30, "is not valid before"), (24 * 80, 24 * 2, "ends soon"), (11, 1, "ends soon"),
    (24 * 80, -1, "has ended"),
], ids=["long", "short and new", "short and older", "not yet", "soon", "short and soon", "ended"])
def test_the_servers_certificate_is_to_be_valid_for_a_while(
        folder, settings, google, hours_since_start, hours_left, words):
    now = datetime.now(timezone.utc)
    dated_certificate(folder, now - timedelta(hours=hours_since_start), now + timedelta(hours=hours_left))
    settings["listen"] = {"tls": {"certificate": "server.pem", "key": "server-key.pem"}}
    code, checks, faults = doctor(folder, settings, google.host)
    assert (code, faults) == ((78, ["tls"]) if words else (0, [])), checks
    if words:
        assert words in checks["tls"]["detail"]


@pytest.mark.parametrize("is_named", [False, True])
def test_the_key_of_the_list_of_revocations_is_looked_at_where_it_is(folder, settings, service, google, is_named):
    file = folder / "data" / "revocation-key.json"
    if is_named:
        file = folder / "list-key.json"
        settings["revocations"] = {"key_file": "list-key.json"}
    shutil.copy(service.data / "revocation-key.json", file)
    file.chmod(0o600)
    code, checks, _ = doctor(folder, settings, google.host)
    assert code == 0, checks
    assert checks["revocations"]["detail"] == str(file)
    assert checks["secret files"]["outcome"] == "ok"
    file.chmod(0o644)
    code, checks, faults = doctor(folder, settings, google.host)
    assert (code, faults) == (78, ["secret files"])
    assert f"chmod 600 {file}" in checks["secret files"]["next"]
    file.chmod(0o600)
    file.write_text("junk", encoding="utf-8")
    code, checks, faults = doctor(folder, settings, google.host)
    assert (code, faults) == (78, ["revocations"])
    assert str(file) in checks["revocations"]["detail"]


def sql(database, statement):
    return subprocess.run(
        ["psql", "--no-psqlrc", "--tuples-only", "--dbname", database.address, "--command", statement],
        check=True, capture_output=True, text=True).stdout.strip()


def tables(database):
    return sql(database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'fleetpass'")


def test_a_postgresql_store_is_looked_at_and_not_changed(folder, settings, google, database, service):  # noqa: F811
    settings["store"] = {"postgresql": database.address}
    code, checks, _ = doctor(folder, settings, google.host)
    assert code == 0, checks
    assert "will be made" in checks["store"]["detail"]
    assert tables(database) == "0"
    # Nor does a command make the tables of a server.
    for command in (["revoke", "--key", "k1"], ["assignments", "list"], ["audit", "verify"]):
        result = run(*command, "--store", database.address)
        assert result.returncode == 78 and b"holds no store of a token server" in result.stderr
    assert tables(database) == "0"
    assert Service(node_folder(folder, "node", service), "--store", database.address).stop()[0] == 0
    code, checks, _ = doctor(folder, settings, google.host)
    assert code == 0
    assert "of this version" in checks["store"]["detail"]
    # Those of an older version are its server's to bring up to date.
    sql(database, "UPDATE fleetpass.version SET version = 1 WHERE part = 'token server'")
    for command in (["revoke"], ["assignments", "list"], ["audit", "verify"]):
        result = run(*command, "--store", database.address)
        assert result.returncode == 78 and b"were made by an older version" in result.stderr, command
    assert sql(database, "SELECT version FROM fleetpass.version WHERE part = 'token server'") == "1"
    sql(database, "UPDATE fleetpass.version SET version = 99")
    code, checks, faults = doctor(folder, settings, google.host)
    assert (code, faults) == (78, ["store"])
    assert "99" in checks["store"]["detail"] and "newer" in checks["store"]["detail"]


def test_a_postgresql_store_is_not_used_over_a_network_without_a_check(folder, settings, google, distant):  # noqa: F811
    settings["store"] = {"postgresql": distant.address}
    code, checks, faults = doctor(folder, settings, google.host)
    assert (code, faults) == (78, ["store"])
    assert "is reached over a network, and sslmode=prefer" in checks["store"]["detail"]
    assert "sslmode=verify-full&sslrootcert=FILE" in checks["store"]["next"]


def test_a_postgresql_store_that_is_away_is_unreachable(folder, settings, google):
    settings["store"] = {"postgresql": "postgresql://fleet:hush-hush@127.0.0.1:9/fleetpass"}
    code, checks, faults = doctor(folder, settings, google.host)
    assert (code, faults) == (69, ["store"])
    assert "127.0.0.1:9" in checks["store"]["detail"]
    assert "hush-hush" not in json.dumps(checks)
    settings["store"] = {"postgresql": "postgresql:"}
    assert doctor(folder, settings, google.host)[0] == 78


def test_a_setting_that_is_wrong_is_the_only_finding(folder, settings, google):
    settings["listne"] = {}
    code, checks, faults = doctor(folder, settings, google.host)
    assert (code, faults, list(checks)) == (78, ["configuration"], ["configuration"])
    assert "listne" in checks["configuration"]["detail"]
    assert "--reference" in checks["configuration"]["next"]


def test_an_engines_configuration_is_told_from_a_token_servers(folder, google):
    settings = {"providers": "demo-fleet", "trust": {"files": "trust.yaml"}, "data": "data"}
    code, checks, faults = doctor(folder, settings, google.host)
    assert (code, faults, list(checks)) == (78, ["configuration"], ["configuration"])
    assert "tokens.yaml is the configuration of an engine" in checks["configuration"]["detail"]
    for word in ["serve engine --config", "/readyz", "serve engine --reference"]:
        assert word in checks["configuration"]["next"]
    # A misspelt setting of a token server makes no engine of it.
    _, checks, _ = doctor(folder, {"provider": "demo-fleet", "providers": "demo-fleet"}, google.host)
    assert "serve tokens --reference" in checks["configuration"]["next"]


def test_local_keys_need_no_google(folder, settings, service, google):
    shutil.copytree(service.data / "service-accounts", folder / "keys")
    del settings["signers"]
    settings["keys"] = "keys"
    code, checks, _ = doctor(folder, settings, "127.0.0.1:9")
    assert code == 0
    assert "credentials" not in checks
    assert sum(name.startswith("signer ") for name in checks) == len(list((folder / "keys").glob("*.json")))


def test_offline_the_clock_is_skipped_and_says_so(folder, settings, service, google):
    shutil.copytree(service.data / "service-accounts", folder / "keys")
    del settings["signers"]
    settings["keys"] = "keys"
    settings["google"]["endpoints"]["iam"] = "http://127.0.0.1:9"
    code, checks, _ = doctor(folder, settings, google.host)
    assert code == 0
    assert checks["clock"]["outcome"] == "skipped"
    assert "offline" in checks["clock"]["detail"]


def test_authorities_that_cannot_be_used_are_told_and_let_no_server_start(folder, settings, google):
    (folder / "text.pem").write_text("no certificate", encoding="utf-8")
    (folder / "empty.pem").touch()
    _, checks, _ = doctor(folder, settings, google.host)
    assert "authorities" not in checks
    (folder / "engine.yaml").write_text(
        "providers: demo-fleet\ndata: data\ntrust: {files: trust.yaml}\n", encoding="utf-8")
    for name in ["gone.pem", "empty.pem", "text.pem"]:
        variables = {"SSL_CERT_FILE": str(folder / name)}
        code, checks, faults = doctor(folder, settings, google.host, environment=variables)
        assert code == 78 and faults == ["authorities"], checks
        assert f"{folder / name}, which SSL_CERT_FILE names," in checks["authorities"]["detail"]
        for kind in ["tokens", "engine"]:
            refused = run("serve", kind, "--config", folder / f"{kind}.yaml", environment=variables)
            assert refused.returncode == 78, refused.stderr
            assert f"{folder / name}, which SSL_CERT_FILE names," in refused.stderr.decode()
    certificate(folder, "authority", "DNS:authority")
    variables = {"SSL_CERT_FILE": str(folder / "authority.pem")}
    code, checks, faults = doctor(folder, settings, google.host, environment=variables)
    assert code == 0 and checks["authorities"]["outcome"] == "ok", faults


def test_without_a_configuration_credentials_are_looked_for(folder, google):
    result = run("doctor", environment={"GOOGLE_APPLICATION_CREDENTIALS": str(folder / "gone.json")}, timeout=120)
    assert result.returncode == 78
    assert "credentials" in result.stdout.decode()
    assert "Next: " in result.stdout.decode()
