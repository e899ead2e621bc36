#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Minting over HTTP: `serve tokens` on one core, every request for another vehicle, each token signed, verified and
# recorded on disk before it leaves. Beside it, by turns on the same core: `openssl speed rsa2048`, and the same route
# in Node and in Go, which neither verify nor record. ROUNDS and SECONDS_EACH change how long.
#
# Two figures each: what came out in a second, which needs a quiet machine, and the processor's time that a token took,
# which other programs disturb less.
set -euo pipefail
cd "$(dirname "$0")"
. ./serving.sh
rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-4}
connections=${CONNECTIONS:-32}

declare -A ports pids results times
serve fleetpass "$fleetpass" serve tokens --config "$work/tokens.yaml"
ports[fleetpass]=$port pids[fleetpass]=$pid
grep -q libcrypto_mb "/proc/$pid/maps" \
  || echo "without Intel's multi-buffer library, which Scripts/multi-buffer.sh builds for processors with AVX-512 IFMA" >&2
if command -v node >/dev/null; then
  serve node node peers/node/mint.js "$work/keys/driver.json" "$secret"
  ports[node]=$port pids[node]=$pid
fi
if command -v go >/dev/null && [[ -d /usr/share/gocode/src/github.com/golang-jwt/jwt ]]; then
  GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$work/go-cache go build -o "$work/mint-go" peers/go/mint.go
  GOMAXPROCS=1 serve go "$work/mint-go" "$work/keys/driver.json" "$secret"
  ports[go]=$port pids[go]=$pid
fi

# OpenSSL's signatures in a second by the clock, and the microseconds of the processor that one takes.
openssl_signs() { taskset -c 0 openssl speed -elapsed -seconds 2 rsa2048 2>/dev/null | awk '/^rsa +2048/ { print $6 }'; }
openssl_time() { taskset -c 0 openssl speed -seconds 2 rsa2048 2>/dev/null | awk '/^rsa +2048/ { print $4 * 1e6 }'; }

for ((round = 0; round < rounds; round++)); do
  results[openssl]+=" $(openssl_signs)" times[openssl]+=" $(openssl_time)"
  for name in "${!ports[@]}"; do
    before=$(used "${pids[$name]}")
    line=$(load "${ports[$name]}" "$connections" "$seconds")
    time=$(awk -v used="$(($(used "${pids[$name]}") - before))" -v answers="$(field 200 "$line")" \
      'BEGIN { print used * 1e4 / answers }')
    echo "$name: $line cpu_us=$time" >&2
    results[$name]+=" $(field rate "$line")" times[$name]+=" $time"
  done
done

ours=$(median "${results[fleetpass]}")
our_time=$(median "${times[fleetpass]}")
for name in openssl node go; do
  [[ -n ${results[$name]:-} ]] || { echo "left out: $name is not installed" >&2; continue; }
  beside=$(median "${results[$name]}") time=$(median "${times[$name]}")
  case $name in
    openssl) peer="openssl speed rsa2048" limit="at least 0.80 ×" ;;
    node) peer="Node, crypto.sign" limit="over 1 ×" ;;
    go) peer="Go, golang-jwt" limit="over 1 ×" ;;
  esac
  awk -v ours="$ours" -v beside="$beside" -v peer="$peer" -v limit="$limit" 'BEGIN {
    printf "| tokens over HTTP, one core, durable | %d/s | %s: %d/s | %.2f × | %s |\n", ours, peer, beside, ours / beside, limit }'
  awk -v ours="$our_time" -v beside="$time" -v peer="$peer" -v limit="$limit" 'BEGIN {
    printf "| processor time of such a token | %d µs | %s: %d µs | %.2f × | %s |\n", ours, peer, beside, beside / ours, limit }'
done
