# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The admin page in a real browser, used with the keyboard."""

import contextlib
import hashlib
import json
import sqlite3

import pytest
import requests

import browser
from browser import Browser
from forgery import LEAVE_OUT, Forger
from test_api import ADMIN, callers
from test_serve import TokenServer, folder  # noqa: F401

pytestmark = pytest.mark.skipif(not browser.PROGRAM, reason="Chromium is missing; Scripts/install-packages.sh --tests installs it")


@pytest.fixture
def server(folder):  # noqa: F811
    (folder / "admins.json").write_text(callers(ADMIN), encoding="utf-8")
    server = TokenServer(folder, "admin: {callers_file: admins.json}\n")
    yield server
    code, output, errors = server.stop()
    assert code == 0, errors
    assert ADMIN not in output + errors


def sign_in(page, server):
    page.open(f"{server.http}/admin")
    assert page.value("document.activeElement.id") == "secret"
    page.type(ADMIN)
    page.press("Enter")
    page.wait("!document.getElementById('records').hidden")


def rows(page, table):
    return page.value(f"[...document.querySelectorAll('#{table} tr')].map((row) => row.innerText)")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_an_operator_sees_and_changes_who_holds_what(server, tmp_path, dark):
    assert server.get("/token/driver/veh-1").status_code == 200
    assert server.get("/token/consumer/trip-1").status_code == 403
    with Browser(tmp_path / "profile", dark=dark) as page:
        page.open(f"{server.http}/admin")
        page.type("not-the-secret-of-any-administrator")
        page.press("Enter")
        page.wait("document.getElementById('message').textContent.includes('not known')")
        assert page.value("document.getElementById('records').hidden")
        sign_in(page, server)
        granted, refused = sorted(rows(page, "decisions"), key=lambda row: "refused" in row)
        assert "veh-1" in granted and "granted" in granted
        assert "trip-1" in refused and "refused" in refused
        assert [row for row in rows(page, "keys") if "driver" in row and "signing" in row]

        page.focus("#assign [name=holder]")
        page.type("login/dora")
        page.press("Tab")
        page.press("Tab")
        page.type("veh-1")
        page.press("Enter")
        page.wait("document.querySelector('#assignments').innerText.includes('login/dora')")
        page.focus("#assignments button")
        page.press("Enter")
        page.wait("document.querySelector('#assignments').innerText.includes('Nobody holds anything')")

        page.focus("#revoke [name=value]")
        page.type("app")
        page.press("Enter")
        page.wait("document.querySelector('#revocations').innerText.includes('fingerprint')")

        background = page.value("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(16, 19, 23)") == dark, background
        page.screenshot(tmp_path / "page.png")
        assert not [line for line in page.console if "401" not in line], page.console
        page.focus("#sign-out button")
        page.press("Enter")
        page.wait("document.getElementById('records').hidden")
        assert not rows(page, "decisions")
        for store in ("localStorage", "sessionStorage", "document.cookie"):
            assert page.value(f"{store}.length") == 0
        assert not [address for _, address, body in page.requests if ADMIN in address + body]


def test_names_with_spaces_and_pluses_are_found(folder, tmp_path):  # noqa: F811
    secrets = {"night shift": "the-secret-of-the-night-shift-5d21", "day+night": "the-secret-of-both-shifts-88e0"}
    known = [json.loads(callers(secret, name=name, roles=["driver"]))["callers"][0] for name, secret in secrets.items()]
    (folder / "callers.json").write_text(json.dumps({"callers": known}), encoding="utf-8")
    (folder / "admins.json").write_text(callers(ADMIN), encoding="utf-8")
    server = TokenServer(folder, "admin: {callers_file: admins.json}\n")
    for secret in secrets.values():
        assert server.get("/token/driver/veh-1", secret).status_code == 200
    with Browser(tmp_path / "profile") as page:
        sign_in(page, server)
        assert len(rows(page, "decisions")) == 2
        for name in secrets:
            page.value("document.querySelector('#search [name=subject]').value = ''")
            page.focus("#search [name=subject]")
            page.type(name)
            page.press("Enter")
            page.wait(f"document.querySelector('#decisions').innerText.includes({json.dumps(name)})"
                      " && document.querySelectorAll('#decisions tr').length === 1")
    assert server.stop()[0] == 0


