# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""A running `fleetpass serve engine` with TLS, and clients of the vendor's that trust its certificate."""

import os
import re
import subprocess

import grpc
import requests
from google.maps import fleetengine_v1 as fleet

from service import PROVIDER, Engine

READY = re.compile(
    r"^ready http=(?P<http>https?://127\.0\.0\.1:\d+) grpc=(?P<grpc>127\.0\.0\.1:\d+) provider=(?P<provider>\S+)$")
ROLES = ["server", "driver", "consumer"]


def openssl(folder, *arguments):
    subprocess.run(["openssl", *map(str, arguments)], cwd=folder, check=True, capture_output=True)


def certificate(folder, name, alternative_name, authority=None, key="rsa:2048"):
    """A key, as openssl's -newkey makes it, and a certificate, signed by an authority or by itself."""
    extensions = [] if authority else ["-addext", "basicConstraints=critical,CA:TRUE"]
    openssl(
        folder, "req", "-x509", "-newkey", *key.split(), "-nodes", "-days", "2", "-subj", f"/CN={name}",
        "-keyout", f"{name}-key.pem", "-out", f"{name}.pem", "-addext", f"subjectAltName={alternative_name}",
        *(["-CA", f"{authority}.pem", "-CAkey", f"{authority}-key.pem"] if authority else []), *extensions)
    return str(folder / f"{name}.pem"), str(folder / f"{name}-key.pem")


def trust_file(folder, keys, roles=ROLES):
    """Trusts the accounts of a folder of key files with the roles of their names."""
    accounts = "".join(
        f"  - {{email: {role}@{PROVIDER}.iam.gserviceaccount.com, roles: {role}, keys: {keys}/{role}.json}}\n"
        for role in roles)
    (folder / "trust.yaml").write_text(f"version: 1\naccounts:\n{accounts}", encoding="utf-8")


class EngineServer(Engine):
    """One `serve engine`."""

    patience = 60

    def __init__(self, folder, settings="", environment=None):
        self.folder = folder
        (folder / "data").mkdir(exist_ok=True)
        config = folder / "engine.yaml"
        config.write_text(
            f"providers: {PROVIDER}\ndata: data\ntrust: {{files: trust.yaml}}\n{settings}", encoding="utf-8")
        variables = {"FLEETPASS_LISTEN_HTTP_PORT": "0", "FLEETPASS_LISTEN_GRPC_PORT": "0", **(environment or {})}
        super().__init__(
            READY, "serve", "engine", "--config", config, environment={"PATH": os.environ["PATH"], **variables})

    @property
    def http_port(self):
        return int(self.http.rsplit(":", 1)[1])

    @property
    def grpc_port(self):
        return int(self.grpc.rsplit(":", 1)[1])

    def get(self, path, **options):
        return requests.get(self.http + path, timeout=30, **options)

    def vehicles(self, token, pair=None):
        """The vendor's client over gRPC and TLS."""
        authority = (self.folder / "server.pem").read_bytes()
        certificate, key = (open(path, "rb").read() for path in pair) if pair else (None, None)
        channel = grpc.secure_channel(
            self.grpc,
            grpc.composite_channel_credentials(
                grpc.ssl_channel_credentials(authority, key, certificate), grpc.access_token_call_credentials(token)))
        transport = fleet.VehicleServiceClient.get_transport_class("grpc")
        return fleet.VehicleServiceClient(transport=transport(channel=channel))
