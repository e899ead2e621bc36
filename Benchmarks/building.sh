# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# What serves as the engine is built with Swift's libraries within it, as the container files build the command; calls of
# them cost more otherwise.

engine_build=(swift build -c release --scratch-path .build/engine)
[[ $(uname) != Linux ]] || engine_build+=(--static-swift-stdlib)
