#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# What one core serves over REST: the engine over SQLite, and the same server answering a constant, by turns on core 0,
# and a lean client on core 1. ROUNDS and SECONDS_EACH change how long.
set -euo pipefail
cd "$(dirname "$0")"
. ./building.sh
. ./measuring.sh
rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-4}

for product in engine-bench http-load; do "${engine_build[@]}" --product "$product" >&2; done
programs=$("${engine_build[@]}" --show-bin-path)

coproc server { exec taskset -c 0 "$programs/engine-bench" serve; }
# Its input ends with this script, and so does it.
pid=$server_PID
read -r -t 60 line_ready <&"${server[0]}"
token=$(field token "$line_ready")

version=2096-10-02T07:06:40Z
poll="/v1/providers/bench/trips/trip-{}?currentRouteSegmentVersion=$version&currentRouteSegmentTrafficVersion=$version&remainingWaypointsRouteVersion=$version"
update='/v1/providers/bench/vehicles/vehicle-{}?updateMask=lastLocation,vehicleState'
# Kilometres from the stop: where a vehicle should have arrived, the time of its arrival is another in each answer.
place='{"vehicleState":"ONLINE","lastLocation":{"location":{"latitude":37.5{},"longitude":-122.08},"heading":90}}'
load() {
  if [[ $1 == updates ]]; then export BODY=$place; else unset BODY; fi
  IDS=256 taskset -c 1 "$programs/http-load" "$2" "$([[ $1 == updates ]] && echo "$update" || echo "$poll")" "$token" 256 "$seconds"
}

declare -A rates times tails
for ((round = 0; round < rounds; round++)); do
  for kind in updates polls; do
    for whose in engine constant; do
      before=$(used "$pid")
      line=$(load "$kind" "$(field "$whose" "$line_ready")")
      answers=$(field 200 "$line")
      [[ $(field rate "$line") -gt 0 ]] || { echo "no answer: $line" >&2; exit 1; }
      rates[$kind-$whose]+=" $(field rate "$line")"
      tails[$kind-$whose]+=" $(field p99_ms "$line")"
      times[$kind-$whose]+=" $(awk -v used="$(($(used "$pid") - before))" -v answers="$answers" 'BEGIN { print used * 1e4 / answers }')"
    done
  done
done

for kind in updates polls; do
  awk -v kind="$([[ $kind == updates ]] && echo "durable updates" || echo "unchanged trips polled")" \
    -v rate="$(median "${rates[$kind-engine]}")" -v time="$(median "${times[$kind-engine]}")" -v tail="$(median "${tails[$kind-engine]}")" \
    -v constant="$(median "${rates[$kind-constant]}")" -v constant_time="$(median "${times[$kind-constant]}")" 'BEGIN {
    printf "| %s over REST, server on a core of its own | %d/s, p99 %.1f ms, %d µs of processor | constant: %d/s, %d µs | %.2f × |\n",
      kind, rate, tail, time, constant, constant_time, rate / constant }'
done
