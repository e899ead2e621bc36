#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Runs the Python clients against a real `fleetpass up`. FLEETPASS names the program; arguments go to pytest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=${FLEETPASS_VENV:-$root/.build/integration-venv}

export FLEETPASS=${FLEETPASS:-$root/.build/release/fleetpass}
[[ -x $FLEETPASS ]] || { echo "run: there is no program $FLEETPASS; build it, or name another with FLEETPASS." >&2; exit 69; }
FLEETPASS=$(cd "$(dirname "$FLEETPASS")" && pwd)/$(basename "$FLEETPASS")

# The environment is made once for each list of packages.
if ! cmp -s "$here/requirements.txt" "$venv/installed.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" </dev/null
  cp "$here/requirements.txt" "$venv/installed.txt"
fi
cd "$here"
exec "$venv/bin/python" -m pytest "$@"
