#!/usr/bin/env python3
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Checks that the README's Swift examples are, word for word, files that the tests compile, and that its links lead somewhere."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = [
    "IntegrationTests/consumer/Sources/consumer/ReadmeExample.swift",
    "Tests/FleetSigningTests/ReadmeExample.swift",
]
HEADER_LINES = 4

readme = (ROOT / "README.md").read_text(encoding="utf-8")
problems = []
blocks = re.findall(r"```swift\n(.*?)```", readme, re.DOTALL)
if len(blocks) != len(EXAMPLES):
    problems.append(f"README.md has {len(blocks)} Swift examples, and {len(EXAMPLES)} are compiled.")
for block, path in zip(blocks, EXAMPLES):
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines(keepends=True)
    if "".join(lines[HEADER_LINES:]) != block:
        problems.append(f"README.md differs from {path}.")
for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        if not (page.parent / link).exists():
            problems.append(f"{page.relative_to(ROOT)} links to {link}, which is not there.")
if readme.count("\n") >= 160:
    problems.append("README.md has 160 lines or more.")
for problem in problems:
    print(problem, file=sys.stderr)
sys.exit(bool(problems))
