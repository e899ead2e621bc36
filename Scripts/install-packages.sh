#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian packages that building needs, with --demo also those of the demo's page, with --tests also those that
# testing needs, and only those that are missing. Elsewhere it only says what must be there.
set -euo pipefail

packages=(ca-certificates curl git libpq-dev libsqlite3-dev pkg-config zlib1g-dev)
case ${1:-} in
  '') ;;
  --demo) packages+=(libjs-leaflet) ;;
  --tests)
    packages+=(chromium gobjc libblocksruntime-dev libgnustep-base-dev libjs-leaflet nodejs openssl postgresql python3 python3-venv)
    ;;
  *) echo "usage: Scripts/install-packages.sh [--demo | --tests]" >&2; exit 2 ;;
esac

command -v swift >/dev/null || {
  echo "install-packages: swift is missing; install Swift 6.2 or later from https://swift.org/install." >&2
  exit 69
}

if ! command -v dpkg-query >/dev/null; then
  echo "install-packages: not a Debian system; make sure that these are there: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

if [[ $(id -u) != 0 && ${missing[*]} == libjs-leaflet && ${1:-} == --demo ]]; then
  echo "install-packages: libjs-leaflet is missing, so the page has no map. As root: apt-get install libjs-leaflet" >&2
  exit 0
fi
if [[ $(id -u) != 0 ]]; then
  echo "install-packages: missing: ${missing[*]}. Run as root: apt-get install ${missing[*]}" >&2
  exit 69
fi

echo "install-packages: installing ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# The package lists may be absent or old; they are fetched only when something is to be installed.
if ! { apt-get -qq update && apt-get -qq install --yes --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
  cat "$log" >&2
  echo "install-packages: apt-get failed; see above." >&2
  exit 69
fi