def test_the_inspector_sends_and_keeps_nothing(server, tmp_path):
    token = server.get("/token/driver/veh-7").json()["jwt"]
    with Browser(tmp_path / "profile") as page:
        page.open(f"{server.http}/admin")
        page.focus("#token")
        page.type(token)
        page.wait("document.querySelector('#findings .good')")
        findings = page.value("document.getElementById('findings').innerText")
        assert "of this server signed it" in findings
        assert "Good for another" in findings
        assert "the vehicle veh-7" in findings
        assert hashlib.sha256(token.encode()).hexdigest()[:16] in findings
        assert not page.value("document.querySelectorAll('#findings .bad').length")
        page.screenshot(tmp_path / "inspector.png")
        signature = token.rsplit(".", 1)[1]
        page.value("document.getElementById('token').value = ''")
        page.type(token[: -len(signature)] + ("B" if signature[0] == "A" else "A") + signature[1:])
        page.wait("document.getElementById('findings').innerText.includes('does not fit')")
        assert "Good for" not in page.value("document.getElementById('findings').innerText")
        page.value("document.getElementById('token').value = ''")
        page.type("bnVsbA.bnVsbA.AAAA")
        page.wait("document.getElementById('findings').innerText.includes('not strict JSON')")
        assert page.value("document.querySelectorAll('#findings li').length") == 1
        assert not page.console
        # The token says of itself that another account signed it, and that it is not good yet.
        accounts = {role: json.loads((server.folder / "service-accounts" / f"{role}.json").read_text(encoding="utf-8"))
                    for role in ("driver", "server")}
        forger = Forger(accounts["driver"], {"vehicleid": "veh-7"})
        another = accounts["server"]["client_email"]
        page.value("document.getElementById('token').value = ''")
        page.type(forger.token(iss=another, sub=another, nbf=forger.claims()["exp"]))
        page.wait("document.getElementById('findings').innerText.includes('not the account that owns the signing key')")
        assert "nbf lies ahead" in page.value("document.getElementById('findings').innerText")
        # Where no account is named, none is asked for.
        for nobody in (LEAVE_OUT, {"a": 1}):
            page.value("document.getElementById('token').value = ''")
            page.type(forger.signed_parts(forger.header(kid="unknown"), forger.claims(iss=nobody)))
            page.wait("document.getElementById('findings').innerText.includes('kid names no key')")
        assert not [address for _, address, _ in page.requests if "undefined" in address or "object" in address]
        # Of an account that signs elsewhere nothing is known here.
        remote = "remote@demo-fleet.iam.gserviceaccount.com"
        page.value("document.getElementById('token').value = ''")
        page.type(forger.token(header={"kid": LEAVE_OUT}, iss=remote, sub=remote))
        page.wait("document.getElementById('findings').innerText.includes('publishes no keys of')")
        assert not page.value("document.querySelectorAll('#findings .bad').length")
        for part in token.split("."):
            assert not [address for _, address, body in page.requests if part in address + body]
        assert {method for method, *_ in page.requests} == {"GET"}
        assert page.value("localStorage.length + sessionStorage.length + document.cookie.length") == 0


def test_the_inspector_calls_no_token_good_that_is_withdrawn(server, tmp_path):
    token = server.get("/token/driver/veh-7").json()["jwt"]
    fingerprint = hashlib.sha256(token.encode()).hexdigest()[:16]
    with Browser(tmp_path / "profile") as page:
        sign_in(page, server)
        page.focus("#token")
        page.type(token)
        page.wait("document.getElementById('findings').innerText.includes('Good for another')")
        assert "Neither it nor its key is among the withdrawn" in page.text()
        page.value("document.querySelector('#revoke [name=kind]').value = 'fingerprint'")
        page.focus("#revoke [name=value]")
        page.type(fingerprint)
        page.press("Enter")
        page.wait("document.querySelector('#findings .bad')?.innerText.startsWith('It is withdrawn until ')")
        assert "Good for" not in page.value("document.getElementById('findings').innerText")
        assert not page.console, page.console


def test_an_inspected_token_fits_on_a_narrow_phone(server, tmp_path):
    token = server.get(f"/token/driver/{'W' * 64}").json()["jwt"]
    with Browser(tmp_path / "profile", width=360, height=740) as page:
        sign_in(page, server)
        page.focus("#token")
        page.type(token)
        page.wait("document.querySelectorAll('#findings li').length > 4")
        assert page.value("document.documentElement.scrollWidth") <= 360


