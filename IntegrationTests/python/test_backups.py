# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The pages' lines for copies of the stores: what they put back is the copy, and a copy that cannot be read costs nothing."""

import getpass
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from service import run
from test_audit import STORE, empty_store  # noqa: F401  (a fixture)
from test_ci import search_path

DOCS = Path(__file__).resolve().parents[2] / "docs"
ENGINE_STORE = "fleetpass.sqlite"
SQLITE3 = """
import shlex, sqlite3, sys

sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(shlex.split(sys.argv[2])[1]))
"""


def section(page, title):
    return re.search(rf"^#+ {title}\n(.*?)(?=^##|\Z)", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[1]


def run_lines(folder, lines, names, **programs):
    """Runs lines of a page as somebody does who types them, with names of ours for those in capitals."""
    text = re.sub(r"(?<![\w-])[A-Z]+(?:-[A-Z]+)*\b", lambda name: names.get(name[0], name[0]), "\n".join(lines))
    return subprocess.run(
        ["bash", "-c", re.sub(r"(?<= --owner=)[\w-]+", getpass.getuser(), text)], cwd=folder, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, env=search_path(folder, **programs))


def test_a_copy_of_a_store_is_whole_and_its_owner_s_alone(tmp_path, service):
    lines = re.findall("^ {4}(.*)$", section("token-server.md", "Backups"), re.MULTILINE)
    result = run_lines(
        tmp_path, ["umask 022", *lines], {"DIR": str(service.data), "COPY": "copy", "DATABASE": "fleetpass"},
        sqlite3=f'exec {shlex.quote(sys.executable)} -c {shlex.quote(SQLITE3)} "$@"', pg_dump="echo >${2#--file=}")
    copies = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("copy.*")}
    assert copies == {"copy.sqlite": 0o600, "copy.dump": 0o600}, result.stderr
    assert run("audit", "verify", "--store", tmp_path / "copy.sqlite").returncode == 0


@pytest.fixture
def put_back(tmp_path, service, empty_store):
    """Puts the copies of that name back in the place of what the folders `tokens` and `engine` have."""
    lines = re.findall("^ {4}(.*)$", section("on-call.md", "The database is lost"), re.MULTILINE)
    assert len(lines) == 5
    empty_store(tmp_path / "copy.sqlite")
    shutil.copy(service.data / ENGINE_STORE, tmp_path / "engine-copy.sqlite")
    for folder in ("tokens", "engine"):
        (tmp_path / folder).mkdir()

    def put(copy, engine_copy):
        result = run_lines(
            tmp_path, [line for line in lines if "# PostgreSQL" not in line],
            {"DIR": "tokens", "ENGINE": "engine", "ENGINE-COPY": engine_copy, "COPY": copy, "OLDER-HEAD": f"0:{'0' * 64}"},
            systemctl='echo "$*" >>systemctl')
        return result.stderr, (tmp_path / "systemctl").read_text(encoding="utf-8").splitlines()

    return put


def test_copies_are_put_back_and_the_servers_start(tmp_path, put_back):
    stores = {f"tokens/{STORE}": "copy.sqlite", f"engine/{ENGINE_STORE}": "engine-copy.sqlite"}
    for store in stores:
        for path in (store, f"{store}-wal", f"{store}-shm"):
            (tmp_path / path).write_text("damaged", encoding="utf-8")
    errors, calls = put_back("copy", "engine-copy")
    assert calls == ["stop fleetpass-tokens fleetpass-engine", "start fleetpass-tokens", "start fleetpass-engine"], errors
    for store, copy in stores.items():
        assert (tmp_path / store).read_bytes() == (tmp_path / copy).read_bytes()
        assert stat.S_IMODE((tmp_path / store).stat().st_mode) == 0o600
        assert [path.name for path in (tmp_path / store).parent.iterdir()] == [(tmp_path / store).name]


def test_what_a_copy_that_cannot_be_read_would_replace_stays(tmp_path, put_back):
    paths = [tmp_path / f"{store}{end}" for store in (f"tokens/{STORE}", f"engine/{ENGINE_STORE}") for end in ("", "-wal", "-shm")]
    for path in paths:
        path.write_text("damaged", encoding="utf-8")
    errors, calls = put_back("gone", "gone")
    assert calls == ["stop fleetpass-tokens fleetpass-engine"], "no server makes an empty store"
    assert errors.count("cannot stat 'gone.sqlite'") == 2
    assert sorted(path for folder in ("tokens", "engine") for path in (tmp_path / folder).iterdir()) == sorted(paths)
