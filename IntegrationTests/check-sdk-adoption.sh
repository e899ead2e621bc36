#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the sources in Integrations/ next to modules with the names of Google's SDKs, in the Swift 6 and the Swift 5
# mode, and runs the tests in sdk-adoption/ with them. Warnings are errors, because apps compile these sources as their
# own. They are parsed for the oldest iOS as well.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

swift test --package-path "$here/sdk-adoption" -Xswiftc -warnings-as-errors >"$log" 2>&1 </dev/null ||
  { cat "$log" >&2; echo "sdk-adoption: the adoption sources do not build or pass their tests." >&2; exit 1; }
run=$(grep -oE 'Test run with [0-9]+ tests' "$log" | grep -oE '[0-9]+' | tail -n 1 || true)
# The same tests in both language modes.
if ((${run:-0} < 2)) || ((run % 2 != 0)); then
  echo "sdk-adoption: ${run:-0} tests ran, which cannot be all of them in both language modes." >&2
  exit 1
fi
find "$here/../Integrations" -name '*.swift' -exec swiftc -parse -target arm64-apple-ios16.0 {} +
echo "sdk-adoption: $run tests passed in two language modes." >&2
