# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The example's alerts: about metrics that there are, and each with a section for who is on call."""

import re
import shlex
from pathlib import Path

import requests

from service import run

ROOT = Path(__file__).resolve().parents[2]
ALERTS = ROOT / "Examples/monitoring/alerts.yaml"
# What `up` has no reason to show: it has no TLS, IAM, users' logins or policy, and no files that are read again.
ELSEWHERE = re.compile(r"fleetpass_(certificate|signer|signing_budget|identity_key|policy_webhook|reload)_")


def metrics_of_the_rules():
    return {re.sub("_bucket$", "", name) for name in re.findall(r"\bfleetpass_\w+", ALERTS.read_text(encoding="utf-8"))}


def text(page):
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def test_every_metric_of_an_alert_is_documented():
    table = re.search(r"\n\| metric, after `fleetpass_` .*?\n\n", text("token-server.md"), re.DOTALL)[0]
    table += re.search(r"^\| `/metrics` .*after `fleetpass_`.*$", text("engine.md"), re.MULTILINE)[0]
    documented = {f"fleetpass_{name}" for name in re.findall(r"`([a-z_]+)(?:\{[a-z,]+\})?`", table)}
    assert metrics_of_the_rules() <= documented, sorted(metrics_of_the_rules() - documented)


def test_a_server_shows_the_metrics_of_the_alerts(service):
    shown = set(re.findall(r"^# TYPE (\w+) ", requests.get(f"{service.http}/metrics", timeout=10).text, re.MULTILINE))
    expected = {name for name in metrics_of_the_rules() if not ELSEWHERE.match(name)}
    assert len(expected) > 8 and expected <= shown, sorted(expected - shown)


def test_every_alert_has_a_section_for_who_is_on_call_and_no_other_has():
    alerts = re.findall(r"^ +- alert: (\w+)$", ALERTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert alerts == re.findall(r"^## (Fleetpass\w+)$", text("on-call.md"), re.MULTILINE)
    assert alerts and len(set(alerts)) == len(alerts)


def test_the_commands_for_who_is_on_call_are_the_program_s(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"(?:^ {4}|`)(fleetpass [a-z][^`\n]*)", text("on-call.md"), re.MULTILINE)
    examples = {"ROLE": "driver", "OLDER-HEAD": f"1:{'0' * 64}"}
    commands = [
        [examples.get(word, word) for word in shlex.split(re.split(r" (?:#|&&|<) ", line)[0])[1:]] for line in lines]
    assert len(commands) > 6
    for command in commands:
        result = run(*command, stdin=b"a token")
        assert result.returncode != 2, (command, result.stderr)
