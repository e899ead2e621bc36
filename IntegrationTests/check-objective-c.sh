#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Builds the C interface as one shared library, without any third-party package, and runs programs in C, Python and
# Objective-C (GNUstep) against a real `fleetpass up` and a token server that misbehaves. Then compiles the Objective-C for
# iOS and macOS with automatic reference counting, against declarations in the shape of Apple's.
#
# Prints one line per check; the exit code is 0 when all hold. FLEETPASS names the fleetpass program; without it, the one
# of the package's debug build is used. FLEETPASS_SCRATCH names the build folder of the library, .build/objective-c by default.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
sources=$root/Sources
scratch=${FLEETPASS_SCRATCH:-$root/.build/objective-c}
fleetpass=${FLEETPASS:-$(swift build --package-path "$root" --show-bin-path)/fleetpass}
source "$here/steps.sh"

# Runs a program that prints a line for each of its checks. An end that they do not explain is one more.
program() {
  local name=$1 code=0
  shift
  echo "== $name"
  timeout 180 "$@" </dev/null || code=$?
  ((code == 0)) || { echo "FAILED  $name ended with $code"; failed=1; }
}

# Starts a server in the background and puts the address of its ready line into $address.
start() {
  local log=$1
  shift
  : >"$log"
  "$@" >>"$log" 2>"$log.errors" </dev/null &
  processes+=($!)
  for _ in {1..600}; do
    address=$(sed -nE 's/^ready http=([^ ]+).*/\1/p' "$log")
    [[ -z $address ]] || return 0
    kill -0 "${processes[-1]}" 2>/dev/null || break
    sleep 0.05
  done
  cat "$log.errors" >&2
  echo "check-objective-c: $1 did not get ready." >&2
  return 1
}

[[ -x $fleetpass ]] || { echo "check-objective-c: $fleetpass is missing; build it, or set FLEETPASS." >&2; exit 69; }
step "the library builds without a third-party package" swift build --package-path "$root" --scratch-path "$scratch" \
  --disable-default-traits --product FleetpassTokenClient
library=$(swift build --package-path "$root" --scratch-path "$scratch" --disable-default-traits --show-bin-path)
runtime=$(swiftc -print-target-info | python3 -c 'import json, sys; print(json.load(sys.stdin)["paths"]["runtimeLibraryPaths"][0])')
clang=$(dirname "$(readlink -f "$(command -v swiftc)")")/clang
[[ -x $clang ]] || clang=clang

secret=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
digest=$(printf %s "$secret" | sha256sum | cut -d' ' -f1)
printf '{"callers":[{"name":"app","secret_sha256":"%s","roles":["driver","delivery_trusted_driver"]}]}' "$digest" \
  >"$work/callers.json"
start "$work/up.log" "$fleetpass" up --data "$work/data" --port 0 --grpc-port 0 --callers "$work/callers.json"
start "$work/tokens.log" python3 "$here/objective-c/token_server.py" "$address"

link=(-L"$library" -lFleetpassTokenClient -lpthread "-Wl,-rpath,$library" "-Wl,-rpath,$runtime" "-Wl,-rpath-link,$runtime")
strict=(-Wall -Wextra -Werror)
posix=(-std=c11 -D_POSIX_C_SOURCE=200809L)
header=$sources/CFleetTokenClient/include

step "the header is C99 and C++ to the letter" bash -c \
  "'$clang' -std=c99 -pedantic ${strict[*]} -Wdocumentation -fsyntax-only -x c '$header/fleetpass_token_client.h' &&
   '$clang' -std=c++17 -pedantic ${strict[*]} -fsyntax-only -x c++ '$header/fleetpass_token_client.h'"
step "the C program compiles without a warning" "$clang" "${posix[@]}" "${strict[@]}" -I"$header" \
  "$here/objective-c/c-program.c" -o "$work/c-program" "${link[@]}" &&
  program "C" "$work/c-program" "$address" "$secret"

program "Python, by the library's name alone" python3 "$here/objective-c/python_ffi.py" \
  "$library/libFleetpassTokenClient.so" "$address" "$secret"

integrations=("$root"/Integrations/*/FP*.m)
objective_c=("$sources"/FleetTokenClientObjC/*.m)
includes=(-I"$header" -I"$sources/FleetTokenClientObjC/include" -I"$here/objective-c" -I"$here/objective-c/sdks"
  -I"$root/Integrations/GoogleRidesharingDriver" -I"$root/Integrations/GoogleRidesharingConsumer")

gcc_headers=$(gcc -print-file-name=include)
gnustep=(-fblocks -fobjc-runtime=gcc -fexceptions -fobjc-exceptions -fconstant-string-class=NSConstantString -DGNUSTEP
  -DGNUSTEP_BASE_LIBRARY=1 -DGNU_RUNTIME=1 -D_NATIVE_OBJC_EXCEPTIONS -I"$here/objective-c/gnustep"
  -isystem /usr/include/GNUstep -isystem "$gcc_headers")
step "the Objective-C program compiles without a warning" "$clang" "${posix[@]}" -D_GNU_SOURCE "${strict[@]}" -Wdocumentation \
  "${gnustep[@]}" "${includes[@]}" -I"$sources/FleetTokenClientObjC/Private" "$here/objective-c/objective-c-program.m" \
  "${objective_c[@]}" "${integrations[@]}" -o "$work/objective-c-program" "${link[@]}" -L"$runtime" -lBlocksRuntime \
  -L"$(dirname "$gcc_headers")" -lgnustep-base -lobjc &&
  program "Objective-C" "$work/objective-c-program" "$address" "$secret"

echo "== Apple"
for target in arm64-apple-ios16.0 arm64-apple-macos15.0; do
  for file in "${objective_c[@]}" "${integrations[@]}" "$here/objective-c/guide.m"; do
    step "${file##*/} compiles for $target with automatic reference counting" "$clang" -target "$target" -ffreestanding \
      -fobjc-arc -fblocks "${strict[@]}" -Wdocumentation -I"$here/objective-c/apple" "${includes[@]}" \
      -I"$sources/FleetTokenClientObjC/Private" -c "$file" -o "$work/apple.o" || true
  done
done
exit "$failed"
