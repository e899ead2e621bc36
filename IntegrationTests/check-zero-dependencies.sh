#!/usr/bin/env bash
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
#
# Proves that an app that takes the client libraries without traits resolves no third-party package: builds and runs
# the package in consumer/ from nothing, then looks at everything that the package manager resolved for it. Then asks the
# same of a copy with the default traits, which must not pass.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints the third-party packages that the package in folder $1, with scratch folder $2, resolved.
third_party() {
  local package=$1 scratch=$2
  swift package --package-path "$package" --scratch-path "$scratch" show-dependencies --format json \
    >"$work/tree.json" 2>"$work/tree.log" </dev/null || { cat "$work/tree.log" >&2; return 1; }
  python3 - "$work/tree.json" "$package" "$scratch" "$root" <<'PY'
import json, os, sys

tree_file, package, scratch, root = sys.argv[1:]
with open(tree_file, encoding="utf-8") as file:
    # Progress may stand before the tree.
    text = file.read()
tree = json.loads(text[text.index("{"):])
found = set()

def walk(node):
    for child in node["dependencies"]:
        if os.path.realpath(child["url"]) != os.path.realpath(root):
            found.add(f"show-dependencies lists {child['identity']}")
        walk(child)

walk(tree)
ours = [child for child in tree["dependencies"] if os.path.realpath(child["url"]) == os.path.realpath(root)]
if not ours:
    sys.exit("the tree does not hold the package under test; the check looks at the wrong thing.")
resolved = os.path.join(package, "Package.resolved")
if os.path.exists(resolved):
    with open(resolved, encoding="utf-8") as file:
        found.update(f"Package.resolved pins {pin['identity']}" for pin in json.load(file)["pins"])
for folder in ("checkouts", "repositories", "artifacts"):
    path = os.path.join(scratch, folder)
    if os.path.isdir(path):
        found.update(f"{folder}/ holds {name}" for name in os.listdir(path) if not name.startswith("."))
print("\n".join(sorted(found)))
PY
}

# Copies the consumer with its path made absolute, so that nothing of an earlier build takes part.
copy() {
  mkdir -p "$1"
  cp -R "$here/consumer/Sources" "$1/"
  sed -e "s|path: \"../..\"|path: \"$root\"|" -e "s|traits: \\[\\]|traits: $2|" "$here/consumer/Package.swift" \
    >"$1/Package.swift"
  grep -qF "traits: $2" "$1/Package.swift" || { echo "zero-dependencies: the copy's manifest was not changed." >&2; exit 1; }
}

copy "$work/none" '[]'
swift build --package-path "$work/none" --scratch-path "$work/none-build" >"$work/build.log" 2>&1 </dev/null ||
  { cat "$work/build.log" >&2; echo "zero-dependencies: the consumer package does not build." >&2; exit 1; }
"$work/none-build/debug/consumer"
found=$(third_party "$work/none" "$work/none-build")
if [[ -n $found ]]; then
  echo "zero-dependencies: without traits, these were resolved:" >&2
  echo "$found" >&2
  exit 1
fi

copy "$work/defaults" '[.defaults]'
found=$(third_party "$work/defaults" "$work/defaults-build")
if [[ $found != *swift-crypto* ]]; then
  echo "zero-dependencies: the check sees nothing with the default traits either, so it proves nothing." >&2
  exit 1
fi
echo "zero-dependencies: none without traits; $(grep -c show-dependencies <<<"$found") with the default ones." >&2
