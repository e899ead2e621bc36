#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Builds the example apps as programs for the command line, and runs both against a real `fleetpass up` whose token server
# asks for a secret: a driver reports along a recorded drive, and a customer follows a trip to its end. The apps' screens
# are parsed for the oldest iOS. The example backend calls the same engine over gRPC and REST.
#
# Prints one line per check; the exit code is 0 when all hold. FLEETPASS names the fleetpass program; without it, the one
# of the package's debug build is used.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
fleetpass=${FLEETPASS:-$(swift build --package-path "$root" --show-bin-path)/fleetpass}
source "$here/steps.sh"

# Waits at most 60 s until the file $1 has a line that matches $2.
appears() {
  for _ in {1..1200}; do
    grep -qE -- "$2" "$1" 2>/dev/null && return 0
    sleep 0.05
  done
  echo "no line of this matches $2:"
  cat "$1"
  return 1
}

# Calls the engine as the company's backend: method, path and query, body.
backend() {
  local status
  status=$(curl --silent --show-error --output "$work/answer" --write-out '%{http_code}' --max-time 20 -X "$1" \
    -H @"$work/authorization" -H 'Content-Type: application/json' --data "$3" "$address/v1/providers/demo-fleet/$2")
  [[ $status == 200 ]] || { echo "$1 $2: $status"; cat "$work/answer"; return 1; }
}

# Runs a program that has to end with the exit code $1.
ends_with() {
  local code=0
  "${@:2}" || code=$?
  ((code == $1)) || { echo "ended with $code"; return 1; }
}

# Waits at most 60 s until a process that this shell began ends, and ends as it did.
ends() {
  timeout 60 tail --pid="$1" -f /dev/null || { echo "it still runs"; return 1; }
  wait "$1"
}

# Files that cannot be read are no proof: of these, grep ends with 2.
holds_no_token() {
  ends_with 1 grep -E 'eyJ[A-Za-z0-9_-]{8}' "$@"
}

# Prints the files of the apps in Swift, App/ included.
sources() {
  find -L "$root/Examples/$1/App" "$root/Examples/$1/Shared" -name '*.swift'
}

parse_for_ios() {
  local files
  mapfile -t files < <(sources "$1")
  grep -q 'canImport(SwiftUI)' "${files[@]}" || { echo "$1 has no screens."; return 1; }
  swiftc -parse -swift-version 6 -target arm64-apple-ios16.0 "${files[@]}"
}

# Makes a module of stand-ins: its name, the folder it goes to, and its files.
stand_in() {
  swiftc -swift-version 6 -emit-module -module-name "$1" \
    -o "$2/$1.swiftmodule" -I "$work/apple" -I "$2" "${@:3}"
}

apple_modules() {
  local module
  mkdir -p "$work/apple"
  for module in Combine CoreLocation; do
    stand_in "$module" "$work/apple" "$here/apple-stand-ins/$module.swift"
  done
}

# By the published shape of Google's SDKs.
google_modules() {
  mkdir -p "$work/google"
  stand_in GoogleNavigation "$work/google" "$here/google-stand-ins/GoogleNavigation.swift"
  stand_in GoogleRidesharingDriver "$work/google" "$here/google-stand-ins/GoogleRidesharingDriver+Reporter.swift" \
    "$here/sdk-adoption/Sources/GoogleRidesharingDriver/GoogleRidesharingDriver.swift"
}

# Compiles what stands behind the screens with the settings that Xcode 26 gives a new app, and with the modules in the folders
# that are given.
compiles_as_in_xcode() {
  local files
  mapfile -t files < <(sources "$1" | grep -vE '(View|App)\.swift$')
  swiftc -typecheck -swift-version 5 -warnings-as-errors -default-isolation MainActor \
    -enable-upcoming-feature DisableOutwardActorInference -enable-upcoming-feature GlobalActorIsolatedTypesUsability \
    -enable-upcoming-feature InferIsolatedConformances -enable-upcoming-feature InferSendableFromCaptures \
    -enable-upcoming-feature MemberImportVisibility -enable-upcoming-feature NonisolatedNonsendingByDefault \
    -I "$programs/Modules" "${@:2}" "${files[@]}"
}

[[ -x $fleetpass ]] || { echo "check-examples: $fleetpass is missing; build it, or set FLEETPASS." >&2; exit 69; }
step "the driver app parses for iOS 16" parse_for_ios driver-app || true
step "the consumer app parses for iOS 16" parse_for_ios consumer-app || true
step "both apps build for the command line without a warning" \
  swift build --package-path "$root/Examples" -Xswiftc -warnings-as-errors || exit 1
programs=$(swift build --package-path "$root/Examples" -Xswiftc -warnings-as-errors --show-bin-path)
step "there are stand-ins for Apple's modules" apple_modules || exit 1
step "there are stand-ins for Google's modules" google_modules || exit 1
step "the driver app compiles as in a new Xcode project" compiles_as_in_xcode driver-app -I "$work/apple" || true
step "the driver app compiles with Google's Driver SDK" \
  compiles_as_in_xcode driver-app -I "$work/apple" -I "$work/google" || true
step "the consumer app compiles as in a new Xcode project" compiles_as_in_xcode consumer-app -I "$work/apple" || true
step "the backend's own package can be read" swift package --package-path "$root/Examples/swift-backend" dump-package || true
step "the backend builds" swift build --package-path "$root" --product swift-backend || exit 1
backend_program=$(swift build --package-path "$root" --show-bin-path)/swift-backend

