# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The scripts that say whether all is well do not say so of what failed, in whatever way it did."""

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
