# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Tries a server by its OpenAPI document."""

import subprocess
import sys


def explore(document, folder, secret, *options):
    """Tries every operation with a fixed seed; any answer that is not as documented ends in a failure.

    What schemathesis.toml in the folder says holds.
    """
    token = ["--header", f"Authorization:Bearer {secret}"] if secret else []
    result = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "run", document, "--seed", "20260131",
         "--no-shrink", "--suppress-health-check", "all", "--no-color", *token, *options],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False, cwd=folder,
    )
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]
