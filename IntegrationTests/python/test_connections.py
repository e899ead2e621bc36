# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Callers that `serve tokens` knows by their connections: client certificates, and headers of a trusted proxy."""

import shutil
import subprocess

import pytest
import requests

from service import run
from test_serve import TokenServer

BASE = "provider: demo-fleet\ndata: .\nkeys: service-accounts\n"


def openssl(folder, *arguments):
    subprocess.run(["openssl", *map(str, arguments)], cwd=folder, check=True, capture_output=True)


def certificate(folder, name, alternative_name, authority=None):
    """A key and a certificate, signed by an authority or by itself."""
    extensions = [] if authority else ["-addext", "basicConstraints=critical,CA:TRUE"]
    openssl(
        folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
        "-keyout", f"{name}-key.pem", "-out", f"{name}.pem", "-addext", f"subjectAltName={alternative_name}",
        *(["-CA", f"{authority}.pem", "-CAkey", f"{authority}-key.pem"] if authority else []), *extensions)
    return str(folder / f"{name}.pem"), str(folder / f"{name}-key.pem")


@pytest.fixture
def folder(tmp_path, service):
    shutil.copytree(service.data / "service-accounts", tmp_path / "service-accounts")
    return tmp_path


@pytest.fixture
def certificates(folder):
    certificate(folder, "authority", "DNS:authority")
    return {
        "server": certificate(folder, "server", "IP:127.0.0.1"),
        "dispatch": certificate(folder, "dispatch", "URI:spiffe://acme/dispatch", "authority"),
        "unlisted": certificate(folder, "unlisted", "URI:spiffe://acme/unlisted", "authority"),
        "forged": certificate(folder, "forged", "URI:spiffe://acme/dispatch"),
    }


def start(folder, demand):
    return TokenServer(
        folder,
        f"listen: {{tls: {{certificate: server.pem, key: server-key.pem, client_ca: authority.pem, "
        f"client_certificate: {demand}}}}}\n"
        "callers: {certificate: {dispatch: {uri: 'spiffe://acme/dispatch', roles: driver}}}\n",
        base=BASE)


def get(server, folder, path="/token/driver/veh-1", pair=None):
    return requests.get(server.http + path, cert=pair, verify=str(folder / "server.pem"), timeout=10)


def test_a_backend_is_known_by_its_certificate(folder, certificates):
    server = start(folder, "optional")
    assert get(server, folder, pair=certificates["dispatch"]).status_code == 200
    assert get(server, folder, "/token/consumer/trip-1", certificates["dispatch"]).status_code == 403
    assert get(server, folder, pair=certificates["unlisted"]).status_code == 401
    assert get(server, folder).status_code == 401
    assert get(server, folder, "/healthz").status_code == 200
    with pytest.raises(requests.exceptions.ConnectionError):
        get(server, folder, pair=certificates["forged"])
    assert server.stop()[0] == 0
    found = run("audit", "search", "--data", folder, "--output", "json").stdout.decode()
    assert '"caller":"dispatch"' in found


def test_where_a_certificate_is_required_nobody_gets_in_without(folder, certificates):
    server = start(folder, "required")
    assert get(server, folder, pair=certificates["dispatch"]).status_code == 200
    for path in ["/token/driver/veh-1", "/healthz"]:
        with pytest.raises(requests.exceptions.ConnectionError):
            get(server, folder, path)
    assert server.stop()[0] == 0


def test_authorities_that_cannot_be_read_are_named(folder, certificates):
    (folder / "authority.pem").write_text("nothing", encoding="utf-8")
    config = folder / "tokens.yaml"
    config.write_text(
        BASE + "listen: {tls: {certificate: server.pem, key: server-key.pem, client_ca: authority.pem}}\n"
        "callers: {certificate: {dispatch: {uri: 'spiffe://acme/dispatch'}}}\n", encoding="utf-8")
    result = run("serve", "tokens", "--config", config)
    assert result.returncode == 78
    assert "listen.tls.client_ca" in result.stderr.decode()


@pytest.mark.parametrize(("peers", "status"), [("127.0.0.0/8", 200), ("192.0.2.1", 401)])
def test_a_proxy_names_users_from_its_own_address_only(folder, peers, status):
    (folder / "policy.yaml").write_text(
        "version: 1\nrules:\n  - {name: shift, when: {issuer: edge, claims: {groups: drivers}}, grant: driver, "
        "for: any}\n", encoding="utf-8")
    server = TokenServer(
        folder,
        f"callers: {{proxy: {{edge: {{peers: {peers}, subject_header: X-User, claim_headers: X-Groups=groups}}}}}}\n"
        "policy: {file: policy.yaml}\n", base=BASE)

    def ask(**headers):
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return requests.get(server.http + "/token/driver/veh-1", headers=headers, timeout=10).status_code

    assert ask(X_User="dora", X_Groups="drivers, staff") == status
    assert ask(X_User="dora", X_Groups="guests") == (403 if status == 200 else 401)
    assert ask(X_Groups="drivers") == 401
    assert server.stop()[0] == 0
