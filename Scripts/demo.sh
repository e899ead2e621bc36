#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Builds the command and starts the demo: token server, engine, simulated drivers and trips, and a page to watch them on.
# Arguments go to `fleetpass demo`, for example: Scripts/demo.sh --port 9000
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)

"$here/Scripts/install-packages.sh" --demo
swift build --package-path "$here" -c release --product fleetpass >&2
exec "$(swift build --package-path "$here" -c release --show-bin-path)/fleetpass" demo "$@"
