#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Regenerates the Swift of Sources/FleetEngineAPI/Generated from protos/. The result is committed, so that users need
# neither protoc nor its plugins. Needs protoc (Debian: protobuf-compiler).
set -euo pipefail
cd "$(dirname "$0")/.."

command -v protoc >/dev/null || { echo "protoc is missing; install protobuf-compiler." >&2; exit 69; }
swift build --product protoc-gen-swift >&2
swift build --product protoc-gen-grpc-swift-2 >&2
plugins=$(swift build --show-bin-path)

out=Sources/FleetEngineAPI/Generated
rm -rf "$out"
mkdir -p "$out"
find protos -name '*.proto' -print0 | xargs -0 protoc -I protos \
  --plugin="$plugins/protoc-gen-swift" \
  --plugin="$plugins/protoc-gen-grpc-swift-2" \
  --swift_out="$out" --swift_opt=Visibility=Public --swift_opt=UseAccessLevelOnImports=true \
  --swift_opt=FileNaming=PathToUnderscores \
  --grpc-swift-2_out="$out" --grpc-swift-2_opt=Visibility=Public --grpc-swift-2_opt=UseAccessLevelOnImports=true \
  --grpc-swift-2_opt=FileNaming=PathToUnderscores --grpc-swift-2_opt=Client=true --grpc-swift-2_opt=Server=true
# A file without a service gives an empty stub file.
grep -L "ServiceDescriptor" "$out"/*.grpc.swift | xargs -r rm
ls "$out" >&2
