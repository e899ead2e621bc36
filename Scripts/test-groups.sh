# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Which Swift tests run apart from the others. Sourced by the scripts that run them all.

# The proofs by exhaustion keep both cores busy for a minute or more, so they run apart from tests that watch real time.
proofs='TokenCacheExploration|TokenCacheWorld|TokenCacheOrder|SingleFlight|DriversDay|AccessMatrix|RaceTests|Fuzz'

# Tests over real sockets and clocks, which fail where others leave them no time: they run apart, one after the other.
watching='URLSession|ChaosTokenServer|Loopback|DocumentationSampleTests\.|SampleEngineTests\.|DeliveryEngineTests|FleetEngineHTTPClientTests|ConfiguredSignersTests|TestingGuideTests|TokenServerGuideTests'
