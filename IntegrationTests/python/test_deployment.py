# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The examples of units and containers: the engine cannot reach the token server's keys, images hold no secret, and their
pages leave out nothing that a start needs."""

import fnmatch
import json
import os
import pathlib
import re
import shlex
import subprocess

import pytest

from service import run
from test_ci import search_path

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
UNITS = {
    "tokens": ROOT / "Examples/token-server/fleetpass-tokens.service",
    "engine": ROOT / "Examples/engine/fleetpass-engine.service",
}
CONTAINERS = {"tokens": ROOT / "Examples/token-server/Containerfile", "engine": ROOT / "Examples/engine/Containerfile"}
CONFIGURATIONS = {"tokens": ROOT / "Examples/token-server/tokens.yaml", "engine": ROOT / "Examples/engine/engine.yaml"}


def settings(unit):
    return dict(re.findall(r"^(\w+)=(.*)$", UNITS[unit].read_text(), re.MULTILINE))


def configured(server):
    """The values of an example's configuration, by their settings' paths."""
    values, path = {}, []
    for line in CONFIGURATIONS[server].read_text().splitlines():
        if line.startswith("#"):
            continue
        indent, key, value = re.fullmatch(r"( *)(\w+):(?: (\S+))?", line).groups()
        path[len(indent) // 2:] = [key]
        if value:
            values[".".join(path)] = value
    return values


def page(server):
    return (CONFIGURATIONS[server].parent / "README.md").read_text()


def admitted(path):
    """Whether .dockerignore lets a path into a build: its last pattern that fits the path or a folder above decides."""
    path = pathlib.PurePosixPath(path)
    names = [str(path), *map(str, path.parents)][:-1]
    kept = True
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        pattern = line.removeprefix("!")
        if pattern.startswith("**/"):
            fits = any(fnmatch.fnmatchcase(part, pattern[3:]) for part in path.parts)
        else:
            fits = pattern == "*" or any(name == pattern for name in names)
        if fits:
            kept = line.startswith("!")
    return kept


@pytest.mark.parametrize("path", [
    "etc/key.pem", "data/service-accounts/server.json", ".git/config", ".env", ".build/debug/x", "Sources/.build/x",
    "Examples/engine/key.pem", "docs/engine.md", "callers.json",
])
def test_a_build_takes_nothing_that_it_does_not_need(path):
    assert not admitted(path)


def test_a_build_takes_every_target():
    named = re.findall(r'path: "([^"]+)"', (ROOT / "Package.swift").read_text())
    assert named and all(admitted(f"{path}/file") for path in ["Sources/FleetTokens", "Tests/FleetTokensTests", *named])
    assert admitted("Package.swift") and admitted("Package.resolved")
    links = [link for folder in ("Sources", "Tests") for link in (ROOT / folder).rglob("*") if link.is_symlink()]
    linked = [target for link in links for target in (link.resolve(), *link.resolve().rglob("*"))]
    assert ROOT / "Examples/routes/delivery-day.gpx" in linked
    assert all(admitted(target.relative_to(ROOT)) for target in linked)


@pytest.mark.parametrize("server", CONTAINERS)
def test_a_container_installs_what_building_needs(server):
    script = (ROOT / "Scripts/install-packages.sh").read_text()
    needed = [name for name in re.search(r"^packages=\((.*)\)", script, re.MULTILINE)[1].split() if "-dev" in name]
    assert needed and set(needed) <= set(CONTAINERS[server].read_text().split())


@pytest.mark.parametrize("server", CONTAINERS)
def test_a_container_s_builder_may_insist_on_packages_of_his_own(tmp_path, server):
    text = CONTAINERS[server].read_text()
    command = re.search(r"^ARG RESOLVED\nRUN (swift build .*) \\$", text, re.MULTILINE)[1]
    (option,) = re.findall(r"`--build-arg RESOLVED=(\S+)`", page(server))
    environment = search_path(tmp_path, swift='echo "$*"')
    for given, end in {"": "--static-swift-stdlib\n", option: "--static-swift-stdlib --force-resolved-versions\n"}.items():
        result = subprocess.run(
            ["sh", "-euc", command], stdout=subprocess.PIPE, text=True, check=True, env=environment | {"RESOLVED": given})
        assert result.stdout.endswith(end)


@pytest.mark.parametrize("script, has_map", [
    (["Scripts/demo.sh"], True), (["Scripts/install-packages.sh", "--tests"], True), (["Scripts/install-packages.sh"], False)])
def test_the_demo_s_page_has_its_map(tmp_path, script, has_map):
    # A Debian on which nothing is installed, and nobody may install anything.
    for name, does in {"dpkg-query": "exit 1", "id": "echo 1000", "swift": "echo built; exit 1"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    result = subprocess.run(
        [ROOT / script[0], *script[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (result.returncode, result.stdout) == (69, ""), result.stderr
    assert " zlib1g-dev" in result.stderr
    assert (" libjs-leaflet" in result.stderr) == has_map


def test_engine_and_token_server_share_nothing():
    tokens, engine = settings("tokens"), settings("engine")
    assert tokens["User"] != engine["User"]
    folders = {}
    for unit in (tokens, engine):
        configuration = pathlib.PurePath(unit["ExecStart"].split()[-1]).parent
        folders[unit["User"]] = {f"-{configuration}", f"-/var/lib/{unit['StateDirectory']}"}
    assert set(engine["InaccessiblePaths"].split()) == folders[tokens["User"]]
    assert set(tokens["InaccessiblePaths"].split()) == folders[engine["User"]]
    users = [re.findall(r"^USER (\d+)$", path.read_text(), re.MULTILINE) for path in CONTAINERS.values()]
    assert all(len(user) == 1 for user in users) and users[0] != users[1]


def words(server, instruction):
    """What an instruction of a container file has as a list."""
    return json.loads(re.search(rf"^{instruction} (\[.*\])$", CONTAINERS[server].read_text(), re.MULTILINE)[1])


@pytest.mark.parametrize("server", CONTAINERS)
def test_a_container_serves_as_the_unit_does_and_runs_any_command_in_its_place(server):
    entry = words(server, "ENTRYPOINT")
    unit = settings(server)["ExecStart"].split()
    assert [pathlib.PurePath(unit[0]).name, *unit[1:]] == entry + words(server, "CMD")
    lines = (CONTAINERS[server].read_text().replace("\n#", "\n") + page(server)).replace("\\\n", " ")
    runs = [shlex.split(line) for line in re.findall(r"^ *((?:podman|docker) run .*)$", lines, re.MULTILINE)]
    image = re.search(r" -t (\S+) \.$", lines, re.MULTILINE)[1]
    assert {run[0] for run in runs if run[-1] == image} == {"podman", "docker"}, "without a command, it serves"
    commands = [run[run.index(image) + 1:] for run in runs if run[-1] != image]
    commands += [shlex.split(text) for text in re.findall(r"`[^`\n]*\bfleetpass ([a-z][^`]*)`", page(server))]
    assert commands
    for command in commands:
        assert run(*entry[1:], *command).returncode != 2, command


@pytest.mark.parametrize("server", CONTAINERS)
def test_a_container_reads_the_unit_s_folders_as_its_own_user(server):
    text = CONTAINERS[server].read_text()
    unit = settings(server)
    assert f'VOLUME /var/lib/{unit["StateDirectory"]}\n' in text
    assert len(set(re.findall(r"(?:uid[= ]|gid=|USER )(\d+)", text))) == 1


@pytest.mark.parametrize("server", CONTAINERS)
def test_a_container_has_the_unit_s_time_to_end(server):
    seconds = settings(server)["TimeoutStopSec"].removesuffix("s")
    assert re.findall(r" --stop-timeout=(\d+) ", CONTAINERS[server].read_text()) == [seconds] * 2, "by podman and by docker"


@pytest.mark.parametrize("server", CONFIGURATIONS)
def test_the_page_names_every_file_that_the_configuration_names(server):
    files = {value for value in configured(server).values() if re.fullmatch(r"/.+|[\w-]+\.[a-z]+", value)}
    assert {"certificate.pem", "key.pem"} < files
    assert files <= set(re.findall(r"[\w/-]+(?:\.[\w/-]+)*", page(server)))


@pytest.mark.parametrize("server", CONFIGURATIONS)
def test_the_page_names_every_setting_that_is_somebody_else_s(server):
    settings_of_acme = [setting for setting, value in configured(server).items() if "acme" in value]
    assert settings_of_acme and all(f"`{setting}`" in page(server) for setting in settings_of_acme)


@pytest.mark.parametrize("server", CONFIGURATIONS)
def test_the_page_makes_the_unit_s_user_and_folders_that_are_its_alone(server):
    user = settings(server)["User"]
    folders = {value for value in configured(server).values() if value.startswith("/")}
    assert f"useradd --system {user}\n" in page(server)
    assert f"install --directory {pathlib.PurePath(settings(server)['ExecStart'].split()[-1]).parent}\n" in page(server)
    made = re.search(rf"install --directory --owner={user} --mode=0700 (.+)", page(server))[1]
    assert folders and set(made.split()) == folders


def test_the_engine_asks_for_the_list_of_revocations_where_the_token_server_listens():
    address = configured("engine")["revocations.url"]
    assert address == f"https://tokens.acme.example:{configured('tokens')['listen.port']}/.well-known/revocations"


@pytest.mark.parametrize("unit", UNITS)
def test_only_a_command_line_that_makes_no_sense_is_not_tried_again_and_nothing_in_a_storm(unit):
    text = UNITS[unit].read_text()
    assert settings(unit)["Restart"] == "on-failure"
    assert settings(unit)["RestartPreventExitStatus"].split() == ["2"]
    assert int(settings(unit)["RestartSec"].removesuffix("s")) >= 10
    # No number of failures is the last; the setting counts in its own section only.
    assert "StartLimitIntervalSec=0" in text.partition("[Unit]")[2].partition("\n[")[0].splitlines()


def test_the_database_is_ready_when_it_takes_connections():
    text = (ROOT / "Examples/postgresql/compose.yaml").read_text()
    test = json.loads(re.search(r"^ +test: (.*)$", text, re.MULTILINE)[1])
    assert test[:4] == ["CMD", "pg_isready", "--host", "127.0.0.1"]
    assert "export PGPASSWORD=" in text and "${PGPASSWORD:?" in text
    assert not re.search(r"postgresql://\w+:", text)
