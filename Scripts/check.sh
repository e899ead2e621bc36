#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# The checks that need no build, in seconds: format and lint, licence headers, the examples of README and guides,
# links, symbols in the documentation, and that the app-side targets parse for iOS. Every check runs, whatever came of the others,
# with the bash of macOS too, which is version 3.2.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
check() {
  local name=$1
  shift
  if "$@" </dev/null; then
    echo "ok      $name" >&2
  else
    echo "FAILED  $name" >&2
    failed=1
  fi
}

lint() {
  git ls-files -z --cached --others --exclude-standard -- '*.swift' ':!*/Generated/*' \
    | xargs -0 swift format lint --strict --parallel
}

# Apple's own frameworks are not here, so this sees syntax only; of Swift's libraries, the check of availability sees more.
parse_for_ios() {
  local target
  for target in FleetTokens FleetTokenClient FleetTokenClientC FleetDriver FleetConsumer FleetTestSupport; do
    find "Sources/$target" -name '*.swift' -exec swiftc -parse -swift-version 6 -target arm64-apple-ios16.0 {} + || return 1
  done
}

check "format and lint" lint
check "licence headers" Scripts/check-headers.sh
check "the headers' check can fail" Scripts/check-headers.sh --self-test
check "examples of README and guides, and links" python3 Scripts/check-readme.py
check "links to symbols in the documentation" python3 Scripts/check-symbols.py
check "the symbols' check can fail" python3 Scripts/check-symbols.py --self-test
check "app side parses for iOS 16" parse_for_ios
check "app side uses what iOS 16 has of Swift's libraries" python3 Scripts/check-availability.py
check "the check of availability can fail" python3 Scripts/check-availability.py --self-test
exit "$failed"
