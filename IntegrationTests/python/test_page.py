# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, against a running service."""

import base64
import json
import os
import re
import socket
import time
from pathlib import Path

import pytest
import requests

import browser
from browser import Browser
from clients import vehicle_body
from service import Service

pytestmark = pytest.mark.skipif(
    not browser.PROGRAM, reason="Chromium is missing; Scripts/install-packages.sh --tests installs it")
LEAFLET = Path("/usr/share/javascript/leaflet/leaflet.js")
needs_leaflet = pytest.mark.skipif(
    not LEAFLET.exists(), reason="Leaflet is missing; Scripts/install-packages.sh --tests installs it")
FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
MOUNTAIN_VIEW = {"latitude": 37.4196, "longitude": -122.0739}


@pytest.fixture
def page(tmp_path):
    """A page that may ask nobody but the service, and may break no policy."""
    with Browser(tmp_path / "profile") as opened:
        yield opened
        origins = {"/".join(address.split("/")[:3]) for _, address, _ in opened.requests if address != "about:blank"}
        assert len(origins) <= 1, opened.requests
        # A refused call is told on the console by the browser itself.
        told = [text for text in opened.console if "the server responded with a status of 4" not in text]
        assert not told


@pytest.fixture
def picture(request):
    """Keeps a picture of a page for people, where FLEETPASS_SCREENSHOTS names a folder."""
    folder = os.environ.get("FLEETPASS_SCREENSHOTS")

    def take(page, name=""):
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            page.screenshot(Path(folder) / f"{request.node.name}{name}.png")

    return take


def token_from(service, route):
    answer = requests.get(f"{service.http}/token/{route}", timeout=30).json()
    return answer.get("jwt") or answer["token"]


def report(service, vehicle, place, token):
    answer = service.rest(
        "PUT", f"vehicles/{vehicle}?updateMask=lastLocation", token, json={"lastLocation": {"location": place}})
    assert answer.status_code == 200, answer.text


@pytest.fixture
def driven(service, vehicle):
    """A vehicle that its driver has reported."""
    token = token_from(service, f"driver/{vehicle}")
    report(service, vehicle, MOUNTAIN_VIEW, token)
    return vehicle, token


def make_trip(service, server_token, trip, vehicle):
    north = {"latitude": 37.4596, "longitude": -122.0739}
    body = {
        "tripType": "EXCLUSIVE", "pickupPoint": {"point": MOUNTAIN_VIEW}, "dropoffPoint": {"point": north},
    }
    answer = service.rest("POST", f"trips?tripId={trip}", server_token, json=body)
    assert answer.status_code == 200, answer.text
    answer = service.rest(
        "PUT", f"trips/{trip}?updateMask=tripStatus,vehicleId", server_token,
        json={"tripStatus": "ENROUTE_TO_PICKUP", "vehicleId": vehicle})
    assert answer.status_code == 200, answer.text


def set_status(service, server_token, trip, status):
    answer = service.rest("PUT", f"trips/{trip}?updateMask=tripStatus", server_token, json={"tripStatus": status})
    assert answer.status_code == 200, answer.text


def is_live(page):
    page.wait("document.getElementById('status').dataset.state === 'live'")


def show_only(page, field, text):
    page.value(f"document.getElementById('{field}').value = {json.dumps(text)};"
               f"document.getElementById('{field}').dispatchEvent(new Event('input'))")


def set_size(page, width, height=844):
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)