FLEETPASS_SECRET=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
export FLEETPASS_SECRET
digest=$(printf %s "$FLEETPASS_SECRET" | sha256sum | cut -d' ' -f1)
printf '{"callers":[{"name":"app","secret_sha256":"%s","roles":["driver","consumer"]}]}' "$digest" >"$work/callers.json"
"$fleetpass" up --data "$work/data" --port 0 --grpc-port 0 --callers "$work/callers.json" \
  >"$work/up.log" 2>"$work/up.errors" </dev/null &
processes+=($!)
step "token server and engine are ready" appears "$work/up.log" '^ready ' || { cat "$work/up.errors" >&2; exit 1; }
address=$(sed -nE 's/^ready http=([^ ]+).*/\1/p' "$work/up.log")
grpc_port=$(sed -nE 's/^ready .* grpc=[^ ]*:([0-9]+).*/\1/p' "$work/up.log")
servers=(--token-server "$address" --engine "$address")

(umask 077
  token=$("$fleetpass" mint --key "$work/data/service-accounts/server.json" --role server)
  printf 'Authorization: Bearer %s\n' "$token" >"$work/authorization")
step "a vehicle is created" backend POST "vehicles?vehicleId=veh-3" \
  '{"vehicleState":"OFFLINE","supportedTripTypes":["EXCLUSIVE"],"maximumCapacity":4,"vehicleType":{"category":"AUTO"}}'
step "a trip is created" backend POST "trips?tripId=trip-7" '{"tripType":"EXCLUSIVE",
  "pickupPoint":{"point":{"latitude":37.40,"longitude":-122.08}},
  "dropoffPoint":{"point":{"latitude":37.44,"longitude":-122.14}}}'

# Runs the example backend with the ids that its README gives, beside the vehicle that the driver's makes, and checks that
# the trip that it made was read back.
reads_back() {
  local vehicle trip
  read -r vehicle trip < <(sed -nE "s/^ +$1 .* ([^ ]+) ([^ ]+)$/\1 \2/p" "$root/Examples/swift-backend/README.md") ||
    { echo "the README shows no run over $1"; return 1; }
  "$backend_program" "$1" "$2" "$work/data/service-accounts" demo-fleet "$vehicle" "$trip" |
    tee /dev/stderr | grep -qE "^providers/demo-fleet/trips/$trip new$"
}
step "the backend makes a vehicle and a trip over gRPC" reads_back grpc "$grpc_port"
step "the backend makes a vehicle and a trip over REST" reads_back rest "$address"

"$programs/consumer-app-cli" --trip trip-7 "${servers[@]}" >"$work/consumer.log" 2>&1 </dev/null &
consumer=$!
processes+=("$consumer")
step "the customer's token comes from the token server" appears "$work/consumer.log" '^token fetched [0-9a-f]{16} for '
step "the customer sees the trip" appears "$work/consumer.log" '^trip waiting for a driver$'

step "the driver's shift ends well" timeout 120 "$programs/driver-app-cli" --vehicle veh-3 --interval 5 --reports 2 \
  --route "$root/Examples/routes/bay-area-trip-1.gpx" "${servers[@]}"
cp "$work/step.output" "$work/driver.log"
step "the driver's token comes from the token server, once" \
  bash -c "[[ \$(grep -cE '^token fetched [0-9a-f]{16} for ' '$work/driver.log') == 1 ]]"
step "the engine takes the driver's updates" appears "$work/driver.log" '^update 2 succeeded: online$'
step "the shift ends offline" appears "$work/driver.log" '^update [0-9]+ succeeded: offline$'
step "the driver heard of no failure" bash -c "! grep -E 'failed:|token none' '$work/driver.log'"

python3 "$here/refusing_engine.py" >"$work/refusing.log" 2>&1 </dev/null &
processes+=($!)
step "an engine that sets no vehicle offline is ready" appears "$work/refusing.log" '^ready '
refusing=$(sed -nE 's/^ready http=([^ ]+).*/\1/p' "$work/refusing.log")
step "a shift whose last update fails ends, too" ends_with 1 timeout 120 "$programs/driver-app-cli" --vehicle veh-3 \
  --interval 5 --reports 1 --route "$root/Examples/routes/bay-area-trip-1.gpx" --token-server "$address" --engine "$refusing"
cp "$work/step.output" "$work/unfinished.log"
step "the driver hears that the vehicle may still be online" \
  appears "$work/unfinished.log" '^driver-app-cli: .* may still be online$'

step "the trip gets its vehicle" backend PUT "trips/trip-7?updateMask=tripStatus,vehicleId" \
  '{"tripStatus":"ENROUTE_TO_PICKUP","vehicleId":"veh-3"}'
step "the customer sees the driver come" appears "$work/consumer.log" '^trip the driver is on the way$'
step "the trip ends" backend PUT "trips/trip-7?updateMask=tripStatus" '{"tripStatus":"COMPLETE"}'
step "the customer sees the end" appears "$work/consumer.log" '^trip arrived$'
step "the customer's app ends by itself" ends "$consumer"

export FLEETPASS_SECRET=wrong
"$programs/driver-app-cli" --vehicle veh-3 --interval 5 --route "$root/Examples/routes/bay-area-trip-1.gpx" \
  "${servers[@]}" >"$work/refused.log" 2>&1 </dev/null &
processes+=($!)
step "a driver who is not signed in is told so" appears "$work/refused.log" '^token none for .*401'
cp "$work/authorization" "$work/planted.log"
step "a token that is printed would be found" ends_with 1 holds_no_token "$work"/*.log
rm "$work/planted.log"
step "nothing of it prints a token" holds_no_token "$work"/*.log "$work/up.errors"
exit "$failed"
