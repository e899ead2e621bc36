#!/usr/bin/env python3
# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""Checks that the README's and the guides' examples are, word for word, code that is compiled, and that links lead somewhere.

The scripts and tests that the README, CHANGELOG.md, CONTRIBUTING.md and the examples' pages name are there, too.
"""

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = [
    "IntegrationTests/consumer/Sources/consumer/ReadmeExample.swift",
    "Tests/FleetSigningTests/ReadmeExample.swift",
]
HEADER_LINES = 4
# What a page may name: a path below one of these folders, or the name of one of the tests in Python alone.
NAMED = re.compile(r"\b(?:Scripts|IntegrationTests|Integrations|Examples)/[\w./-]*\w|\btest_\w+\.py\b")
TESTS = "IntegrationTests/python"
# What the guides' examples are taken from, by the language of the example.
GUIDE_SOURCES = {
    "swift": ["Examples/*/Shared/*.swift", "Examples/*/CommandLine/*.swift", "Tests/*/Guides/*.swift"],
    "objc": ["IntegrationTests/objective-c/guide.m"],
}
# What shows how to hand tokens to Google's own SDKs and library says which token server these need.
HAND_OVERS = [
    "README.md",
    "Integrations/README.md",
    "docs/fleet-token.md",
    "docs/objective-c.md",
    "Sources/FleetConsumer/FleetConsumer.docc/AddTokensToYourConsumerApp.md",
    "Sources/FleetDriver/FleetDriver.docc/AddTokensToYourDriverApp.md",
]
SIGNERS = "token-server.md#signers"


def text(path):
    return path.read_text(encoding="utf-8")


def holds(lines, block):
    """Whether the lines of the block stand together somewhere, whatever they are indented by."""
    runs = range(len(lines) - len(block) + 1)
    return any(textwrap.dedent("\n".join(lines[start : start + len(block)])).split("\n") == block for start in runs)


def check_guide(guide, landing):
    """The problems of one guide, and of the way to it from its module's page."""
    name = guide.relative_to(ROOT)
    for language, block in re.findall(r"```(\w*)\n(.*?)```", text(guide), re.DOTALL):
        if language not in GUIDE_SOURCES:
            if language != "sh":
                yield f"{name} has an example in {language or 'no language'}, which nothing compiles."
            continue
        sources = [source for pattern in GUIDE_SOURCES[language] for source in sorted(ROOT.glob(pattern))]
        lines = block.rstrip("\n").split("\n")
        if not any(holds(text(source).split("\n"), lines) for source in sources):
            yield f"{name}: no compiled source holds the example that begins with: {lines[0]}"
    if f"<doc:{guide.stem}>" not in text(landing):
        yield f"{landing.relative_to(ROOT)} does not lead to {guide.name}."
    if text(guide).count("\n") >= 120:
        yield f"{name} has 120 lines or more."


readme = text(ROOT / "README.md")
problems = []
blocks = re.findall(r"```swift\n(.*?)```", readme, re.DOTALL)
if len(blocks) != len(EXAMPLES):
    problems.append(f"README.md has {len(blocks)} Swift examples, and {len(EXAMPLES)} are compiled.")
for block, path in zip(blocks, EXAMPLES):
    lines = text(ROOT / path).splitlines(keepends=True)
    if "".join(lines[HEADER_LINES:]) != block:
        problems.append(f"README.md differs from {path}.")
pages = [
    *(ROOT / name for name in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Integrations/README.md"]),
    *(ROOT / "Examples").glob("*/README.md"),
]
for page in pages:
    for name in NAMED.findall(text(page)):
        if not (ROOT / name).exists() and not (ROOT / TESTS / name).exists():
            problems.append(f"{page.relative_to(ROOT)} names {name}, which is not there.")
for page in [*pages, *(ROOT / "docs").rglob("*.md")]:
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", text(page)):
        if not (page.parent / link).exists():
            problems.append(f"{page.relative_to(ROOT)} links to {link}, which is not there.")
for name in HAND_OVERS:
    if SIGNERS not in text(ROOT / name):
        problems.append(f"{name} hands tokens to Google's clients without the way to {SIGNERS}.")
if readme.count("\n") >= 160:
    problems.append("README.md has 160 lines or more.")
for catalog in sorted(ROOT.glob("Sources/*/*.docc")):
    landing = catalog / f"{catalog.stem}.md"
    guides = sorted(set(catalog.glob("*.md")) - {landing})
    problems += [problem for guide in guides for problem in check_guide(guide, landing)]
    for link in re.findall(r"<doc:(\w+)>", "".join(map(text, [landing, *guides]))):
        if not (catalog / f"{link}.md").exists():
            problems.append(f"{catalog.name} leads to {link}, which is not there.")
migration = text(ROOT / "Sources/FleetTokenClient/FleetTokenClient.docc/MigrateFromTheSampleFetcher.md")
before = " ".join(re.findall(r"//(.*)", migration))
for row in re.findall(r"^\| (\d+) \|", text(ROOT / "docs/fetcher-defects.md").split("## Sample apps")[0], re.MULTILINE):
    if not re.search(rf"\b{row}\b", before):
        problems.append(f"The guide about moving over shows no defect {row}.")
for problem in problems:
    print(problem, file=sys.stderr)
sys.exit(bool(problems))
