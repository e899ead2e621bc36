#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Builds Intel's multi-buffer library, by which local keys sign several tokens at once on processors with AVX-512 IFMA.
#
#   Scripts/multi-buffer.sh FOLDER               fetches its sources, builds it, and puts libcrypto_mb.so.* into FOLDER
#   SOURCES=DIR Scripts/multi-buffer.sh FOLDER   takes sources that are at hand
#
# It needs git, cmake, a C compiler and OpenSSL's headers (on Debian: apt-get install git cmake gcc libssl-dev). In a
# folder where the system looks for libraries, such as /usr/local/lib, run ldconfig afterwards; with any other, start
# fleetpass with LD_LIBRARY_PATH=FOLDER.
set -euo pipefail

repository=https://github.com/intel/cryptography-primitives
# What the tag pointed to when it was tried.
tag=v1.0.0 commit=e3d4084720f6047b8338a0855e345aa5c3c3c8f2

usage() { sed -n '6,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }
fail() { echo "multi-buffer: $*" >&2; exit 69; }

[[ $# == 1 && $1 != -* ]] || usage
[[ $(uname -sm) == "Linux x86_64" ]] || fail "the library is for Linux on x86-64."
for program in git cmake cc; do command -v "$program" >/dev/null || fail "$program is missing; install it."; done
mkdir -p "$1"
folder=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sources=${SOURCES:-}
if [[ -z $sources ]]; then
  sources=$work/sources
  git clone --quiet --depth 1 --branch "$tag" "$repository" "$sources" || fail "the sources could not be fetched."
  found=$(git -C "$sources" rev-parse HEAD)
  [[ $found == "$commit" ]] || fail "$tag is $found and not $commit, which was tried; look at what has changed."
fi
cmake -S "$sources/sources/ippcp/crypto_mb" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DARCH=intel64 >"$work/log" \
  && cmake --build "$work/build" --parallel "$(nproc)" >>"$work/log" \
  || { tail -n 20 "$work/log" >&2; fail "the library could not be built."; }
cp -P "$work"/build/bin/libcrypto_mb.so.* "$folder"
for library in "$work"/build/bin/libcrypto_mb.so.*; do echo "$folder/${library##*/}"; done
