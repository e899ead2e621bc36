# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Shared by what measures a server with a load from another process.

[[ $(nproc) -ge 2 ]] && command -v taskset >/dev/null || { echo "needs Linux, two cores and taskset" >&2; exit 69; }

# A value of a line of NAME=VALUE.
field() { sed -nE "s/(^|.* )$1=([^ ]*).*/\2/p" <<<"$2"; }
# The hundredths of a second that a process has used.
used() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
median() { tr ' ' '\n' <<<"$1" | grep . | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

every_core=0-$(($(nproc) - 1))

# Prepares calls of a server of engine-bench for `call`: the folder of the programs, one for what is sent, and the token.
calls_of_engine() {
  programs=$1 messages=$2 token=$3
  for kind in updates polls; do "$programs/engine-bench" messages "$kind" >"$messages/$kind"; done
}

# Calls a server of engine-bench, `updates` or `polls` over REST or gRPC, at a port for some seconds, with a lean client on
# $client_cores; prints its line.
call() {
  local kind=$1 transport=$2 port=$3 seconds=$4 path line version=2096-10-02T07:06:40Z
  case $transport-$kind in
    REST-updates) path='/v1/providers/bench/vehicles/vehicle-{}?updateMask=lastLocation,vehicleState' ;;
    REST-polls)
      path="/v1/providers/bench/trips/trip-{}?currentRouteSegmentVersion=$version"
      path+="&currentRouteSegmentTrafficVersion=$version&remainingWaypointsRouteVersion=$version" ;;
    gRPC-updates) path=/maps.fleetengine.v1.VehicleService/UpdateVehicle ;;
    gRPC-polls) path=/maps.fleetengine.v1.TripService/GetTrip ;;
  esac
  line=$(
    export IDS=256
    # Kilometres from the stop: where a vehicle should have arrived, the time of its arrival is another in each answer.
    [[ $transport-$kind != REST-updates ]] \
      || export BODY='{"vehicleState":"ONLINE","lastLocation":{"location":{"latitude":37.5{},"longitude":-122.08},"heading":90}}'
    [[ $transport == REST ]] || export MESSAGES=$messages/$kind
    taskset -c "$client_cores" "$programs/http-load" "$port" "$path" "$token" 256 "$seconds"
  )
  [[ $(field rate "$line") -gt 0 ]] || { echo "no answer: $line" >&2; return 1; }
  echo "$line"
}
