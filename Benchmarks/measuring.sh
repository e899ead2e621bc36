# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Shared by what measures a server on core 0 with its load on core 1.

[[ $(nproc) -ge 2 ]] && command -v taskset >/dev/null || { echo "needs Linux, two cores and taskset" >&2; exit 69; }

# A value of a line of NAME=VALUE.
field() { sed -nE "s/(^|.* )$1=([^ ]*).*/\2/p" <<<"$2"; }
# The hundredths of a second that a process has used.
used() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
median() { tr ' ' '\n' <<<"$1" | grep . | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
