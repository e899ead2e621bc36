#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Builds the benchmarks in release mode and prints one table. Figures are ratios within one run: machines differ, and
# are shared. Needs openssl for one row.
#
#   run.sh            tokens and the engine
#   run.sh minting    minting over HTTP beside openssl, Node and Go, by turns on one core
#   run.sh overload   four times the capacity for a minute
set -euo pipefail
cd "$(dirname "$0")"

case ${1:-} in
  '') ;;
  minting | overload)
    echo "| what | ours | beside | ratio | limit |"
    echo "| --- | --- | --- | --- | --- |"
    exec "./$1.sh"
    ;;
  *) echo "usage: Benchmarks/run.sh [minting | overload]" >&2; exit 2 ;;
esac

swift build -c release >&2
programs=$(swift build -c release --show-bin-path)

echo "| what | ours | beside | ratio | limit |"
echo "| --- | --- | --- | --- | --- |"
"$programs/tokens-bench"
openssl speed -seconds 3 rsa2048 2>/dev/null | awk '/^rsa +2048/ { printf "| for comparison: openssl speed rsa2048 | | %s/s signed, %s/s checked | | |\n", $6, $7 }'
"$programs/engine-bench" | sed 's/$/ |/'
