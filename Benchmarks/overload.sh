#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Four times the capacity: finds what `serve tokens` mints a second on one core, sends four times that for 60 s
# (SECONDS_EACH changes it), and checks that so many were sent and some refused, nothing but 200, 429 and 503 is answered,
# every refusal says when to come again, admitted requests keep a p99 under ten times the idle one, memory stays bounded,
# and the server works after.
set -euo pipefail
cd "$(dirname "$0")"
. ./serving.sh
seconds=${SECONDS_EACH:-60}

serve fleetpass "$fleetpass" serve tokens --config "$work/tokens.yaml"
rss() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$pid/status"; }

load "$port" 1 2 >/dev/null
idle=$(load "$port" 1 5)
capacity=$(field rate "$(load "$port" 32 5)")
before=$(rss)
over=$(load "$port" 512 "$seconds" $((capacity * 4)))
after=$(rss)
afterwards=$(load "$port" 1 2)
printf 'idle: %s\ncapacity: %s/s\noverload: %s\nafter: %s\n' "$idle" "$capacity" "$over" "$afterwards" >&2

refused=$(($(field 429 "$over" | grep . || echo 0) + $(field 503 "$over" | grep . || echo 0)))
limit=$(awk -v p99="$(field p99_ms "$idle")" 'BEGIN { print p99 * 10 }')
printf '| 4 × capacity for %s s | %s/s admitted, p99 %s ms, %s MiB (%s before) | idle p99 × 10: %s ms | %s refused | p99 under it |\n' \
  "$seconds" "$(field rate "$over")" "$(field p99_ms "$over")" "$after" "$before" "$limit" "$refused"

fail() { echo "overload: $1" >&2; exit 1; }
kill -0 "$pid" || fail "the server ended"
others=$(grep -oE '\b[0-9]{1,3}=[0-9]+' <<<"$over" | grep -vE '^(200|429|503)=' || true)
[[ -z $others ]] || fail "other answers: $others"
missed=$(field missed "$over")
((missed * 20 <= capacity * 4 * seconds)) || fail "$missed requests had no free connection and were not sent"
((refused > 0)) || fail "nothing was refused, so there was no overload"
[[ $(field without_retry_after "$over") == 0 ]] || fail "refusals without Retry-After"
[[ -n $(field 200 "$afterwards") && -z $(field 503 "$afterwards") ]] || fail "the server does not answer afterwards"
awk -v p99="$(field p99_ms "$over")" -v limit="$limit" 'BEGIN { exit !(p99 < limit) }' || fail "admitted requests are too slow"
((after < before + 200)) || fail "memory grew by more than 200 MiB"
