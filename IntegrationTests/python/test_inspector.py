# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The inspector of the page in a real browser: it judges as the program does, and sends nothing."""

import base64
import json
import time

import pytest

import browser
from browser import Browser
from forgery import LEAVE_OUT, Forger, new_rsa_key
from service import AUDIENCE, Service, run
from test_page import is_live, page, picture, text_of, token_from  # noqa: F401 (fixtures)

pytestmark = pytest.mark.skipif(
    not browser.PROGRAM, reason="Chromium is missing; Scripts/install-packages.sh --tests installs it")


def inspect(page, token):
    page.value(f"document.getElementById('token-text').value = {json.dumps(token)};"
               "document.getElementById('token-text').dispatchEvent(new Event('input'))")
    page.wait("!!document.querySelector('#token-result h2, #token-result .hint')")
    return page


def test_the_inspector_reads_a_token_without_any_request(service, vehicle, page, picture):
    token = token_from(service, f"driver/{vehicle}")
    page.open(f"{service.http}/#inspect")
    page.wait("document.getElementById('token-keys').innerText.includes('verified with')")
    is_live(page)
    asked = len(page.requests)
    inspect(page, token).wait("document.querySelector('#token-result h2')?.innerText === 'A good token'")
    picture(page)
    assert vehicle in text_of(page, "#token-parts")
    assert "GetVehicle" in text_of(page, "#token-result .opened")
    assert "CreateVehicle" not in text_of(page, "#token-result .opened")
    changed = token[:-8] + ("AAAAAAAA" if not token.endswith("AAAAAAAA") else "BBBBBBBB")
    inspect(page, changed).wait("document.querySelector('#token-result .first')?.innerText.includes('signature')")
    page.value("document.getElementById('token-text').focus()")
    page.value("location.hash = 'live'")
    page.wait("!document.getElementById('live').hidden")
    page.value("location.hash = 'inspect'")
    assert page.value("document.getElementById('token-text').value") == ""
    page.wait("!!document.querySelector('#token-result .hint')")
    kept = page.value("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])")
    assert token[:20] not in kept and token[-20:] not in kept
    # Coming back asks for the keys once more, before there is a token.
    later = [request for request in page.requests[asked:] if "/.well-known/jwks" not in request[1]]
    assert not later
    assert not any(part in json.dumps(page.requests) for part in token.split("."))


def test_the_inspector_tells_no_times_that_a_token_does_not_have(service, page):
    page.open(f"{service.http}/#inspect")
    page.wait("document.getElementById('token-keys').innerText.includes('verified with')")
    for claims, told in [
        ({"iat": 1_500_000_000, "exp": 1_500_003_600}, True), ({"exp": 1_500_003_600}, False), ({"iat": "x", "exp": 1}, False),
        ({"iat": 1, "exp": 10 ** 300}, False), ({"iat": 1_795_434_251_000, "exp": 1_795_437_851_000}, False),
    ]:
        inspect(page, forged({"alg": "RS256", "typ": "JWT", "kid": json.dumps(claims)}, claims))
        page.wait(f"document.getElementById('token-parts').innerText.includes({json.dumps(json.dumps(json.dumps(claims)))})")
        page.wait("!!document.querySelector('#token-result h2')")
        lead = text_of(page, "#token-result .lead")
        assert ("2017" in lead) == told and bool(lead) == told, claims


def test_a_token_that_ends_while_it_is_shown_is_not_called_good_any_longer(service, page):
    page.open(f"{service.http}/#tokens")
    is_live(page)
    token = Forger(service.account("driver"), {"vehicleid": "veh-1"}).token()
    page.value("""import('/page/inspector.js').then(({ Inspector }) => {
      window.engine = { now: Date.now() };
      const row = { method: 'GetVehicle', roles: ['driver'], rolesWithoutClaims: ['driver'], requirement: '' };
      return new Inspector(engine, { roles: ['driver'], rows: [row] }, 'demo-fleet').open();
    })""")
    requests_before = len(page.requests)
    verdict = "document.querySelector('#token-result h2')"
    inspect(page, token).wait(f"{verdict}?.textContent === 'A good token'")
    page.value(f"{verdict}.dataset.isSame = 'yes'")
    expiry = "[...document.querySelectorAll('#token-result .checks li')].find((it) => it.children[1].textContent === 'exp')"
    left = page.value(f"{expiry}.textContent")
    # Seconds that go by are told in silence.
    page.value("engine.now += 5000")
    page.wait(f"{expiry}.textContent !== {json.dumps(left)}")
    assert page.value(f"{verdict}.dataset.isSame") == "yes"
    assert page.value(f"{expiry}.lastElementChild.ariaLive") == "off"
    page.value("engine.now += 3600_000")
    page.wait(f"{verdict}.textContent === 'The engine would refuse it'")
    assert "It expired" in page.value("document.querySelector('#token-result .first').textContent")
    assert len(page.requests) == requests_before


