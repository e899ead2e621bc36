#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Runs the Swift tests under the thread sanitizer, in a build of its own: those that watch real time and the proofs by
# exhaustion after the others. Arguments go to `swift test`, for example --filter FleetEngineTests. The last line is
# "N run, N failed, N reports".
#
# The exploration of the cache's states runs on one task and would take hours here: it ends after some thousand states.
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=.build-tsan
. Scripts/test-groups.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The sanitizer takes what such a lock protects for a race, so nothing could be believed any more.
if grep -rnE --include='*.swift' '\b(Mutex[<(]|import Synchronization)' Sources Tests >&2; then
  echo "Use Locked instead of Mutex: the thread sanitizer does not understand Mutex on Linux." >&2
  exit 1
fi

swift build --build-tests --sanitize=thread --scratch-path "$scratch"
export TSAN_OPTIONS="halt_on_error=0:history_size=4:log_path=$work/report:suppressions=$PWD/Scripts/thread-sanitizer.suppressions"
export FLEETPASS_EXPLORED_STATES=10000

reports() {
  cat "$work"/report.* 2>/dev/null | grep -c '^WARNING: ThreadSanitizer' || true
}

total=0
failed=0
tests() {
  local code=0 run bad known
  known=$(reports)
  swift test --skip-build --sanitize=thread --scratch-path "$scratch" --disable-xctest "$@" </dev/null >"$work/log" 2>&1 || code=$?
  echo "exit code $code" >&2
  # The sanitizer's own exit code says that there were reports, which are counted apart.
  (($(reports) == known)) || code=0
  count_tests "$work/log" "$code"
  ((bad == 0)) || { grep -E '✘|error:|Fatal' "$work/log" || tail -n 40 "$work/log"; } >&2
  echo "$run run, $bad failed" >&2
  total=$((total + run))
  failed=$((failed + bad))
}

if (($# > 0)); then
  tests "$@"
else
  tests --skip "$proofs|$watching"
  tests --no-parallel --filter "$watching"
  tests --filter "$proofs"
fi
cat "$work"/report.* >&2 2>/dev/null || true
reports=$(reports)
echo "$total run, $failed failed, $reports reports"
((failed == 0 && reports == 0))
