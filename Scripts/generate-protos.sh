#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Regenerates the Swift of protos/: the Fleet Engine API into Sources/FleetEngineAPI/Generated, gRPC's own services into
# Sources/FleetEngine/GRPC/Generated with the description of all of them that reflection answers from. The results are
# committed, so that users need neither protoc nor its plugins. Needs protoc (Debian: protobuf-compiler).
set -euo pipefail
cd "$(dirname "$0")/.."

command -v protoc >/dev/null || { echo "protoc is missing; install protobuf-compiler." >&2; exit 69; }
swift build --product protoc-gen-swift >&2
swift build --product protoc-gen-grpc-swift-2 >&2
plugins=$(swift build --show-bin-path)

generate() {
  local out=$1 visibility=$2 from=$3
  rm -rf "$out"
  mkdir -p "$out"
  # shellcheck disable=SC2046  # no name of ours has a space
  protoc -I protos \
    --plugin="$plugins/protoc-gen-swift" \
    --plugin="$plugins/protoc-gen-grpc-swift-2" \
    --swift_out="$out" --swift_opt=Visibility="$visibility" --swift_opt=UseAccessLevelOnImports=true \
    --swift_opt=FileNaming=PathToUnderscores \
    --grpc-swift-2_out="$out" --grpc-swift-2_opt=Visibility="$visibility" \
    --grpc-swift-2_opt=UseAccessLevelOnImports=true --grpc-swift-2_opt=FileNaming=PathToUnderscores \
    --grpc-swift-2_opt=Client=true --grpc-swift-2_opt=Server=true \
    $(find $from -name '*.proto' | sort)
  # A file without a service gives an empty stub file.
  grep -L "ServiceDescriptor" "$out"/*.grpc.swift | xargs -r rm
  # Only the message that alone holds a storage changes it, and each access ends before another can begin: looking for two at
  # once would take several hundredths of the time of a call.
  sed -i 's/^    var _/    @exclusivity(unchecked) var _/' "$out"/*.pb.swift
  ls "$out" >&2
}

generate Sources/FleetEngineAPI/Generated Public "protos/google protos/maps"
generate Sources/FleetEngine/GRPC/Generated Internal protos/grpc
find protos -name '*.proto' -print0 | sort -z |
  xargs -0 protoc -I protos --include_imports --descriptor_set_out=Sources/FleetEngine/GRPC/Generated/services.binpb