@pytest.mark.parametrize(
    ("role", "authorization"),
    [("driver", {}), ("driver", LEAVE_OUT), ("driver", {"vehicleId": "veh-1"}), ("server", {"tripId": "trip-1"}),
     ("driver", {"tripid": "trip-1"}), ("driver", {"taskid": "a"})],
    ids=["empty", "absent", "another spelling", "another spelling for a search", "a trip", "a task"])
def test_the_inspector_calls_no_token_good_that_opens_nothing(service, page, role, authorization):
    page.open(f"{service.http}/#inspect")
    page.wait("document.getElementById('token-keys').innerText.includes('verified with')")
    opens = authorization == {"tripid": "trip-1"}
    verdict = "A good token" if opens else "A valid signature, but it opens nothing"
    inspect(page, Forger(service.account(role), {}).token(authorization=authorization))
    page.wait(f"document.querySelector('#token-result h2')?.innerText === {json.dumps(verdict)}")
    assert text_of(page, "#token-result .opened").count("Nothing: ") == (0 if opens else 1)


def test_the_inspector_opens_no_call_with_fields_that_is_not_open_without(service, page):
    page.open(f"{service.http}/#inspect")
    page.wait("document.getElementById('token-keys').innerText.includes('verified with')")
    methods = "[...document.querySelectorAll('#token-result .opened li')].map((line) => line.innerText.split('\\n')[0])"
    for ids, creations in [({"vehicleid": "veh-1"}, 0), ({"tripid": "trip-1"}, 1), ({"vehicleid": "veh-1", "tripid": "trip-1"}, 2)]:
        inspect(page, "").wait("!!document.querySelector('#token-result .hint')")
        inspect(page, Forger(service.account("server"), ids).token())
        page.wait("document.querySelector('#token-result h2')?.innerText === 'A good token'")
        opened = page.value(methods)
        assert opened.count("CreateTrip") == creations and "UpdateTrip" in opened, opened
    lines = page.value("[...document.querySelectorAll('#token-result .opened li')].map((line) => line.innerText)")
    [creation] = [line for line in lines if "CreateTrip" in line and "vehicle_waypoints" in line]
    assert "tripid must be" in creation and ", and vehicleid must be" in creation


def forged(header, payload, raw=False):
    def part(value):
        text = value if isinstance(value, str) else json.dumps(value)
        return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()

    return f"{part(header)}.{part(payload)}.c2lnbmF0dXJl"


