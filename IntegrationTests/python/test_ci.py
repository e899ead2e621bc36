# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The recipes for tests in CI: what they tell of a suite is what became of it, and nothing runs on after them."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from service import PROGRAM

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "Examples/ci"
GUIDE = ROOT / "Sources/FleetTestSupport/FleetTestSupport.docc/TestYourAppWithoutFleetEngine.md"
# The shells of GitHub, of GitLab and of whoever says nothing of errors.
SHELLS = [["bash", "-e"], ["sh", "-e"], ["bash"]]


def search_path(folder, **programs):
    """An environment that finds the program, and scripts of ours by their names."""
    programs_folder = folder / "programs"
    programs_folder.mkdir()
    (programs_folder / "fleetpass").symlink_to(PROGRAM)
    for name, script in programs.items():
        (programs_folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (programs_folder / name).chmod(0o755)
    return os.environ | {"PATH": f"{programs_folder}:{os.environ['PATH']}"}


def run_guide(folder, shell, suite):
    """Runs the guide's recipe with a suite of ours in place of `swift test`; gives the exit code and the suite's address."""
    (recipe,) = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    result = subprocess.run(
        [*shell, "-c", recipe], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        env=search_path(folder, swift=f'[ "$1" = test ] && printf %s "$FLEET_URL" > suite && {suite}'))
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


def with_fleet(folder, *command):
    """Runs a command by the example's script, in a copy of the example."""
    copy = folder / "ci"
    shutil.copytree(EXAMPLE, copy)
    temporary = folder / "temporary"
    temporary.mkdir()
    environment = search_path(folder, python3=f'exec {shlex.quote(sys.executable)} "$@"')
    # The tests of the example are no part of a parallel run of these.
    environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    result = subprocess.run(
        ["./with-fleet.sh", *command], cwd=copy, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
        check=False, env=environment | {"TMPDIR": str(temporary)})
    assert list(temporary.iterdir()) == [], "nothing stays behind"
    return result


def test_both_jobs_run_the_example_s_suite_which_passes(tmp_path):
    jobs = [(EXAMPLE / name).read_text(encoding="utf-8") for name in ("github.yaml", "gitlab.yaml")]
    (command,) = {line for job in jobs for line in re.findall(r"(?<= )\./with-fleet\.sh .*", job)}
    (image,) = {name for job in jobs for name in re.findall(r"^ +(?:container|image): (.*)$", job, re.MULTILINE)}
    assert f" -t {image} Examples/ci\n" in (EXAMPLE / "Containerfile").read_text(encoding="utf-8")
    result = with_fleet(tmp_path, *shlex.split(command)[1:])
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"\b6 passed\b", result.stdout)


def test_the_page_s_lines_for_curl_make_a_vehicle_and_a_trip(tmp_path):
    (lines,) = re.findall(r"```sh\n(.*?)```", (ROOT / "docs/testing.md").read_text(encoding="utf-8"), re.DOTALL)
    result = with_fleet(tmp_path, "bash", "-euc", lines)
    assert result.returncode == 0, result.stderr
    assert "providers/demo-fleet/vehicles/veh-1" in result.stdout and "providers/demo-fleet/trips/trip-1" in result.stdout


def test_what_runs_beside_the_servers_tells_its_own_end(tmp_path):
    assert with_fleet(tmp_path, "sh", "-c", "exit 7").returncode == 7


def test_what_would_run_beside_the_servers_is_asked_for():
    result = subprocess.run([EXAMPLE / "with-fleet.sh"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "") and "usage: with-fleet.sh" in result.stderr


def test_who_has_no_fleetpass_on_the_path_is_told_how_to_get_it(tmp_path):
    (tmp_path / "bash").symlink_to(shutil.which("bash"))
    result = subprocess.run(
        [EXAMPLE / "with-fleet.sh", "true"], capture_output=True, text=True, check=False, env={"PATH": str(tmp_path)})
    assert (result.returncode, result.stdout) == (69, "")
    assert "--product fleetpass" in result.stderr and result.stderr.count("\n") == 1


def test_a_job_s_image_has_what_the_tests_here_were_tried_with():
    tried = (ROOT / "IntegrationTests/python/requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in (EXAMPLE / "requirements.txt").read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    assert wanted and set(wanted) <= set(tried)
    text = (EXAMPLE / "Containerfile").read_text(encoding="utf-8")
    server = (ROOT / "Examples/token-server/Containerfile").read_text(encoding="utf-8")
    (libraries,) = re.findall(r"--no-install-recommends (ca-certificates .*) \\$", server, re.MULTILINE)
    assert set(libraries.split()) <= set(text.split())
