# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The token server does what its OpenAPI file says, tried by schemathesis with what the file allows and forbids."""

import hashlib
import json
import subprocess
import sys

import requests

from service import run
from test_serve import SECRET, TokenServer, folder  # noqa: F401

ROLES = ["driver", "consumer", "delivery_untrusted_driver", "delivery_trusted_driver", "delivery_consumer", "delivery_fleet_reader"]


def callers(secret, **more):
    return json.dumps({"callers": [{"name": "app", "secret_sha256": hashlib.sha256(secret.encode()).hexdigest(), **more}]})


def explore(server, secret, *options):
    """Tries every operation with a fixed seed; any answer that is not as documented ends in a failure."""
    result = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "run", f"{server.http}/openapi.json", "--seed", "20260131",
         "--max-examples", "40", "--phases", "examples,coverage,fuzzing", "--no-shrink", "--suppress-health-check", "all",
         "--header", f"Authorization:Bearer {secret}", "--no-color", *options],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False, cwd=server.folder,
    )
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]


def test_every_answer_is_as_documented(folder):  # noqa: F811
    (folder / "callers.json").write_text(callers(SECRET, roles=ROLES), encoding="utf-8")
    server = TokenServer(folder, "log: {level: error}\n")
    explore(server, SECRET)
    assert requests.get(f"{server.http}/readyz", timeout=10).status_code == 200
    assert server.stop()[0] == 0
    assert run("audit", "verify", "--data", folder).returncode == 0
