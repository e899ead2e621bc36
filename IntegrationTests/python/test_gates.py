# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The scripts that say whether all is well do not say so of what failed, in whatever way it did."""

import shutil
import subprocess
from pathlib import Path

import pytest

from test_ci import search_path

ROOT = Path(__file__).resolve().parents[2]
CLOSING = 'echo "✘ Test run with 2 tests in 1 suite ended"'
REPORT = 'echo "WARNING: ThreadSanitizer: data race" >"$(expr "$TSAN_OPTIONS" : ".*log_path=\\([^:]*\\)").1"'


@pytest.mark.parametrize("suite, code, end", [
    (CLOSING, 0, "2 run, 0 failed, 0 reports"),
    (f"{CLOSING}; exit 1", 1, "2 run, 1 failed, 0 reports"),
    (f'echo "✘ Test x() failed after 1.0 seconds with 1 issue."; {CLOSING}; exit 1', 1, "2 run, 1 failed, 0 reports"),
    ("kill -SEGV $$", 1, "1 run, 1 failed, 0 reports"),
    ("true", 1, "1 run, 1 failed, 0 reports"),
    (f"{REPORT}; {CLOSING}; exit 1", 1, "2 run, 0 failed, 1 reports"),
])
def test_a_run_under_the_thread_sanitizer_that_failed_is_told_as_failed(tmp_path, suite, code, end):
    result = subprocess.run(
        [ROOT / "Scripts/thread-sanitizer.sh", "--filter", "x"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, env=search_path(tmp_path, swift=f'[ "$1" = test ] || exit 0\n{suite}'))
    assert (result.returncode, result.stdout.splitlines()[-1:]) == (code, [end]), result.stderr


@pytest.mark.parametrize("answers, reason", [
    ("200=60000 503=168000 missed=12000", None),
    ("200=60000 429=168000 missed=12000", None),
    ("200=60000 503=167999 missed=12001", "12001 requests had no free connection"),
    ("200=60000 missed=180000", "180000 requests had no free connection"),
    ("200=240000 missed=0", "nothing was refused"),
    ("200=60000 400=1 503=179999 missed=0", "other answers: 400=1"),
])
def test_what_was_no_overload_proves_nothing(tmp_path, answers, reason):
    # In place of a server, of which only the memory is looked at, and of the load; 1,000/s are what the server can do.
    for name in ("overload.sh", "measuring.sh"):
        shutil.copy(ROOT / "Benchmarks" / name, tmp_path)
    (tmp_path / "serving.sh").write_text(f"""
. ./measuring.sh
fleetpass=fleetpass
work=.
serve() {{ port=0; pid=$$; }}
load() {{
  local answers="200=5000 missed=0"
  (($2 != 512)) || answers="{answers}"
  echo "rate=1000 p50_ms=1.0 p99_ms=1.5 $answers without_retry_after=0"
}}
""", encoding="utf-8")
    environment = search_path(tmp_path, nproc="echo 2", taskset="exit 1")
    environment.pop("SECONDS_EACH", None)
    result = subprocess.run(
        [tmp_path / "overload.sh"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == (1 if reason else 0), result.stderr
    assert not reason or f"overload: {reason}" in result.stderr


@pytest.mark.parametrize("fails", [None, "format lint", "-parse .*FleetDriver"])
def test_the_fast_checks_want_no_newer_bash_than_macos_has(tmp_path, fails):
    (tmp_path / "bash").write_text("enable -n mapfile readarray\n", encoding="utf-8")
    compiler = f'! expr "$*" : ".*{fails}" >/dev/null' if fails else "true"
    result = subprocess.run(
        [ROOT / "Scripts/check.sh"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        env=search_path(tmp_path, swift=compiler, swiftc=compiler, python3="true") | {"BASH_ENV": str(tmp_path / "bash")})
    told = [line.split()[0] for line in result.stderr.splitlines()]
    assert (result.returncode, told.count("FAILED")) == ((1, 1) if fails else (0, 0)), result.stderr