def text_of(page, selector):
    return page.value(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")


@needs_leaflet
def test_vehicles_and_trips_are_in_the_lists_and_on_the_map_and_move(service, server_token, driven, new_id, page, picture):
    vehicle, token = driven
    trip = new_id("trip")
    make_trip(service, server_token, trip, vehicle)
    page.open(service.http)
    is_live(page)
    show_only(page, "filter", vehicle)
    page.wait(f"document.querySelector('#list .row strong')?.innerText === {json.dumps(vehicle)}")
    page.wait(f"!!document.querySelector('.leaflet-marker-icon[title=\"{vehicle}\"]')")
    for kind in ["Pick-up", "Drop-off"]:
        page.wait(f"!!document.querySelector('.leaflet-marker-icon[title=\"{kind} of {trip}\"]')")
    page.value("document.querySelector('#list .row').click()")
    page.wait("!!document.querySelector('#detail h2')")
    assert trip in text_of(page, "#detail .facts")
    place = text_of(page, "#detail .facts")
    report(service, vehicle, {"latitude": 37.4296, "longitude": -122.0639}, token)
    page.wait("document.querySelector('#detail .facts').innerText.includes('37.42960')")
    assert "37.42960" not in place
    page.wait("!!document.querySelector('path.trail')", seconds=10)
    picture(page)


@needs_leaflet
def test_delivery_vehicles_show_their_stops_and_tasks_can_be_filtered(service, new_id, page):
    token = service.mint("delivery_server")
    vehicle, tasks = new_id("dv"), [new_id("task") for _ in range(2)]
    assert service.rest("POST", f"deliveryVehicles?deliveryVehicleId={vehicle}", token, json={}).status_code == 200
    for number, task in enumerate(tasks):
        body = {
            "type": "DELIVERY", "state": "OPEN", "taskDuration": "60s", "trackingId": f"track-{task}",
            "plannedLocation": {"point": {"latitude": 37.42 + number / 100, "longitude": -122.07}},
        }
        answer = service.rest("POST", f"tasks?taskId={task}", token, json=body)
        assert answer.status_code == 200, answer.text
    stops = [
        {"stop": {"state": "NEW", "tasks": [{"taskId": task}],
                  "plannedLocation": {"point": {"latitude": 37.42 + number / 100, "longitude": -122.07}}}}
        for number, task in enumerate(tasks)
    ]
    answer = service.rest(
        "PATCH", f"deliveryVehicles/{vehicle}?updateMask=remainingVehicleJourneySegments,lastLocation", token,
        json={"remainingVehicleJourneySegments": stops, "lastLocation": {"location": MOUNTAIN_VIEW}})
    assert answer.status_code == 200, answer.text
    page.open(service.http)
    is_live(page)
    page.press("d")
    show_only(page, "filter", vehicle)
    page.wait("document.querySelector('#list .row small')?.innerText.includes('2 stops ahead')")
    page.value("document.querySelector('#list .row').click()")
    assert all(task in text_of(page, "#detail .facts") for task in tasks)
    page.wait(f"!!document.querySelector('.leaflet-marker-icon[title=\"Stop 2 of {vehicle}: new\"]')")
    page.press("s")
    show_only(page, "filter", tasks[1])
    page.wait("document.querySelectorAll('#list .row').length === 1")


def test_a_list_is_searched_for_what_names_its_things_and_not_for_how_old_they_are(service, page):
    page.open(f"{service.http}/#matrix")
    is_live(page)
    found = page.value("""import('/page/lists.js').then(({ Lists }) => {
      const fields = { id: 'it', state: 'open', stops: [], trips: [], type: 'auto', reported: 10 };
      const one = (it) => new Map([['it', { ...fields, ...it }]]);
      const [vehicles, deliveryVehicles, tasks, none] = [one(), one(), one({ tracking: 'Shipment-7' }), new Map()];
      const state = { vehicles, deliveryVehicles, tasks, trips: none, tokens: none, refusals: none };
      const live = { state, truncated: [], now: 20_000 };
      const lists = new Lists(live, { colour: () => '', onChoose() {} });
      const filter = document.getElementById('filter');
      const count = (kind, wanted) => {
        filter.value = wanted;
        lists.show(kind);
        return document.querySelectorAll('#list .row').length;
      };
      const kinds = ['vehicles', 'deliveryVehicles', 'tasks'];
      return kinds.map((kind) => ['0 s ago', 'it', 'shipment-7'].map((wanted) => count(kind, wanted)));
    })""")
    assert found == [[0, 1, 0], [0, 1, 0], [0, 1, 1]]


def test_how_fast_a_vehicle_is_is_told_while_it_is_known_and_a_link_while_it_leads_somewhere(service, page):
    page.open(f"{service.http}/#matrix")
    is_live(page)
    told = page.value("""import('/page/lists.js').then(({ Lists }) => {
      const it = { id: 'it', state: 'online', type: 'auto', trips: ['none'], reported: 1000, speed: 45.4 };
      const kinds = ['trips', 'deliveryVehicles', 'tasks', 'tokens', 'refusals'];
      const live = { state: { ...Object.fromEntries(kinds.map((kind) => [kind, new Map()])), vehicles: new Map([['it', it]]) }, truncated: [] };
      const lists = new Lists(live, { colour: () => '', onChoose() {} });
      const draw = (now, changes) => {
        live.now = now;
        live.state.vehicles.set('it', { ...it, ...changes });
        lists.choose('vehicles', 'it');
        const facts = [...document.querySelectorAll('#detail .facts > div')].map(({ children }) => [children[0].textContent, children[1]]);
        const { speed, trips } = Object.fromEntries(facts);
        return [document.querySelector('#list .row .aside').textContent, speed?.textContent, trips.textContent, Boolean(trips.firstElementChild)];
      };
      return [draw(60_999), draw(61_000), draw(2000, { state: 'offline' }), draw(2000, { trips: [] })];
    })""")
    assert told == [
        ["45 km/h", "45 km/h", "none", True], ["60 s ago", None, "none", True], ["1 s ago", None, "none", True],
        ["45 km/h", "45 km/h", "none", False]]


def test_a_link_leads_where_it_says(service, new_id, page):
    token = service.mint("delivery_server")
    task = new_id("task")

    def make(tracking):
        body = {"type": "DELIVERY", "state": "OPEN", "taskDuration": "60s", "trackingId": f"{tracking}-{task}"}
        body["plannedLocation"] = {"point": MOUNTAIN_VIEW}
        answer = service.rest("POST", f"tasks?taskId={task}", token, json=body)
        assert answer.status_code == 200, answer.text

    make("first")
    page.open(service.http)
    is_live(page)
    page.press("s")
    show_only(page, "filter", task)
    page.wait("document.querySelectorAll('#list .row').length === 1")
    page.value("document.querySelector('#list .row').click()")
    link = "document.querySelector('#detail .facts a').getAttribute('href')"
    assert page.value(link) == f"/share/shipments/first-{task}"
    assert service.rest("DELETE", f"tasks/{task}", token).status_code == 200
    make("second")
    page.wait(f"{link} === '/share/shipments/second-{task}'", seconds=20)


def test_a_link_takes_the_focus_to_what_it_leads_to(service, server_token, driven, new_id, page):
    vehicle, trip = driven[0], new_id("trip")
    make_trip(service, server_token, trip, vehicle)
    page.open(service.http)
    is_live(page)

    def follow_from(key, name, wanted):
        page.press(key)
        show_only(page, "filter", name)
        page.wait("document.querySelectorAll('#list .row').length === 1")
        page.value("document.querySelector('#list .row').click()")
        show_only(page, "filter", wanted)
        page.wait("document.querySelector('#detail .facts .link') !== null")
        page.focus("#detail .facts .link")
        page.press("Enter")

    chosen = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"
    for key, name, other in [("r", trip, vehicle), ("v", vehicle, trip)]:
        follow_from(key, name, other)
        assert page.value("document.activeElement.id") == "list"
        assert page.value(f"{chosen}.querySelector('strong').innerText") == other
    # Where the filter hides it, its details have the focus.
    follow_from("v", vehicle, "nothing fits this")
    assert page.value("document.activeElement.matches('#detail h2')") and text_of(page, "#detail h2") == trip


@pytest.mark.parametrize("width", [390, 1200])
def test_a_link_to_what_the_page_does_not_show_takes_the_focus_to_what_it_says(service, page, width):
    set_size(page, width)
    page.open(f"{service.http}/#live")
    is_live(page)
    said = page.value("""import('/page/lists.js').then(({ Lists }) => {
      const kinds = ['vehicles', 'trips', 'deliveryVehicles', 'tasks', 'tokens', 'refusals'];
      const state = Object.fromEntries(kinds.map((kind) => [kind, new Map()]));
      state.vehicles.set('it', { id: 'it', state: 'online', type: 'auto', trips: ['other'], reported: 0 });
      const lists = new Lists({ state, truncated: [], now: 0 }, { colour: () => '', onChoose() {} });
      lists.choose('vehicles', 'it');
      const link = document.querySelector('#detail .facts .link');
      link.focus();
      link.click();
      return document.activeElement.innerText;
    })""")
    assert said == "other is no longer there."


def test_what_stays_in_a_list_keeps_the_focus(service, page):
    page.open(service.http)
    found = page.value("""import('/page/dom.js').then(({ el, reconcile }) => {
      const list = el('div');
      document.body.append(list);
      const blurs = [];
      const create = (key) => el('button', { onblur: () => blurs.push(key) }, key);
      const draw = (keys) => reconcile(list, [...keys], (key) => key, create, () => {});
      draw('abcd');
      list.children[2].focus();
      return ['bcd', 'ncd', 'c', 'xcy', 'yxc'].map((keys) => {
        draw(keys);
        return [[...list.children].map((it) => it.textContent).join(''), document.activeElement.textContent, blurs.length];
      });
    })""")
    assert [shown for shown, _, _ in found] == ["bcd", "ncd", "c", "xcy", "yxc"]
    assert [focused for _, focused, _ in found] == ["c"] * 5
    assert [blurs for _, _, blurs in found[:4]] == [0] * 4, "nothing moves because something else went"


def test_a_screen_reader_is_told_what_is_chosen(service, driven, page):
    page.open(service.http)
    is_live(page)
    page.press("/")
    page.type(driven[0])
    page.wait("document.querySelectorAll('#list .row').length === 1")
    page.press("Enter")
    page.wait("document.activeElement.id === 'list'")
    chosen = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"
    assert page.value(f"{chosen}.matches('[role=option][aria-selected=true]')")
    assert driven[0] in page.value(f"{chosen}.innerText")
    page.press("Escape")
    page.wait("!document.getElementById('list').hasAttribute('aria-activedescendant')")
    tabs = "[...document.querySelectorAll('[role=tab]')]"
    assert page.value(f"{tabs}.map((it) => it.tabIndex)") == [0, -1, -1, -1]
    page.focus("#tab-vehicles")
    steps = [
        ("ArrowRight", "trips"), ("End", "tasks"), ("ArrowRight", "vehicles"), ("ArrowLeft", "tasks"), ("Home", "vehicles")]
    for key, tab in steps:
        page.press(key)
        assert page.value("document.activeElement.id") == f"tab-{tab}"
        stops = f"{tabs}.filter((it) => it.tabIndex === 0 && it.ariaSelected === 'true').map((it) => it.id)"
        assert page.value(stops) == [f"tab-{tab}"]
        assert page.value("document.querySelector('[role=tabpanel]').getAttribute('aria-labelledby')") == f"tab-{tab}"
    panels = f"{tabs}.map((it) => document.getElementById(it.getAttribute('aria-controls')).role)"
    assert page.value(panels) == ["tabpanel"] * 4

def test_the_life_of_a_token_is_on_the_time_line_by_fingerprint_alone(service, driven, page, picture):
    vehicle, token = driven
    assert service.rest("GET", "vehicles/somebody-else", token).status_code == 403
    page.open(f"{service.http}/#tokens")
    is_live(page)
    show_only(page, "token-filter", vehicle)
    page.wait("!!document.querySelector('#lanes .mark.refused')")
    page.value("document.querySelector('#lanes button.lane').click()")
    page.wait("document.querySelector('#lanes .story')?.textContent.includes('CLAIM_MISMATCH')")
    story = text_of(page, "#lanes .story")
    for word in ["fetched", "used", "refused", "CLAIM_MISMATCH"]:
        assert word in story
    assert page.value("document.querySelectorAll('#lanes .mark.refused').length") >= 1
    picture(page)
    everything = page.value("document.documentElement.outerHTML") + page.value("fetch('/page/state').then((it) => it.text())")
    for part in token.split("."):
        assert part not in everything


def test_a_lane_hears_a_click_during_which_it_is_drawn(service, driven, page):
    page.open(f"{service.http}/#tokens")
    is_live(page)
    show_only(page, "token-filter", driven[0])
    page.wait("document.querySelectorAll('#lanes rect.used').length === 1")
    lane = "document.querySelector('#lanes button.lane')"
    x, y = page.value("(({ x, y, width, height }) => [x + width / 2, y + height / 2])(document.querySelector('rect.used').getBoundingClientRect())")
    mouse = {"x": x, "y": y, "button": "left", "clickCount": 1}
    page.call("Input.dispatchMouseEvent", type="mousePressed", **mouse)
    show_only(page, "token-filter", driven[0])
    page.call("Input.dispatchMouseEvent", type="mouseReleased", **mouse)
    page.wait(f"{lane}.ariaExpanded === 'true'")
    # Once it is let go, it is drawn again.
    page.value("document.querySelector('#lanes rect.used').id = 'old'")
    show_only(page, "token-filter", driven[0])
    assert not page.value("!!document.getElementById('old')")


def test_the_time_lines_say_when_there_are_more_tokens_than_they_show(service, page):
    page.open(f"{service.http}/#tokens")
    is_live(page)
    assert page.value("document.getElementById('token-note').hidden")
    page.value("""import('/page/timeline.js').then(({ Timeline }) =>
      new Timeline({ state: { tokens: new Map(), refusals: new Map() }, truncated: ['token'], now: 0 }).draw())""")
    assert "more tokens than this page shows" in text_of(page, "#token-note")


def test_a_jump_to_another_view_leads_to_what_is_meant(service, driven, page):
    vehicle, token = driven
    assert service.rest("DELETE", f"vehicles/{vehicle}", token).status_code == 403
    page.open(f"{service.http}/#tokens")
    is_live(page)
    # What is filtered in the other view does not hide what the jump is to.
    show_only(page, "refusal-filter", "nothing fits this")
    show_only(page, "token-filter", vehicle)
    page.wait("!!document.querySelector('#lanes .mark.refused')")
    page.value("document.querySelector('#lanes button.lane').click()")
    page.wait("!!document.querySelector('#lanes .story .link')")
    page.value("document.querySelector('#lanes .story .link').click()")
    page.value(FRAMES)
    assert page.value("location.hash") == "#refusals"
    assert page.value("document.activeElement.id") == "refusal-list"
    assert "ROLE_LACKS_PERMISSION" in text_of(page, "#refusal-detail h2") and vehicle in text_of(page, "#refusal-detail")
    page.value("[...document.querySelectorAll('#refusal-detail button')].at(-1).click()")
    page.value(FRAMES)
    assert page.value("document.activeElement.matches('.cell.chosen')")
    assert "may not call DeleteVehicle" in text_of(page, "#matrix-words")
    page.value("history.back()")
    page.wait("!document.getElementById('refusals').hidden")


def test_what_is_read_stays_until_the_reader_chooses(service, driven, page):
    vehicle, token = driven
    assert service.rest("GET", "vehicles/somebody-else", token).status_code == 403
    page.open(f"{service.http}/#refusals")
    is_live(page)
    show_only(page, "refusal-filter", vehicle)
    page.wait("document.querySelector('#refusal-detail h2')?.innerText.includes('CLAIM_MISMATCH')")
    assert service.rest("DELETE", f"vehicles/{vehicle}", token).status_code == 403
    page.wait("document.querySelectorAll('#refusal-list .row').length === 2")
    assert "ROLE_LACKS_PERMISSION" in text_of(page, "#refusal-list .row")
    assert "CLAIM_MISMATCH" in text_of(page, "#refusal-detail h2")
    assert "CLAIM_MISMATCH" in text_of(page, "#refusal-list [aria-selected=true]")
    page.press("/")
    page.press("Enter")
    assert "ROLE_LACKS_PERMISSION" in text_of(page, "#refusal-detail h2"), "Enter takes the first"
    page.press("ArrowDown")
    assert "CLAIM_MISMATCH" in text_of(page, "#refusal-detail h2")

def test_a_refused_call_is_explained_check_by_check(service, driven, page, picture):
    vehicle, token = driven
    assert service.rest("DELETE", f"vehicles/{vehicle}", token).status_code == 403
    page.open(f"{service.http}/#refusals")
    is_live(page)
    show_only(page, "refusal-filter", vehicle)
    page.wait("!!document.querySelector('#refusal-detail .checks')")
    picture(page)
    assert "ROLE_LACKS_PERMISSION" in text_of(page, "#refusal-detail h2")
    assert page.value("document.querySelectorAll('#refusal-detail .checks li').length") == 21
    # A label is read where its element has a role of its own.
    labels = page.value("[...document.querySelectorAll('#refusal-detail .checks i[role=img]')].map((it) => it.ariaLabel)")
    assert len(labels) == 21 and set(labels) <= {"passed", "refused", "not reached"}
    answer = text_of(page, "#refusal-detail .checks .first")
    assert "permission" in answer and "fleetengine.vehicles.delete" in answer
    page.value("[...document.querySelectorAll('#refusal-detail button')].at(-1).click()")
    page.wait("!document.getElementById('matrix').hidden")
    assert "driver" in text_of(page, "#matrix-words") and "may not call DeleteVehicle" in text_of(page, "#matrix-words")


def test_a_call_that_the_role_may_make_for_other_fields_is_shown_where_it_may_not(service, driven, page):
    vehicle, token = driven
    answer = service.rest("PUT", f"vehicles/{vehicle}?updateMask=maximumCapacity", token, json={"maximumCapacity": 5})
    assert answer.status_code == 403, answer.text
    page.open(f"{service.http}/#refusals")
    is_live(page)
    show_only(page, "refusal-filter", vehicle)
    page.wait("!!document.querySelector('#refusal-detail .checks')")
    page.value("document.querySelector('#refusal-detail button').click()")
    page.wait("!document.getElementById('matrix').hidden")
    assert "driver" in text_of(page, "#matrix-words")
    assert "may not call UpdateVehicle" in text_of(page, "#matrix-words")


def test_the_matrix_is_offered_by_the_role_whatever_the_account_is_called(service, page):
    page.open(f"{service.http}/#tokens")
    is_live(page)
    offered = page.value("""import('/page/refusals.js').then(({ Refusals }) => {
      const refusal = (role, permission) => ({
        id: '1', time: 0, status: 403, method: 'DeleteVehicle', reason: 'ROLE_LACKS_PERMISSION', message: '', fix: '',
        account: 'consumer@acme.example', fingerprint: 'f',
        checks: [{ rule: 'role', outcome: 'passed', detail: role }, { rule: 'permission', outcome: permission, detail: '' }],
      });
      return [['driver', 'refused'], ['permissions of its own', 'refused'], ['driver', 'passed']].map((it) => {
        let role = 'nothing';
        const live = { state: { refusals: new Map([['1', refusal(...it)]]) }, now: 0 };
        new Refusals(live, ['consumer', 'driver'], (_, shown) => { role = shown; }).draw();
        document.querySelector('#refusal-detail button')?.click();
        return role;
      });
    })""")
    assert offered == ["driver", "nothing", "nothing"]


def test_a_refusal_is_told_from_one_of_the_same_number_before_the_engine_started_again(service, page):
    page.open(f"{service.http}/#tokens")
    is_live(page)
    told = page.value("""import('/page/refusals.js').then(({ Refusals }) => {
      const refusal = (id, time, reason) => [id, {
        id, time, status: 403, method: 'GetTrip', reason, message: '', fix: '', fingerprint: 'f', checks: [],
      }];
      const live = { state: { refusals: new Map() }, now: 100 };
      const refusals = new Refusals(live, [], () => {});
      const draw = (...entries) => {
        live.state.refusals = new Map(entries);
        refusals.draw();
        const rows = [...document.querySelectorAll('#refusal-list .row')];
        const reasons = rows.map((row) => [row.querySelector('strong').textContent, row.ariaSelected]);
        return [reasons, document.querySelector('#refusal-detail h2').textContent.trim()];
      };
      const drawn = [
        draw(refusal('1', 10, 'OLD'), refusal('2', 20, 'OLD_AND_CHOSEN')), draw(refusal('1', 50, 'NEW'), refusal('2', 60, 'NEWER')),
      ];
      refusals.choose('2');
      return [...drawn, draw(...live.state.refusals)];
    })""")
    assert told == [
        [[["OLD_AND_CHOSEN", "true"], ["OLD", "false"]], "403 OLD_AND_CHOSEN"],
        [[["NEWER", "false"], ["NEW", "false"]], "403 OLD_AND_CHOSEN"],
        [[["NEWER", "true"], ["NEW", "false"]], "403 NEWER"]]


def test_deviations_are_listed_by_rule_with_whose_they_are(service, driven, page, picture):
    vehicle, token = driven
    # The second report within five seconds.
    report(service, vehicle, MOUNTAIN_VIEW, token)
    page.open(f"{service.http}/#deviations")
    is_live(page)
    show_only(page, "deviation-filter", vehicle)
    row = "[...document.querySelectorAll('#deviation-list .row')].find((it) => it.innerText.includes('report-too-often'))"
    page.wait(row)
    page.value(f"{row}.click()")
    page.wait("document.querySelector('#deviation-detail h2')?.innerText === 'report-too-often'")
    picture(page)
    detail = text_of(page, "#deviation-detail")
    for word in [vehicle, "UpdateVehicle", "driver", "locationReportingInterval", "a warning", "1 call"]:
        assert word in detail
    assert "The service lets it pass" in text_of(page, "#deviation-words")
    assert int(text_of(page, "#deviation-count")) >= 1
    assert not any(part in page.value("document.documentElement.outerHTML") for part in token.split("."))


def test_times_that_are_shown_get_their_date_when_the_engine_s_day_is_over(service, page):
    page.open(f"{service.http}/#matrix")
    is_live(page)
    told = page.value("""Promise.all(['lists', 'timeline', 'refusals', 'deviations'].map((it) => import(`/page/${it}.js`))).then((modules) => {
      const now = new Date(2031, 4, 17, 12, 30).getTime();
      const time = now - 60_000;
      const subject = { kind: 'vehicle', id: 'it' };
      const one = (it) => new Map([['it', it]]);
      const state = {
        vehicles: one({ id: 'it', state: 'online', type: 'auto', trips: [], reported: time }), trips: new Map(), deliveryVehicles: new Map(),
        tasks: new Map(),
        tokens: one({ fingerprint: 'f', role: 'driver', subject, issued: time, expires: now + 60_000 }),
        refusals: one({ id: 'it', time, status: 403, method: 'GetTrip', reason: 'R', message: '', fix: '', subject, checks: [] }),
        rules: one({ id: 'it', what: '', why: '', fix: '', source: '', count: 1 }),
        deviations: one({ id: 'it', rule: 'it', subject, role: '', method: '', fingerprint: '', count: 1, first: time, last: time }),
      };
      const live = { state, truncated: [], now };
      const lists = new modules[0].Lists(live, { colour: () => '', onChoose() {} });
      const views = [new modules[1].Timeline(live, () => {}), new modules[2].Refusals(live, [], () => {}), new modules[3].Deviations(live, 'real')];
      const parts = ['detail', 'lanes', 'refusal-detail', 'deviation-detail'].map((it) => document.getElementById(it));
      const drawAt = (time) => {
        live.now = time;
        lists.choose('vehicles', 'it');
        for (const view of views) view.draw();
        const lane = parts[1].querySelector('button.lane');
        if (lane.ariaExpanded === 'false') lane.click();
        return parts.map((it) => [it.textContent.includes('12:29:00'), it.textContent.includes('2031')]);
      };
      return [now, now + 60_000, now + 86_400_000].map(drawAt);
    })""")
    assert told == [[[True, False]] * 4, [[True, False]] * 4, [[True, True]] * 4]


def test_rules_are_counted_beyond_the_findings_that_the_page_shows(service, page):
    # As in a browser of early 2023.
    page.call("Page.addScriptToEvaluateOnNewDocument", source="delete Map.groupBy;")
    page.open(f"{service.http}/#deviations")
    is_live(page)
    told = page.value("""Promise.all(['live', 'deviations'].map((it) => import(`/page/${it}.js`))).then(([{ Live }, { Deviations }]) => {
      let source;
      const { EventSource } = globalThis;
      globalThis.EventSource = class extends EventTarget { constructor() { super(); source = this; } close() {} };
      const live = new Live();
      live.connect();
      globalThis.EventSource = EventSource;
      const deviations = new Deviations(live, 'real');
      const filter = document.getElementById('deviation-filter');
      const rule = (id, count) => [id, { id, what: 'Seen.', why: '', fix: '', source: '', isRefusedInStrict: false, count }];
      const finding = (id, vehicle, last) => [
        `${id}/${vehicle}`,
        { id: `${id}/${vehicle}`, rule: id, subject: { kind: 'vehicle', id: vehicle }, count: 2, first: 1, last, method: 'UpdateVehicle' },
      ];
      const draw = (wanted) => {
        filter.value = wanted;
        deviations.draw();
        const rows = [...document.querySelectorAll('#deviation-list .row')]
          .map((row) => `${row.querySelector('strong').textContent} ${row.firstChild.textContent}`);
        return [rows, deviations.ruleCount, document.getElementById('deviation-note').hidden];
      };
      const send = (name, data) => {
        source.dispatchEvent(new MessageEvent(name, { data: JSON.stringify({ now: 10, ...data }) }));
        return draw('');
      };
      const state = {
        ...Object.fromEntries(Object.keys(live.state).map((kind) => [kind, {}])), chaos: [], truncated: [],
        rules: Object.fromEntries([rule('some-rule', 2)]), deviations: Object.fromEntries([finding('some-rule', 'veh-1', 5)]),
      };
      const drawn = [
        send('snapshot', { state }),
        send('change', { changes: {
          rules: { put: Object.fromEntries([rule('some-rule', 700), rule('rule-without-findings', 3)]), drop: [] },
          deviations: { put: Object.fromEntries([finding('some-rule', 'veh-2', 7)]), drop: [] }, truncated: ['deviation'],
        } }),
        ...['veh-2', 'some-rule', 'without'].map(draw),
      ];
      return [drawn, document.getElementById('deviation-note').innerText];
    })""")
    rules = ["some-rule 700 ×", "rule-without-findings 3 ×"]
    assert told[0] == [
        [["some-rule 2 ×"], 1, True], [rules, 2, False], [["some-rule 2 ×"], 2, False], [rules[:1], 2, False],
        [rules[1:], 2, False]]
    assert "more findings than this page shows" in told[1]


def test_a_script_of_faults_is_told_at_the_top(service, driven, page, picture):
    vehicle, token = driven
    script = {"steps": [{"refuse": "TOKEN_EXPIRED", "vehicle": vehicle}]}
    assert requests.put(f"{service.http}/chaos", json=script, timeout=30).status_code == 200
    try:
        assert service.rest("GET", f"vehicles/{vehicle}", token).status_code == 401
        page.open(f"{service.http}/#refusals")
        is_live(page)
        # The list of steps comes after its heading.
        page.wait("document.getElementById('chaos').innerText.includes('active, 1 call')")
        assert "Chaos by script" in text_of(page, "#chaos") and "TOKEN_EXPIRED" in text_of(page, "#chaos")
        # A screen reader tells of the steps and the connection, and not each call and each vehicle.
        live = "[...document.querySelectorAll('#chaos, #status')].filter((it) => it.closest('[role=status], [aria-live]')).length"
        assert page.value(live) == 0
        spoken = [text_of(page, f"#{part}-spoken[role=status]") for part in ("chaos", "status")]
        assert spoken[0].endswith("active") and spoken[1] == f"Connected to {service.provider}"
        assert text_of(page, "#chaos").startswith(spoken[0])
        page.value("""window.changes = []; window.observer = new MutationObserver((records) => changes.push(...records));
          for (const part of document.querySelectorAll('[role=status]')) observer.observe(part, {
            childList: true, subtree: true, characterData: true })""")
        assert service.rest("GET", f"vehicles/{vehicle}", token).status_code == 401
        page.wait("document.getElementById('chaos').innerText.includes('active, 2 calls')")
        assert page.value("changes.length + observer.takeRecords().length") == 0
        show_only(page, "refusal-filter", vehicle)
        page.wait("document.querySelector('#refusal-detail .lead')?.innerText.startsWith('Chaos by script')")
        picture(page)
    finally:
        assert requests.delete(f"{service.http}/chaos", timeout=30).status_code == 200
    page.wait("document.getElementById('chaos').hidden && !document.getElementById('chaos-spoken').innerText")


def test_the_matrix_is_read_with_the_keyboard(service, page, picture):
    page.open(f"{service.http}/#matrix")
    page.wait("document.querySelectorAll('.cell').length > 300")
    page.focus(".cell.chosen")
    first = text_of(page, "#matrix-words")
    page.press("ArrowRight")
    page.press("ArrowDown")
    assert "driver" in text_of(page, "#matrix-words") and "GetVehicle" in text_of(page, "#matrix-words") != first
    picture(page)


# Whether the middle of what has the focus is seen, and nothing lies over it.
FOCUS_IS_SEEN = """((focused) => {
  const { x, y, width, height } = focused.getBoundingClientRect();
  return focused.contains(document.elementFromPoint(x + width / 2, y + height / 2));
})(document.activeElement)"""


@pytest.mark.parametrize("width", [320, 390, 861, 1280])
def test_a_cell_that_the_arrows_lead_to_is_seen(service, page, width):
    set_size(page, width, 700)
    page.open(f"{service.http}/#matrix")
    page.wait("document.querySelectorAll('.cell').length > 300")
    page.value("scrollTo(0, 100_000), document.getElementById('theme').focus()")
    for _ in range(30):
        if page.value("document.activeElement.matches('.cell')"):
            break
        page.press("Tab")
        page.value(FRAMES)
    assert page.value("document.activeElement.matches('.cell.chosen')") and page.value(FOCUS_IS_SEEN)
    for key, times in [("ArrowDown", 40), ("ArrowRight", 12), ("ArrowUp", 40), ("ArrowLeft", 12)]:
        for _ in range(times):
            page.press(key)
            assert page.value(FOCUS_IS_SEEN), text_of(page, "#matrix-words")


def test_a_lane_that_the_tab_key_leads_to_is_seen_on_a_phone(service, new_id, page):
    set_size(page, 390, 700)
    prefix = new_id("lane")[:20]
    for number in range(20):
        token_from(service, f"driver/{prefix}-{number:02}")
    page.open(f"{service.http}/#tokens")
    is_live(page)
    show_only(page, "token-filter", prefix)
    page.wait("document.querySelectorAll('#lanes button.lane').length === 20")
    page.focus("#token-span")
    for modifiers in (0, 8):
        for _ in range(20 - (modifiers == 8)):
            page.press("Tab", modifiers=modifiers)
            page.value(FRAMES)
            assert page.value("document.activeElement.matches('button.lane')") and page.value(FOCUS_IS_SEEN)


def test_what_goes_beyond_a_page_of_paper_is_printed_on_the_next(service, page):
    page.open(f"{service.http}/#matrix")
    page.wait("document.querySelectorAll('.cell').length > 300")
    for is_landscape in (True, False):
        printed = base64.b64decode(page.call("Page.printToPDF", landscape=is_landscape)["data"])
        assert len(re.findall(rb"/Type /Page\b", printed)) > 1


def test_views_lists_and_filters_work_with_the_keyboard(service, driven, page):
    page.open(service.http)
    is_live(page)
    for key, view in zip("23456", ["tokens", "refusals", "deviations", "matrix", "inspect"], strict=True):
        page.press(key)
        page.wait(f"location.hash === '#{view}' && !document.getElementById('{view}').hidden")
        page.value("document.activeElement.blur()")
    page.press("1")
    page.wait("!document.getElementById('live').hidden")
    page.press("/")
    assert page.value("document.activeElement.id") == "filter"
    page.type(driven[0])
    page.wait("document.querySelectorAll('#list .row').length === 1")
    page.press("Enter")
    page.wait(f"document.querySelector('#detail h2')?.innerText === {json.dumps(driven[0])}")
    page.press("Escape")
    page.wait("!document.querySelector('#detail h2')")
    page.press("t")
    assert page.value("document.documentElement.dataset.theme") == "light"


def test_the_last_entry_is_chosen_by_its_key_and_none_by_one_that_ends_a_word(service, server_token, new_id, page):
    prefix = new_id("key")[:20]
    for number in range(3):
        answer = service.rest("POST", f"vehicles?vehicleId={prefix}-{number}", server_token, json=vehicle_body())
        assert answer.status_code == 200, answer.text
    page.open(service.http)
    is_live(page)
    page.press("/")
    show_only(page, "filter", prefix[:-1])
    page.wait("document.querySelectorAll('#list .row').length === 3")
    page.call("Input.imeSetComposition", text=prefix[-1], selectionStart=1, selectionEnd=1)
    page.press("Enter")
    assert page.value("document.activeElement.id") == "filter" and not text_of(page, "#detail h2")
    page.focus("#list")
    for key, number in [("End", 2), ("Home", 0)]:
        page.press(key)
        assert text_of(page, "#detail h2") == f"{prefix}-{number}"


def test_why_nothing_is_listed_stands_below_the_filter(service, page):
    page.open(service.http)
    is_live(page)
    show_only(page, "filter", "no-such-vehicle")
    page.wait("!document.getElementById('list-note').hidden")
    top, bottom = (page.value(f"document.getElementById('{part}').getBoundingClientRect().{edge}")
                   for part, edge in (("list-note", "top"), ("filter", "bottom")))
    assert 0 <= top - bottom < 50


def test_the_link_to_the_content_leaves_no_view(service, page):
    for view in ["tokens", "inspect"]:
        page.open(f"{service.http}/?{view}#{view}")
        is_live(page)
        page.value("document.getElementById('token-text').value = 'kept'")
        page.focus(".skip")
        page.press("Enter")
        page.wait("document.activeElement.id === 'main'")
        page.value(FRAMES)
        assert not page.value(f"document.getElementById('{view}').hidden") and page.value("location.hash") == f"#{view}"
        assert page.value("document.getElementById('token-text').value") == "kept"


@pytest.mark.parametrize("width", [390, 1200])
def test_what_is_gone_is_told_until_it_is_let_go(service, server_token, vehicle, page, width):
    set_size(page, width)
    page.open(service.http)
    is_live(page)
    show_only(page, "filter", vehicle)
    page.wait("document.querySelectorAll('#list .row').length === 1")
    page.value("document.querySelector('#list .row').click()")
    assert text_of(page, "#detail h2") == vehicle
    assert service.rest("DELETE", f"vehicles/{vehicle}", server_token).status_code == 200
    page.wait(f"document.getElementById('detail').innerText === {json.dumps(f'{vehicle} is no longer there.')}")
    assert "is no longer there" in page.text(), "it is seen"
    page.press("Escape")
    assert text_of(page, "#detail").startswith("Choose a vehicle")


def test_what_is_beyond_what_the_page_shows_is_not_called_gone(service, page):
    page.open(service.http)
    is_live(page)
    told = page.value("""import('/page/lists.js').then(({ Lists }) => {
      const kinds = ['vehicles', 'trips', 'deliveryVehicles', 'tasks'];
      const shown = new Map(Array.from({ length: 500 }, (_, index) => [`task-${index}`, { id: `task-${index}`, state: 'open', tracking: '' }]));
      const state = Object.fromEntries([...kinds, 'tokens', 'refusals'].map((kind) => [kind, kind === 'tasks' ? shown : new Map()]));
      const live = { state, truncated: ['task'], now: 0 };
      const lists = new Lists(live, { colour: () => '', onChoose() {} });
      const detail = document.getElementById('detail');
      const tasks = document.querySelector('#tab-tasks b');
      const texts = kinds.map((kind) => { lists.choose(kind, 'it'); return [detail.textContent, tasks.textContent]; });
      live.truncated = [];
      lists.draw();
      return [...texts, [detail.textContent, tasks.textContent]];
    })""")
    gone = "it is no longer there."
    assert told == [[gone, "500+"]] * 3 + [["it is not among the 500 that this page shows.", "500+"], [gone, "500"]]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_off_on_a_phone_or_in_the_dark(service, driven, tmp_path, dark, width, picture):
    with Browser(tmp_path / "profile", dark=dark, width=width, height=844) as page:
        for view in ["live", "tokens", "refusals", "deviations", "matrix", "inspect"]:
            page.open(f"{service.http}/?{view}#{view}")
            is_live(page)
            assert page.value("document.documentElement.scrollWidth") <= width, view
            assert page.value("[...document.querySelectorAll('nav a')].at(-1).getBoundingClientRect().right") <= width
            light = page.value("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((it) => it > 128)")
            assert light != dark
            picture(page, f"-{view}")


def test_the_link_to_the_start_has_a_name_without_its_text(service, page):
    set_size(page, 1000)
    page.open(service.http)
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    nodes = page.call("Accessibility.queryAXTree", nodeId=root, accessibleName="Fleetpass", role="link")["nodes"]
    assert len(nodes) == 1


def test_the_bar_fits_at_any_width(service, page):
    page.open(service.http)
    is_live(page)
    for width in [320, 360, 861, 900, 1000, 1130, 1131]:
        set_size(page, width, 700)
        page.value("document.getElementById('status-text').textContent = 'a-provider-of-a-long-name · 500+ vehicles · 500+ tokens'")
        page.value("for (const count of document.querySelectorAll('.tabs b')) count.textContent = '500+'")
        page.value("for (const badge of document.querySelectorAll('nav .badge')) { badge.hidden = false; badge.textContent = '200'; }")
        page.value(FRAMES)
        assert page.value("document.documentElement.scrollWidth") <= width
        assert page.value("(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.getElementById('list-tabs'))")
        parts = ".bar > button:not([hidden]), .status"
        assert page.value(f"Math.max(...[...document.querySelectorAll('{parts}')].map((it) => it.getBoundingClientRect().right))") <= width
        # The link to the view that is shown is in sight, also where not all of them fit.
        for view in ["inspect", "live"]:
            page.value(f"location.hash = '{view}'")
            page.wait(f"""(({{ left, right }}) => left > -1 && right < {width + 1})(
              document.querySelector('nav a[href="#{view}"][aria-current]')?.getBoundingClientRect() ?? {{ left: -9 }})""")


def test_what_is_chosen_in_a_long_list_is_seen_on_a_phone(service, server_token, new_id, tmp_path, picture):
    prefix = new_id("long")[:20]
    for number in range(30):
        answer = service.rest("POST", f"vehicles?vehicleId={prefix}-{number:02}", server_token, json=vehicle_body())
        assert answer.status_code == 200, answer.text
    with Browser(tmp_path / "profile", width=390, height=844) as page:
        page.open(service.http)
        is_live(page)
        show_only(page, "filter", prefix)
        page.wait("document.querySelectorAll('#list .row').length === 30")
        for row in (0, 29):
            page.value(f"document.querySelectorAll('#list .row')[{row}].click()")
            assert text_of(page, "#detail h2") == f"{prefix}-{row:02}"
            seen = """((part) => {
              const { top, bottom } = document.querySelector(part).getBoundingClientRect();
              const [bar, nav] = ['.bar', 'nav'].map((it) => document.querySelector(it).getBoundingClientRect());
              return top >= bar.bottom && bottom <= nav.top;
            })"""
            page.wait(f"{seen}('#detail') && {seen}('#list [aria-selected=true]')")
        picture(page)


def test_a_page_takes_the_settings_of_an_engine_that_started_again_with_others(tmp_path):
    service = Service(tmp_path / "first", "--provider", "first-fleet")

    def start_again(data, *options):
        service.kill()
        page.wait("document.getElementById('status').dataset.state === 'lost'")
        return Service(tmp_path / data, *options, port=service.http.rsplit(":", 1)[1])

    try:
        with Browser(tmp_path / "profile") as page:
            page.open(f"{service.http}/#deviations")
            is_live(page)
            page.value("window.isFirst = true")
            service = start_again("first", "--provider", "first-fleet")
            page.wait("performance.getEntriesByName(`${location.origin}/page/settings`).length === 2", seconds=60)
            page.value(FRAMES)
            assert page.value("window.isFirst"), "nothing is loaded again where the settings are those of before"
            service = start_again("second", "--provider", "second-fleet", "--profile", "strict")
            page.wait("!window.isFirst && document.getElementById('status')?.dataset.state === 'live'", seconds=60)
            assert text_of(page, "#status-text").startswith("second-fleet ")
            assert "This engine is strict" in text_of(page, "#deviation-words")
    finally:
        service.kill()


def open_events(service, **headers):
    answer = requests.get(f"{service.http}/page/events", headers=headers, stream=True, timeout=30)
    return answer, answer.iter_lines(decode_unicode=True)


def open_when_free(service):
    """A reader that went is noticed at once, and not by the events that can no longer be sent to it."""
    deadline = time.monotonic() + 5
    while True:
        answer, lines = open_events(service)
        if answer.status_code == 200:
            return answer, lines
        assert answer.status_code == 503 and time.monotonic() < deadline
        time.sleep(0.1)


def test_readers_that_left_make_room_though_nothing_happens(tmp_path):
    service = Service(tmp_path / "data")
    try:
        readers = [open_events(service) for _ in range(32)]
        assert all(next(lines) == "retry: 2000" for _, lines in readers)
        assert open_events(service)[0].status_code == 503
        for answer, _ in readers:
            answer.close()
        assert next(open_when_free(service)[1]) == "retry: 2000"
    finally:
        service.stop()


def test_a_page_that_gets_no_events_says_so_and_of_nothing_that_there_is_none(tmp_path):
    service = Service(tmp_path / "data")
    try:
        readers = [open_events(service) for _ in range(32)]
        assert all(next(lines) == "retry: 2000" for _, lines in readers)
        with Browser(tmp_path / "profile") as page:
            page.open(service.http)
            page.wait("document.getElementById('status').dataset.state === 'lost'")
            empty = "document.querySelectorAll('#list-note:not([hidden]), .list > .hint:not(:empty), #lanes > .hint:not(:empty), #list-tabs b:not(:empty)').length"
            for view in ["tokens", "refusals", "deviations", "live"]:
                page.value(f"location.hash = '{view}'")
                page.wait(f"!document.getElementById('{view}').hidden")
                assert page.value(empty) == 0, view
            readers[0][0].close()
            is_live(page)
            page.wait("document.getElementById('list-note').innerText === 'There are no vehicles yet.'")
    finally:
        service.stop()


def test_events_go_on_where_a_reader_was_and_are_bounded_in_readers(tmp_path):
    service = Service(tmp_path / "data")
    host, port = service.http.removeprefix("http://").split(":")
    silent = socket.socket()
    silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    try:
        answer, lines = open_events(service)
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["x-accel-buffering"] == "no"
        assert next(line for line in lines if line.startswith("event: ")) == "event: snapshot"
        last = next(line for line in lines if line.startswith("id: ")).removeprefix("id: ")
        assert next(lines) == "event: beat"
        answer.close()
        token = service.mint("server")
        assert service.rest("POST", "vehicles?vehicleId=veh-1", token, json=vehicle_body()).status_code == 200
        time.sleep(2.5)
        answer, lines = open_events(service, **{"Last-Event-ID": last})
        assert next(line for line in lines if line.startswith("event: ")) == "event: change"
        assert "veh-1" in next(lines)
        # One that never reads.
        silent.connect((host, int(port)))
        silent.sendall(f"GET /page/events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        others = [open_when_free(service) for _ in range(30)]
        assert all(next(lines) == "retry: 2000" for _, lines in others)
        refused, _ = open_events(service)
        assert refused.status_code == 503 and refused.headers["retry-after"]
    finally:
        # The readers are still there, and do not hold up the end.
        started = time.monotonic()
        code, _, errors = service.stop()
        silent.close()
        assert code == 0, errors
        assert time.monotonic() - started < 15
