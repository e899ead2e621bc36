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

# An environment is made once for each list of packages.
environment() {
  local folder=$1 packages=$2
  ! cmp -s "$packages" "$folder/installed.txt" || return 0
  rm -rf "$folder"
  python3 -m venv "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check -r "$packages" </dev/null
  cp "$packages" "$folder/installed.txt"
}
environment "$venv" "$here/requirements.txt"
environment "$venv-oldest" "$here/requirements-oldest.txt"
export FLEETPASS_OLDEST_PYTHON=$venv-oldest/bin/python
cd "$here"
exec "$venv/bin/python" -m pytest "$@"
