#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Every gate, one heavy job at a time, all with the debug build; a release build is made too, which is compiled in
# another way, though not optimised: that takes long and finds nothing. Needs Swift and, on Debian, root for what is
# missing. --full also regenerates the code of protos/ and compares it, which needs protoc, and runs the clients against
# the optimised program as well.
#
# Each gate counts as one check, except for the Swift tests and the clients in Python, which count one by one. The last
# line is "N passed, N failed, N skipped", and what was skipped stands above it, with the reason; the exit code is 0 when
# nothing failed. Where install-packages.sh installs, nothing is skipped because PostgreSQL or Node is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

full=0
case ${1:-} in
  '') ;;
  --full) full=1 ;;
  *) echo "usage: Scripts/test.sh [--full]" >&2; exit 2 ;;
esac

passed=0
failed=0
skipped=0
clients=
work=$(mktemp -d)
touch "$work/skipped"
finish() {
  local code=$?
  ((skipped == 0)) || { echo "== skipped"; cat "$work/skipped"; } >&2
  rm -rf "$work"
  # An unforeseen end counts as a failure and still says so.
  ((code == 0 || failed > 0)) || failed=1
  echo "$passed passed, $failed failed, $skipped skipped"
  ((failed == 0)) || exit 1
}
trap finish EXIT
# The clients end the servers they started when they are told to end themselves.
trap '[[ -z $clients ]] || { kill "$clients"; wait "$clients"; }; exit 130' INT TERM

# Says what begins, and after how many minutes and seconds.
begin() {
  printf '== %s (%d:%02d)\n' "$1" $((SECONDS / 60)) $((SECONDS % 60)) >&2
}

# Runs one gate that counts as one check, with its output in a log that is shown as it comes.
gate() {
  local name=$1
  shift
  begin "$name"
  if "$@" </dev/null >&2; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $name" >&2
    return 1
  fi
}

# Counts what is left out, one a line with its reason from standard input, and keeps the lines for the end.
skip() {
  skipped=$((skipped + $(tee -a "$work/skipped" | wc -l)))
}

# Whether something is there that tests need, by the command that finds it. Its lack is a failure where
# install-packages.sh has just installed it.
have() {
  local name=$1 tests=$2
  shift 2
  if "$@" </dev/null >/dev/null 2>&1; then return; fi
  if command -v dpkg-query >/dev/null; then
    failed=$((failed + 1))
    echo "FAILED: $name is not found, though Scripts/install-packages.sh --tests installs it; $tests cannot run" >&2
  else
    skip <<<"$tests: $name is missing"
  fi
  return 1
}

build_everything() {
  swift build --build-tests 2>&1 | tee "$work/build.log" | awk '/error:|warning:|^Build|\[[0-9]+00\// { print; fflush() }'
}

# Of what was compiled just now, in the package's folders as the build names them or in what a macro stands for, whose place
# the next line tells; dependencies build without warnings shown.
no_warnings() {
  ROOT=$(pwd -P)/ awk '
    { path = index($0, ENVIRON["ROOT"]) == 1 ? substr($0, length(ENVIRON["ROOT"]) + 1) : "" }
    path ~ /^(Examples|Sources|Tests)\/.*warning:/ { print; found = 1 }
    /^macro expansion .*warning:/ { print; found = 1; if (getline) print }
    END { exit found }
  ' "$work/build.log"
}

. Scripts/test-groups.sh
# So many tests at once. Begun all together, each waits for every other between its steps, for a minute and more on two
# cores, and those with a time limit run out of it.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=16

