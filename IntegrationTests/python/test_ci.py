# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The recipes for tests in CI: what they tell of a suite is what became of it, and nothing runs on after them."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import requests

from service import PROGRAM

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "Sources/FleetTestSupport/FleetTestSupport.docc/TestYourAppWithoutFleetEngine.md"
# The shells of GitHub, of GitLab and of whoever says nothing of errors.
SHELLS = [["bash", "-e"], ["sh", "-e"], ["bash"]]


def run_guide(folder, shell, suite):
    """Runs the guide's recipe with a suite of ours in place of `swift test`; gives the exit code and the suite's address."""
    (recipe,) = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    programs = folder / "programs"
    programs.mkdir()
    (programs / "fleetpass").symlink_to(PROGRAM)
    swift = programs / "swift"
    swift.write_text(f'#!/bin/sh\n[ "$1" = test ] && printf %s "$FLEET_URL" > suite && {suite}\n', encoding="utf-8")
    swift.chmod(0o755)
    result = subprocess.run(
        [*shell, "-c", recipe], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"})
    address = folder / "suite"
    return result, address.read_text(encoding="utf-8") if address.exists() else None


@pytest.mark.parametrize("shell, suite, code", [(SHELLS[0], "true", 0), *((shell, "exit 7", 7) for shell in SHELLS)])
def test_the_guide_s_recipe_ends_as_the_suite_does_and_leaves_nothing_running(tmp_path, shell, suite, code):
    result, address = run_guide(tmp_path, shell, suite)
    assert result.returncode == code, result.stderr
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", address)
    with pytest.raises(requests.ConnectionError):
        requests.get(f"{address}/healthz", timeout=10)


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_the_guide_s_recipe_runs_no_suite_where_the_servers_do_not_start(tmp_path, shell):
    (tmp_path / "fleet").write_text("no folder", encoding="utf-8")
    (tmp_path / "ready.txt").write_text("ready http=http://127.0.0.1:1 of an earlier run\n", encoding="utf-8")
    result, address = run_guide(tmp_path, shell, "true")
    assert result.returncode != 0 and address is None, result.stderr
