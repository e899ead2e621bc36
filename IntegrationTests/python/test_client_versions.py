# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Every RPC of the vendor's current clients, and of old ones, succeeds, over every transport that they have."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

INTERPRETERS = {"0.6.1": sys.executable, "0.3.0": os.environ.get("FLEETPASS_OLDEST_PYTHON")}


@pytest.mark.parametrize("version", INTERPRETERS)
def test_every_rpc_succeeds_over_every_transport(service, version):
    assert INTERPRETERS[version], "run.sh sets FLEETPASS_OLDEST_PYTHON"
    result = subprocess.run(
        [INTERPRETERS[version], "every_rpc.py", service.http, service.grpc, service.provider, str(service.data)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False, cwd=Path(__file__).parent)
    assert result.returncode == 0, result.stdout + result.stderr[-4000:]
    called = json.loads(result.stdout)
    assert set(called["versions"].values()) == {version}
    everything = sorted(rpc for rpcs in called["stubs"].values() for rpc in rpcs)
    assert len(everything) == 25
    assert called["grpc"] == called["asyncio"] == everything
    assert called["rest"] == called["stubs"]["DeliveryService"]
