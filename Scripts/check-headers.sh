#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Checks that every source file starts with the project's three-line header. Without arguments: every file that git
# knows or would add. With --self-test: proves that a missing header is found.
set -euo pipefail
cd "$(dirname "$0")/.."

# In a variable, a pattern is the same to every version of bash.
header='(//|#) Fleetpass[^
]*
(//|#) Licence: see LICENSE in the project root\.
(//|#) SPDX-License-Identifier: Apache-2\.0'

# Succeeds when the file has the header in its first five lines: a shebang or tools version may come first.
has_header() {
  local start
  start=$(head -n 5 "$1")
  [[ $start == *"DO NOT EDIT."* && $1 == */Generated/* ]] && return 0
  [[ $start =~ $header ]]
}

check() {
  local file bad=0
  for file in "$@"; do
    [[ -f $file ]] || continue
    has_header "$file" || { echo "$file: the licence header is missing or differs." >&2; bad=1; }
  done
  return "$bad"
}

# Prints the source files that git knows here or would add, each with a NUL behind it.
sources() {
  git ls-files -z --cached --others --exclude-standard -- '*.swift' '*.c' '*.h' '*.m' '*.go' '*.sh' '*.py' '*.proto' \
    '*.js' '*.mjs' '*.css' '*.html' '*.svg' '*.yaml' '*.service' '*Containerfile' .dockerignore .ci/run
}

self_test() {
  local folder file made found=0
  folder=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$folder'" EXIT
  # A hook's variables would name the project's repository.
  # shellcheck disable=SC2046
  unset $(git rev-parse --local-env-vars)
  cd "$folder"
  git init --quiet
  mkdir -p Sources/Generated
  local rest='Licence: see LICENSE in the project root.\n'
  printf "// Fleetpass\n// ${rest}// SPDX-License-Identifier: Apache-2.0\n\nlet a = 1\n" >good.swift
  printf "#!/bin/sh\n# Fleetpass\n# ${rest}# SPDX-License-Identifier: Apache-2.0\n" >good.sh
  printf "<!doctype html>\n<!--\n// Fleetpass\n// ${rest}// SPDX-License-Identifier: Apache-2.0\n-->\n" >good.html
  printf '// DO NOT EDIT.\n' >Sources/Generated/good.swift
  printf '// DO NOT EDIT.\n' >bad-place.swift
  printf 'let a = 1\n' >bad-missing.swift
  printf '// Fleetpass\n// SPDX-License-Identifier: Apache-2.0\n' >bad-line.swift
  printf "// Fleetpass\n// ${rest}// SPDX-License-Identifier: MIT\n" >bad-id.swift
  for file in bad.js bad.mjs bad.css bad.html bad.svg bad.go bad.yaml bad.service Containerfile; do
    printf 'a\n' >"$file"
  done
  made=(*.* Containerfile Sources/Generated/*)
  while IFS= read -r -d '' file; do
    if check "$file" 2>/dev/null; then
      [[ $file == *good.* ]] || { echo "check-headers: the self-test's bad file $file was accepted." >&2; return 1; }
    else
      [[ $file != *good.* ]] || { echo "check-headers: the self-test's good file $file was refused." >&2; return 1; }
    fi
    found=$((found + 1))
  done < <(sources)
  ((found == ${#made[@]})) || { echo "check-headers: of the self-test's ${#made[@]} files $found were found." >&2; return 1; }
}

if [[ ${1:-} == --self-test ]]; then
  self_test
  exit
fi
files=()
while IFS= read -r -d '' file; do files+=("$file"); done < <(sources)
((${#files[@]})) || { echo "check-headers: no source files were found." >&2; exit 1; }
check "${files[@]}"
