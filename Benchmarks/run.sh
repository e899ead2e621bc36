#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Builds the benchmarks in release mode and prints one table. Figures are ratios within one run: machines differ, and
# are shared. Needs openssl for one row.
set -euo pipefail
cd "$(dirname "$0")"

swift build -c release >&2
programs=$(swift build -c release --show-bin-path)

echo "| what | ours | beside | ratio | limit |"
echo "| --- | --- | --- | --- | --- |"
"$programs/tokens-bench"
openssl speed -seconds 3 rsa2048 2>/dev/null | awk '/^rsa +2048/ { printf "| for comparison: openssl speed rsa2048 | | %s/s signed, %s/s checked | | |\n", $6, $7 }'
"$programs/engine-bench" | sed 's/$/ |/'
