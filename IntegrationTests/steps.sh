# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# What the scripts that check against real servers share, to be sourced: a folder $work, the array of processes that end
# with the script, and checks by name.
work=$(mktemp -d)
processes=()
finish() {
  local code=$?
  ((${#processes[@]} == 0)) || kill "${processes[@]}" 2>/dev/null || true
  wait
  rm -rf "$work"
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

failed=0
# Runs what counts as one check, and shows what it wrote only when it fails.
step() {
  local name=$1
  shift
  if "$@" >"$work/step.output" 2>&1 </dev/null; then
    echo "ok      $name"
  else
    cat "$work/step.output" >&2
    echo "FAILED  $name"
    failed=1
    return 1
  fi
}
