#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# What the engine over SQLite serves over REST and gRPC, beside the same server answering a constant, by turns, to a lean
# client with 256 connections: `alone` gives the server core 0 and the client core 1, `shared` both of them all cores.
# ROUNDS and SECONDS_EACH change how long.
set -euo pipefail
cd "$(dirname "$0")"
. ./building.sh
. ./measuring.sh

case ${1:-} in
  alone) server_cores=0 client_cores=1 where='server on a core of its own' ;;
  shared) server_cores=$every_core client_cores=$every_core where='lean client' ;;
  *) echo "usage: lean.sh alone | shared" >&2; exit 2 ;;
esac
rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-4}

for product in engine-bench http-load; do "${engine_build[@]}" --product "$product" >&2; done
programs=$("${engine_build[@]}" --show-bin-path)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
coproc server { exec taskset -c "$server_cores" "$programs/engine-bench" serve; }
# Its input ends with this script, and so does it.
pid=$server_PID
read -r -t 60 line_ready <&"${server[0]}"
calls_of_engine "$programs" "$work" "$(field token "$line_ready")"

declare -A rates times tails
for ((round = 0; round < rounds; round++)); do
  for kind in updates polls; do
    for transport in REST gRPC; do
      for whose in engine constant; do
        before=$(used "$pid")
        line=$(call "$kind" "$transport" "$(field "$whose$([[ $transport == REST ]] || echo _grpc)" "$line_ready")" "$seconds")
        rates[$kind-$transport-$whose]+=" $(field rate "$line")"
        tails[$kind-$transport-$whose]+=" $(field p99_ms "$line")"
        times[$kind-$transport-$whose]+=" $(awk -v used="$(($(used "$pid") - before))" -v answers="$(field 200 "$line")" 'BEGIN { print used * 1e4 / answers }')"
      done
    done
  done
done

for kind in updates polls; do
  for transport in REST gRPC; do
    of=$kind-$transport
    awk -v kind="$([[ $kind == updates ]] && echo "durable updates" || echo "unchanged trips polled")" -v transport="$transport" -v where="$where" \
      -v rate="$(median "${rates[$of-engine]}")" -v time="$(median "${times[$of-engine]}")" -v tail="$(median "${tails[$of-engine]}")" \
      -v constant="$(median "${rates[$of-constant]}")" -v constant_time="$(median "${times[$of-constant]}")" 'BEGIN {
      printf "| %s over %s, %s | %d/s, p99 %.1f ms, %d µs of processor | constant: %d/s, %d µs | %.2f × |\n",
        kind, transport, where, rate, tail, time, constant, constant_time, rate / constant }'
  done
done