def test_the_inspector_judges_as_the_program_does(service, page):
    now = int(time.time())
    header = {"alg": "RS256", "typ": "JWT", "kid": "k"}
    account = "driver@demo-fleet.iam.gserviceaccount.com"
    payload = {
        "iss": account, "sub": account, "aud": AUDIENCE, "iat": now - 300, "exp": now + 3300,
        "authorization": {"vehicleid": "veh-1"},
    }
    good = forged(header, payload)
    tokens = [
        good, "", "a", "a.b", "a.b.c.d", "..", good + "=", good[:-1] + "+", good.replace(".", ".=", 1), "e30.e30.e30", "x" * 13000,
        *[forged(header | change, payload) for change in [
            {"alg": "none"}, {"alg": "HS256"}, {"alg": 1}, {"typ": "jwt"}, {"typ": "at+jwt"}, {"typ": 1}, {"crit": ["b64"]},
            {"kid": ""}, {"kid": 7}, {"kid": "k" * 257}]],
        *[forged(header, payload | change) for change in [
            {"sub": "other@x"}, {"iss": ""}, {"aud": AUDIENCE[:-1]}, {"aud": [AUDIENCE]}, {"aud": []},
            {"iat": now + 500}, {"iat": now + 700}, {"iat": now - 4000}, {"iat": now - 5000}, {"iat": "1"}, {"iat": 1.5}, {"iat": -1},
            {"exp": now - 5}, {"exp": now + 3700}, {"exp": now + 3300, "iat": now - 2000}, {"exp": True}, {"exp": 1e300},
            {"exp": now + 3000, "iat": now - 4000}, {"iat": now + 500, "exp": now + 100}, {"iat": now, "exp": now},
            {"nbf": now + 500}, {"nbf": now + 700}, {"nbf": now - 9000}, {"nbf": str(now)}, {"nbf": 1.5}, {"nbf": None},
            {"exp": float(now + 3300)}, {"iat": float(now - 300)}, {"nbf": float(now)},
            {"iat": now * 1000}, {"exp": now * 1000}, {"nbf": now * 10 ** 6}, {"exp": 2 ** 63 - 1}, {"iat": 2 ** 80},
            {"authorization": {}}, {"authorization": []}, {"authorization": None}, {"authorization": {"vehicleid": 1}},
            {"authorization": {"vehicleid": "*", "tripid": "*"}}, {"authorization": {"vehicleid": "a/b"}},
            {"authorization": {"vehicleid": ""}}, {"authorization": {"vehicleid": "v" * 65}}, {"authorization": {"tripid": "e\u0301"}},
            {"authorization": {"taskids": ["a", "b"]}}, {"authorization": {"taskids": ["*"]}}, {"authorization": {"taskids": []}},
            {"authorization": {"taskids": ["*", "a"]}}, {"authorization": {"taskids": ["a"], "taskid": "a"}}, {"authorization": {"taskids": "a"}},
            {"authorization": {"trackingid": "t", "taskid": "a"}}, {"authorization": {"trackingid": "*", "taskid": "*"}},
            {"authorization": {"trackingid": "*", "taskid": "a"}}, {"authorization": {"trackingid": "t"}}, {"authorization": {"own": "x"}},
            {"authorization": {"vehicleId": "v"}}, {"authorization": {"vehicleid": "v", "taskIds": ["a"], "Depot": 1}}]],
        *[forged(header, {name: value for name, value in payload.items() if name != left_out}) for left_out in payload],
        forged(header, "[]"), forged("{", payload), forged('{"alg":"RS256","alg":"RS256"}', payload), forged(header, "{}"),
        forged(header, json.dumps(payload)[:-1] + ',"a":{"exp":1.0},"nbf":-0}'), forged(header, json.dumps(payload)[:-1] + ',"nbf":17e8}'),
        forged(header, json.dumps(payload)[:-1] + ',"exp":1}'), forged(header, '{"a":{"b":1,"b":2}}'), forged(header, "null"),
        *[forged(header, json.dumps(payload)[:-1] + f",{more}}}") for more in [
            '"a":' + "[" * 15 + "]" * 15, '"a":' + "[" * 16 + "]" * 16, '"a":' + '{"b":' * 15 + "1" + "}" * 15,
            '"a":' + '{"b":' * 16 + "1" + "}" * 16, '"a":"[[[[[[[[[[[[[[[[["', r'"a":"\ud83d\ude00"', r'"a":"\ud800"', r'"a":"\udc00"',
            r'"a":["\ude00\ud83d"]', r'"a":"\ud83d\ud83d\ude00"', r'"\ud800":1', r'"\ud83d\ude00":1', r'"a":"\\ud800"',
            r'"\u00e9":1,"e\u0301":2', '"\u00e9":1,"e\u0301":2', '"\u00e9":1,"e":2', '"a":{"\u00e9":1},"e\u0301":2',
            r'"a":{"vehicleid":"\ud800"}']],
        forged('{"alg":"RS256","a":' + "[" * 16 + "]" * 16 + "}", payload), forged(r'{"alg":"RS256","a":"\udc00"}', payload),
        forged('{"alg":"RS256","\u00e9":1,"e\u0301":2}', payload),
        *[forged(header, payload | {"iss": iss, "sub": sub}) for iss, sub in [
            ("zo\u00eb@x", "zoe\u0308@x"), ("zoe\u0308@x", "zo\u00eb@x"), ("zo\u00eb@x", "zoe@x")]],
    ]
    page.open(f"{service.http}/#inspect")
    found = page.value(
        "import('/page/token-rules.js').then(({ inspect }) => Promise.all("
        f"{json.dumps(tokens)}.map((token) => inspect(token, {{ now: {now} }}))))")
    differences = []
    for token, here in zip(tokens, found, strict=True):
        result = run("inspect", "-", "--output", "json", stdin=token.encode())
        if not result.stdout:
            continue  # What cannot even be read from standard input, such as nothing.
        checks = json.loads(result.stdout)["checks"]
        there = {check["rule"]: check["outcome"] for check in checks}
        said = {check["rule"]: check["detail"] for check in checks}
        for check in here["checks"]:
            word = {"notReached": "not_reached"}.get(check["outcome"], check["outcome"])
            if check["rule"] not in ("key", "signature") and there[check["rule"]] != word:
                differences.append((token[:60], check, there[check["rule"]]))
            # What is told of good claims is the same, but for an id that is normalised there.
            if (check["rule"], word) == ("claims", "passed") and "\u0301" not in check["detail"]:
                if check["detail"] != said["claims"]:
                    differences.append((token[:60], check, said["claims"]))
    assert not differences


