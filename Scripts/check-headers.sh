#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Checks that every source file starts with the project's three-line header. Without arguments: every file that git
# knows or would add. With --self-test: proves that a missing header is found.
set -euo pipefail
cd "$(dirname "$0")/.."

# Succeeds when the file has the header in its first five lines: a shebang or tools version may come first.
has_header() {
  local start
  start=$(head -n 5 "$1")
  [[ $start == *"DO NOT EDIT."* && $1 == */Generated/* ]] && return 0
  [[ $start =~ (//|\#)\ Fleetpass[^$'\n']*$'\n'(//|\#)\ Licence:\ see\ LICENSE\ in\ the\ project\ root\.$'\n'(//|\#)\ SPDX-License-Identifier:\ Apache-2\.0 ]]
}

check() {
  local file bad=0
  for file in "$@"; do
    [[ -f $file ]] || continue
    has_header "$file" || { echo "$file: the licence header is missing or differs." >&2; bad=1; }
  done
  return "$bad"
}

self_test() {
  local folder
  folder=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$folder'" EXIT
  mkdir "$folder/Generated"
  printf '// Fleetpass\n// Licence: see LICENSE in the project root.\n// SPDX-License-Identifier: Apache-2.0\n\nlet a = 1\n' \
    >"$folder/good.swift"
  printf '#!/bin/sh\n# Fleetpass\n# Licence: see LICENSE in the project root.\n# SPDX-License-Identifier: Apache-2.0\n' \
    >"$folder/good.sh"
  printf '// DO NOT EDIT.\n' >"$folder/Generated/good.swift"
  printf '// DO NOT EDIT.\n' >"$folder/bad-place.swift"
  printf 'let a = 1\n' >"$folder/bad-missing.swift"
  printf '// Fleetpass\n// SPDX-License-Identifier: Apache-2.0\n' >"$folder/bad-line.swift"
  printf '// Fleetpass\n// Licence: see LICENSE in the project root.\n// SPDX-License-Identifier: MIT\n' >"$folder/bad-id.swift"
  local file
  for file in "$folder"/good.* "$folder/Generated/good.swift"; do
    check "$file" || { echo "check-headers: the self-test's good file $file was refused." >&2; return 1; }
  done
  for file in "$folder"/bad-*; do
    if check "$file" 2>/dev/null; then
      echo "check-headers: the self-test's bad file $file was accepted." >&2
      return 1
    fi
  done
}

if [[ ${1:-} == --self-test ]]; then
  self_test
  exit
fi
mapfile -d '' -t files < <(
  git ls-files -z --cached --others --exclude-standard -- '*.swift' '*.c' '*.h' '*.m' '*.sh' '*.py' '*.proto' .ci/run
)
((${#files[@]})) || { echo "check-headers: no source files were found." >&2; exit 1; }
check "${files[@]}"
