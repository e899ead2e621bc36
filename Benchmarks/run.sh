#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Builds the benchmarks in release mode and prints one table. Figures are ratios within one run: machines differ, and
# are shared. Needs openssl for one row.
#
#   run.sh                    tokens and the engine
#   run.sh minting            minting over HTTP beside openssl, Node and Go, by turns on one core
#   run.sh alone              what one core serves to a lean client on another
#   run.sh shared             what all cores serve to a lean client that shares them
#   run.sh overload           four times the capacity for a minute
#   run.sh vehicles [COUNT]   a store with a million vehicles, or COUNT: memory, start, searches, updates
#   run.sh postgresql         the engine over PostgreSQL, beside pgbench
set -euo pipefail
cd "$(dirname "$0")"
. ./building.sh

case ${1:-} in
  '') ;;
  minting | overload)
    echo "| what | ours | beside | ratio | limit |"
    echo "| --- | --- | --- | --- | --- |"
    exec "./$1.sh"
    ;;
  alone | shared)
    echo "| what | ours | beside | ratio |"
    echo "| --- | --- | --- | --- |"
    exec ./lean.sh "$1"
    ;;
  vehicles)
    "${engine_build[@]}" --product engine-bench >&2
    echo "| what | figure |"
    echo "| --- | --- |"
    exec "$("${engine_build[@]}" --show-bin-path)/engine-bench" "$@"
    ;;
  postgresql) exec ./postgresql.sh ;;
  *) echo "usage: Benchmarks/run.sh [minting | overload | alone | shared | vehicles [COUNT] | postgresql]" >&2; exit 2 ;;
esac

swift build -c release --product tokens-bench >&2
"${engine_build[@]}" --product engine-bench >&2

echo "| what | ours | beside | ratio | limit |"
echo "| --- | --- | --- | --- | --- |"
"$(swift build -c release --show-bin-path)/tokens-bench"
openssl speed -seconds 3 rsa2048 2>/dev/null | awk '/^rsa +2048/ { printf "| for comparison: openssl speed rsa2048 | | %s/s signed, %s/s checked | | |\n", $6, $7 }'
"$("${engine_build[@]}" --show-bin-path)/engine-bench" | sed 's/$/ |/'
