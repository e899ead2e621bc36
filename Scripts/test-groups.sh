# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Which Swift tests run apart from the others, and how those of a run are counted. Sourced by the scripts that run them all.

# The proofs by exhaustion keep both cores busy for a minute or more, so they run apart from tests that watch real time.
proofs='TokenCacheExploration|TokenCacheWorld|TokenCacheOrder|SingleFlight|DriversDay|AccessMatrix|RaceTests|Fuzz'

# Tests over real sockets and clocks, which fail where others leave them no time: they run apart, one after the other.
watching='URLSession|ChaosTokenServer|Loopback|DocumentationSampleTests\.|SampleEngineTests\.|DeliveryEngineTests|FleetEngineHTTPClientTests|ConfiguredSignersTests|TestingGuideTests|TokenServerGuideTests'

# Sets $run and $bad: how many tests the log $1 of `swift test` tells of, and how many of them failed. $2 is its exit code.
count_tests() {
  run=$(sed -nE 's/.*Test run with ([0-9]+) tests?.*/\1/p' "$1" | awk '{ sum += $1 } END { print sum + 0 }')
  bad=$(grep -v 'Test run with' "$1" | grep -cE '^✘ Test .* failed after ' || true)
  # A run that crashed has no closing line, or one that does not name the test at fault.
  if (($2 != 0 && bad == 0)) || ((run == 0)); then
    bad=$((bad + 1))
    run=$((run > 0 ? run : 1))
  fi
}