swift_tests() {
  begin "$1"
  shift
  local code=0 run bad left_out
  swift test --skip-build --disable-xctest "$@" </dev/null >"$work/swift-tests.log" 2>&1 || code=$?
  count_tests "$work/swift-tests.log" "$code"
  sed -nE 's/^➜ +Test (.*) skipped(: .*|)\.?$/\1\2/p' "$work/swift-tests.log" >"$work/left-out"
  left_out=$(wc -l <"$work/left-out")
  ((bad == 0)) || { grep -E '✘|error:|Fatal' "$work/swift-tests.log" >&2 || tail -n 40 "$work/swift-tests.log" >&2; }
  echo "$run run, $bad failed, $left_out skipped" >&2
  failed=$((failed + bad))
  ((run - bad - left_out <= 0)) || passed=$((passed + run - bad - left_out))
  skip <"$work/left-out"
}

python_clients() {
  begin "clients in Python against a real server"
  local code=0
  FLEETPASS=$program IntegrationTests/python/run.sh --numprocesses 2 --dist loadfile --junitxml="$work/python.xml" </dev/null >&2 &
  clients=$!
  wait "$clients" || code=$?
  clients=
  local counts=()
  : >"$work/left-out"
  if [[ -s $work/python.xml ]]; then
    read -ra counts < <(python3 - "$work/python.xml" "$work/left-out" <<'PY'
import sys
import xml.etree.ElementTree as tree

suites = list(tree.parse(sys.argv[1]).getroot().iter("testsuite"))
total, bad, skipped = (
    sum(int(suite.get(name, 0)) for suite in suites for name in names)
    for names in (["tests"], ["failures", "errors"], ["skipped"])
)
with open(sys.argv[2], "w", encoding="utf-8") as left_out:
    for suite in suites:
        for case in suite.iter("testcase"):
            for reason in case.iter("skipped"):
                words = " ".join((reason.get("message") or "").split())
                print(f"{case.get('classname')}.{case.get('name')}: {words}", file=left_out)
print(max(total - bad - skipped, 0), bad)
PY
    )
  else
    counts=(0 1)
  fi
  # No tests at all, or an end that the report does not explain, is a failure.
  ((counts[0] + counts[1] > 0)) || counts[1]=1
  ((code == 0 || counts[1] > 0)) || counts[1]=1
  passed=$((passed + counts[0]))
  failed=$((failed + counts[1]))
  skip <"$work/left-out"
}

generated_code_is_unchanged() {
  cp -R Sources/FleetEngineAPI/Generated "$work/api"
  cp -R Sources/FleetEngine/GRPC/Generated "$work/grpc"
  Scripts/generate-protos.sh && diff -r "$work/api" Sources/FleetEngineAPI/Generated \
    && diff -r "$work/grpc" Sources/FleetEngine/GRPC/Generated
}

Scripts/install-packages.sh --tests
have PostgreSQL "the stores' tests with PostgreSQL" Scripts/postgresql.sh programs || true
gate "fast checks" Scripts/check.sh || true
if gate "build" build_everything; then
  gate "no warnings in our code" no_warnings || true
  swift_tests "Swift tests" --skip "$proofs|$watching"
  swift_tests "Swift tests that watch real time" --no-parallel --filter "$watching"
  swift_tests "proofs by exhaustion" --filter "$proofs"
  program=$(swift build --show-bin-path)/fleetpass
  gate "C, Python and Objective-C by the C interface" env FLEETPASS="$program" IntegrationTests/check-objective-c.sh || true
  gate "example apps" env FLEETPASS="$program" IntegrationTests/check-examples.sh || true
  python_clients
fi
gate "apps resolve no third-party package" IntegrationTests/check-zero-dependencies.sh || true
gate "adoption sources beside the SDKs' names" IntegrationTests/check-sdk-adoption.sh || true
if have Node "the browser's token module" command -v node; then
  gate "the browser's token module" node --test IntegrationTests/javascript/*.test.mjs || true
fi
plain=(-Xswiftc -Onone -Xcc -O0)
((full == 0)) || plain=()
if gate "release build" swift build -c release --product fleetpass "${plain[@]}" && ((full)); then
  program=$(swift build -c release --show-bin-path)/fleetpass
  python_clients
fi
if ((full)); then
  gate "generated code fits protos/" generated_code_is_unchanged || true
fi