def test_the_inspector_knows_whose_keys_are_whose(service, page):
    driver, server = service.account("driver"), service.account("server")
    forger = Forger(driver, {"vehicleid": "veh-1"})
    anothers = {"iss": server["client_email"], "sub": server["client_email"]}
    page.open(f"{service.http}/#inspect")
    page.wait("document.getElementById('token-keys').innerText.includes('verified with')")
    nobodys = [({"iss": iss}, {"kid": "unknown"}) for iss in (LEAVE_OUT, {"a": 1})]
    for changes, header in [({}, {}), (anothers, {}), ({}, {"kid": LEAVE_OUT}), (anothers, {"kid": LEAVE_OUT}), *nobodys]:
        token = forger.signed_parts(forger.header(**header), forger.claims(**changes))
        result = run(
            "explain", "-", "--method", "GetVehicle", "--resource", f"providers/{service.provider}/vehicles/veh-1", "--keys",
            service.data, "--output", "json", stdin=token.encode())
        there = json.loads(result.stdout)
        verdict = "A good token" if there["allowed"] else "The engine would refuse it"
        inspect(page, token).wait(f"document.querySelector('#token-result h2')?.innerText === {json.dumps(verdict)}")
        assert there["allowed"] == (not changes)
        assert page.value("!!document.querySelector('#token-result .opened')") == there["allowed"]
        if (changes, header) in nobodys:
            assert next(check for check in there["checks"] if check["outcome"] == "refused")["rule"] == "key"
            page.wait("document.querySelector('#token-result .first').innerText.includes('kid names no key')")


def test_the_inspector_refuses_no_account_that_is_trusted_by_another_way(tmp_path, page):
    remote = "backend@demo-fleet.iam.gserviceaccount.com"
    forger = Forger({"client_email": remote, "private_key_id": "elsewhere-1", "private_key": new_rsa_key()}, {"vehicleid": "*"})
    (tmp_path / "backend.pem").write_bytes(forger.public_pem)
    trust = tmp_path / "trust.yaml"
    trust.write_text(f"version: 1\naccounts:\n  - {{email: {remote}, roles: server, keys: backend.pem}}\n", encoding="utf-8")
    service = Service(tmp_path / "data", "--trust", trust)
    verdict = "document.querySelector('#token-result h2')?.innerText"
    page.open(f"{service.http}/#inspect")
    page.wait("document.getElementById('token-keys').innerText.includes('verified with')")
    for header in [{}, {"kid": LEAVE_OUT}]:
        token = forger.token(header=header)
        assert service.rest("GET", "vehicles/none", token).status_code == 404
        inspect(page, token).wait(f"{verdict} === 'Nothing wrong is seen; the signature was not verified'")
        assert f"publishes no keys of {remote}" in text_of(page, "#token-result .checks")
    # What is wrong with it all the same is told, and so is an unknown key of an account of this server.
    inspect(page, forger.token(exp=int(time.time()) - 1)).wait(f"{verdict} === 'The engine would refuse it'")
    assert "expired" in text_of(page, "#token-result .first")
    inspect(page, "").wait("!!document.querySelector('#token-result .hint')")
    account = service.account("driver")["client_email"]
    inspect(page, forger.token(iss=account, sub=account)).wait(f"{verdict} === 'The engine would refuse it'")
    assert "kid names no key" in text_of(page, "#token-result .first")
    assert service.stop()[0] == 0


def test_the_inspector_judges_by_the_keys_that_the_server_has_now(tmp_path):
    def token(service):
        return Forger(service.account("driver"), {"vehicleid": "veh-1"}).token()

    first = Service(tmp_path / "first")
    with Browser(tmp_path / "profile") as page:
        page.open(f"{first.http}/#inspect")
        page.wait("document.getElementById('token-keys').innerText.includes('verified with')")
        first.kill()
        second = Service(tmp_path / "second", port=first.http.rsplit(":", 1)[1])
        page.focus("#token-text")
        for service, verdict in [(second, "A good token"), (first, "The engine would refuse it")]:
            inspect(page, token(service)).wait(f"document.querySelector('#token-result h2')?.innerText === '{verdict}'")
    assert second.stop()[0] == 0


def test_the_inspector_asks_for_the_keys_again_when_it_was_emptied(service, page):
    token = Forger(service.account("driver"), {"vehicleid": "veh-1"}).token()
    page.open(f"{service.http}/#inspect")
    page.wait("document.getElementById('token-keys').innerText.includes('verified with')")
    page.call("Network.setBlockedURLs", urls=["*/.well-known/*"])
    inspect(page, "").wait("document.getElementById('token-keys').innerText.includes('could not be had')")
    page.call("Network.setBlockedURLs", urls=[])
    inspect(page, token).wait("document.querySelector('#token-result h2')?.innerText.includes('was not verified')")
    asked = len(page.requests)
    inspect(page, token)
    assert len(page.requests) == asked, "nothing is asked while there is a token"
    page.value("document.getElementById('token-clear').click()")
    page.wait("document.getElementById('token-keys').innerText.includes('verified with')")
    inspect(page, token).wait("document.querySelector('#token-result h2')?.innerText === 'A good token'")
    page.console = [text for text in page.console if "net::ERR_BLOCKED_BY_CLIENT" not in text]