def test_that_there_are_more_assignments_is_told_and_each_is_found(server, tmp_path):
    with contextlib.closing(sqlite3.connect(server.folder / "token-server.sqlite")) as store, store:
        store.executemany(
            "INSERT INTO assignment (issuer, subject, kind, resource, start_ms) VALUES ('login', ?, 'trip', ?, ?)",
            [(f"driver-{number}", f"trip-{number % 1000}", number + 1) for number in range(1001)])
    with Browser(tmp_path / "profile") as page:
        sign_in(page, server)
        assert len(rows(page, "assignments")) == 1000
        assert not page.value("document.getElementById('assignments-note').hidden")
        assert "login/driver-1000" not in page.value("document.getElementById('assignments').innerText")
        page.focus("#filter [name=holder]")
        page.type("login/driver-1000")
        page.press("Enter")
        page.wait("document.querySelectorAll('#assignments tr').length === 1")
        assert "login/driver-1000" in rows(page, "assignments")[0]
        assert page.value("document.getElementById('assignments-note').hidden")
        # The filter stays when something changes.
        page.focus("#assignments button")
        page.press("Enter")
        page.wait("document.getElementById('assignments').innerText.includes('There is none.')")

        page.value("document.querySelector('#filter [name=holder]').value = ''")
        page.focus("#filter [name=id]")
        page.type("trip-0")
        page.press("Enter")
        page.wait("document.getElementById('message').textContent.includes('go together')")
        page.value("document.querySelector('#filter [name=kind]').value = 'trip'")
        page.press("Enter")
        page.wait("document.querySelectorAll('#assignments tr').length === 1")
        page.wait("document.getElementById('assignments').innerText.includes('login/driver-0')")
        assert not page.console, page.console


def test_a_button_ends_the_assignment_of_its_row_alone(server, tmp_path):
    held = {"holder": "login/dora", "kind": "vehicle", "id": "veh-1"}
    for change in [{}, {"start": "2100-01-01T08:00:00Z"}, {"start": "2100-01-02T08:00:00Z"}]:
        answer = requests.post(
            f"{server.http}/admin/api/assignments", json=held | change, headers={"Authorization": f"Bearer {ADMIN}"}, timeout=10)
        assert answer.status_code == 201, answer.text
    with Browser(tmp_path / "profile") as page:
        sign_in(page, server)
        buttons = page.value("[...document.querySelectorAll('#assignments button')].map((it) => it.ariaLabel)")
        assert len(set(buttons)) == 3 and all("login/dora vehicle veh-1 from" in label for label in buttons)

        def starts():
            return page.value("[...document.querySelectorAll('#assignments tr')].map((it) => it.querySelector('time')?.dateTime)")

        first, _, third = starts()
        for row, left in [(1, [first, third]), (0, [third])]:
            page.value(f"document.querySelectorAll('#assignments button')[{row}].click()")
            page.wait("document.getElementById('message').textContent.includes('is ended')"
                      f" && document.querySelectorAll('#assignments button').length === {len(left)}")
            assert starts() == left


def test_an_answer_that_comes_after_the_end_is_thrown_away(server, tmp_path):
    assert server.get("/token/driver/veh-1").status_code == 200
    with Browser(tmp_path / "profile") as page:
        page.open(f"{server.http}/admin")
        page.value("""(() => {
          const ask = fetch;
          window.asked = 0;
          window.held = undefined;
          window.fetch = async (...parts) => {
            asked += 1;
            const answer = await ask(...parts);
            await held;
            return answer;
          };
        })()""")
        for form, field, text in [("search", "subject", "app"), ("assign", "id", "veh-1"), ("revoke", "value", "app")]:
            page.value("held = undefined")
            page.focus("#secret")
            page.type(ADMIN)
            page.press("Enter")
            page.wait("!document.getElementById('records').hidden")
            page.value("asked = 0; held = new Promise((done) => { window.release = done; }); 0")
            if form == "assign":
                page.focus("#assign [name=holder]")
                page.type("login/dora")
            page.focus(f"#{form} [name={field}]")
            page.type(text)
            page.press("Enter")
            page.wait("asked === 1")
            page.value("document.querySelector('#sign-out button').click()")
            assert page.value("document.getElementById('records').hidden")
            page.value("release()")
            page.wait("document.getElementById('message').textContent.includes('closed before the server answered')")
            assert page.value("asked") == 1
            assert not any(rows(page, table) for table in ["assignments", "decisions", "revocations", "keys"])
