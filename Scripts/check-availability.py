#!/usr/bin/env python3
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Finds what the app side uses of Swift's libraries that the oldest iOS and macOS of the package do not have.

Only a Mac's compiler looks at this by itself. Here the libraries' own symbol graphs tell since when there is what, and
the type-checked code what is used. With --self-test, code that uses something newer must be found in each of several
files.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
OLDEST = {"iOS": (16, 0), "macOS": (15, 0)}
# In the order in which they need each other.
TARGETS = [
    "FleetTokens", "FleetTokenClient", "FleetTokenClientC", "FleetDriver", "FleetConsumer", "FleetTestSupport",
]
LIBRARIES = [
    "Swift", "_Concurrency", "_StringProcessing", "RegexBuilder", "Synchronization", "Observation",
    "FoundationEssentials",
]
FEATURES = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility", "NonisolatedNonsendingByDefault"]
# What a compiler for the oldest systems replaces by what they have.
REPLACED = {
    "next(isolation:)": "an asynchronous sequence is asked by next() there",
    "&*(_:_:)": "integers have an operator of the same name and meaning that is as old as Swift",
}
NEWER = [
    "func read(_ bytes: [UInt8]) -> String? { String(validating: bytes, as: UTF8.self) }",
    "func same(_ number: UInt128) -> UInt128 { number }",
    "import Observation\nfunc see(_ it: any Observable) {}",
    "import Synchronization\nlet count = Mutex(1)\nfunc next() { count.withLock { $0 += 1 } }",
]


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"check-availability: {' '.join(map(str, command[:3]))} failed:\n{result.stderr[-2000:]}")
    return result.stdout


def newer_symbols(folder):
    """The symbols that are newer than the oldest systems, by their unique names: title, system and version."""
    target = json.loads(run("swiftc", "-print-target-info"))["target"]["triple"]
    for library in LIBRARIES:
        run("swift", "symbolgraph-extract", "-module-name", library, "-target", target,
            "-minimum-access-level", "public", "-output-dir", folder)
    newer = {}
    for path in folder.glob("*.symbols.json"):
        for symbol in json.loads(path.read_text(encoding="utf-8"))["symbols"]:
            for available in symbol.get("availability", []):
                since = available.get("introduced", {})
                version = (since.get("major", 0), since.get("minor", 0))
                if version > OLDEST.get(available.get("domain"), (1000, 0)):
                    newer[symbol["identifier"]["precise"]] = (
                        symbol["names"]["title"], f"{available['domain']} {version[0]}.{version[1]}")
    return newer


def uses(module, files, folder, newer):
    """Where a module uses something newer: file, what, since when."""
    features = [word for feature in FEATURES for word in ("-enable-upcoming-feature", feature)]
    options = ["-module-name", module, "-swift-version", "6", "-package-name", "fleetpass", "-parse-as-library",
               *features, "-I", folder]
    run("swiftc", "-emit-module", "-emit-module-path", folder / f"{module}.swiftmodule", *options, *files)
    # Only primary files are told.
    tree = run("swiftc", "-frontend", "-dump-ast", "-dump-ast-format", "json", *options,
               *(word for file in files for word in ("-primary-file", file)))
    # What is only written as a type is told by its mangled name, of which a type's own name is a part.
    # A protocol's has no mark of its kind there.
    types = {name[2:].removesuffix("P"): name for name in newer if name[-1] in "VCOPa"}
    type_names = re.compile("|".join(map(re.escape, sorted(types, key=len, reverse=True))))
    found, seen = set(), set()
    file = "?"
    for match in re.finditer(r'"filename":"([^"]+)"|"(s:[A-Za-z0-9_]+)"|"\$s([A-Za-z0-9_]+)"', tree):
        file = match[1] or file
        seen.add(file)
        names = [match[2]] if match[2] in newer else [types[part] for part in type_names.findall(match[3] or "")]
        found |= {(file, *newer[name]) for name in names if newer[name][0] not in REPLACED}
    if missing := {str(file) for file in files} - seen:
        sys.exit(f"check-availability: the compiler told nothing of {', '.join(sorted(missing))}.")
    return found


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        newer = newer_symbols(folder)
        if "--self-test" in sys.argv[1:]:
            samples = [folder / f"Newer{number}.swift" for number in range(len(NEWER))]
            for sample, text in zip(samples, NEWER):
                sample.write_text(text + "\n", encoding="utf-8")
            missed = {str(sample) for sample in samples} - {use[0] for use in uses("Newer", samples, folder, newer)}
            sys.exit(f"check-availability: nothing is found in {', '.join(sorted(missed))}." if missed else 0)
        found = set()
        header = ROOT / "Sources/CFleetTokenClient/include"
        (folder / "module.modulemap").write_text(f'module CFleetTokenClient {{ umbrella "{header}" export * }}\n')
        for target in TARGETS:
            found |= uses(target, sorted((ROOT / "Sources" / target).rglob("*.swift")), folder, newer)
        for file, title, since in sorted(found):
            print(f"{file}: {title} is there from {since} on only.", file=sys.stderr)
        sys.exit(1 if found else 0)


main()
