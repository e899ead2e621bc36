#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Runs a command, such as your tests, beside a token server and an engine of its own, and ends as that command does:
#
#   with-fleet.sh COMMAND [ARGUMENT...]
#
# The command gets FLEET_URL, the token server and the engine over REST; FLEET_GRPC, the engine over gRPC; and FLEET_KEYS, the
# folder with one service account's key file for each role. Needs `fleetpass` on the PATH.
set -euo pipefail

(($#)) || { echo "usage: with-fleet.sh COMMAND [ARGUMENT...]" >&2; exit 2; }
command -v fleetpass >/dev/null || {
  echo "with-fleet: fleetpass is not on the PATH; build it (swift build -c release --product fleetpass) and add its folder." >&2
  exit 69
}
work=$(mktemp -d)
fleetpass up --data "$work/data" --port 0 --grpc-port 0 >"$work/ready" &
up=$!
trap '{ kill "$up" && wait "$up"; } 2>/dev/null || true; rm -rf "$work"' EXIT
until grep -qs '^ready ' "$work/ready"; do
  kill -0 "$up" 2>/dev/null || { echo "with-fleet: fleetpass up did not start; see above." >&2; exit 69; }
  sleep 0.1
done
read -r FLEET_URL FLEET_GRPC < <(sed -nE 's/^ready http=([^ ]+) grpc=([^ ]+) .*/\1 \2/p' "$work/ready")
export FLEET_URL FLEET_GRPC FLEET_KEYS=$work/data/service-accounts
"$@"
