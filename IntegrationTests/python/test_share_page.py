# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The share pages in a real browser, and what they have in common with the page."""

import base64
import itertools
import json
import time

import pytest
import requests

import browser
from service import run
from test_page import (  # noqa: F401 (fixtures)
    FRAMES, MOUNTAIN_VIEW, driven, make_trip, needs_leaflet, page, picture, report, set_status, text_of)
from test_page_map import NOT_ZOOMING, SCALE, zoom_in

pytestmark = pytest.mark.skipif(
    not browser.PROGRAM, reason="Chromium is missing; Scripts/install-packages.sh --tests installs it")


@needs_leaflet
def test_a_trip_is_shared_with_a_token_that_the_browser_fetches(service, server_token, driven, new_id, page, picture):
    vehicle, _ = driven
    trip = new_id("trip")
    make_trip(service, server_token, trip, vehicle)
    page.open(f"{service.http}/share/trips/{trip}")
    page.wait("document.getElementById('headline').innerText === 'Your driver is on the way'")
    page.wait("!!document.querySelector('.vehicle-icon')")
    picture(page)
    assert "Token for this trip alone" in page.text()
    set_status(service, server_token, trip, "ARRIVED_AT_PICKUP")
    page.wait("document.getElementById('headline').innerText === 'Your driver is here'")
    fetched = [address for _, address, _ in page.requests if "/token/" in address]
    assert fetched == [f"{service.http}/token/consumer/{trip}"]
    assert not any("eyJ" in address for _, address, _ in page.requests), "a token never stands in an address"
    set_status(service, server_token, trip, "CANCELED")
    page.wait("document.getElementById('headline').innerText === 'This trip was cancelled'")
    page.wait("document.getElementById('token-line').innerText === ''")
    asked = len(page.requests)
    time.sleep(6)
    assert len(page.requests) == asked, "nothing is asked after the end"


def test_a_trip_looks_for_no_driver_once_it_has_one(service, server_token, driven, new_id, page):
    trip = new_id("trip")
    body = {"tripType": "EXCLUSIVE", "pickupPoint": {"point": MOUNTAIN_VIEW}, "dropoffPoint": {"point": MOUNTAIN_VIEW}}
    assert service.rest("POST", f"trips?tripId={trip}", server_token, json=body).status_code == 200
    page.open(f"{service.http}/share/trips/{trip}")
    page.wait("document.getElementById('headline').innerText === 'Looking for a driver'")
    answer = service.rest("PUT", f"trips/{trip}?updateMask=vehicleId", server_token, json={"vehicleId": driven[0]})
    assert answer.status_code == 200 and answer.json()["tripStatus"] == "NEW", answer.text
    page.wait("document.getElementById('headline').innerText === 'Your driver was found'", seconds=20)
    assert page.value("document.title").startswith("Your driver was found")


@needs_leaflet
def test_a_shared_map_that_the_reader_zoomed_stays_so(service, server_token, driven, new_id, page):
    trip = new_id("trip")
    make_trip(service, server_token, trip, driven[0])
    page.open(f"{service.http}/share/trips/{trip}")
    page.wait(f"!!document.querySelector('.vehicle-icon') && {NOT_ZOOMING}")
    zoom_in(page)
    scale = text_of(page, SCALE)
    set_status(service, server_token, trip, "ARRIVED_AT_PICKUP")
    page.wait("document.getElementById('headline').innerText === 'Your driver is here'")
    page.value(FRAMES)
    page.wait(NOT_ZOOMING)
    assert text_of(page, SCALE) == scale


@needs_leaflet
@pytest.mark.parametrize("size", [(640, 280), (844, 390), (320, 420)])
def test_a_shared_map_shows_everything_in_a_low_window_too(service, server_token, driven, new_id, page, picture, size):
    width, height = size
    trip = new_id("trip")
    make_trip(service, server_token, trip, driven[0])
    report(service, driven[0], MOUNTAIN_VIEW | {"longitude": -122.0839}, driven[1])
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    page.open(f"{service.http}/share/trips/{trip}")
    boxes = "[...document.querySelectorAll('.leaflet-marker-icon')].map((it) => it.getBoundingClientRect())"
    page.wait(f"{boxes}.length === 3 && {NOT_ZOOMING}")
    picture(page, f"-{width}")
    inside = f"({{ left, right, top, bottom }}) => left >= 0 && top >= 0 && right <= {width} && bottom <= {height}"
    assert page.value(f"{boxes}.every({inside})")
    if width > height:
        edge = page.value("document.querySelector('.card').getBoundingClientRect().left")
        assert page.value(f"{boxes}.every(({{ right }}) => right <= {edge})"), "the card lies beside the map"
        assert page.value("document.documentElement.scrollHeight") <= height


@needs_leaflet
def test_a_shared_map_takes_off_what_is_no_longer_so(service, server_token, driven, new_id, page):
    vehicle, token = driven
    trip = new_id("trip")
    make_trip(service, server_token, trip, vehicle)
    page.open(f"{service.http}/share/trips/{trip}")
    page.wait("!!document.querySelector('.vehicle-icon') && document.querySelectorAll('.map-sign').length === 2")
    report(service, vehicle, MOUNTAIN_VIEW | {"latitude": MOUNTAIN_VIEW["latitude"] + 0.01}, token)
    has_trail = "(document.querySelector('path.trail')?.getAttribute('d') ?? '').includes('L')"
    page.wait(has_trail, seconds=20)
    answer = service.rest("PUT", f"trips/{trip}?updateMask=vehicleId,dropoffPoint", server_token, json={})
    assert answer.status_code == 200, answer.text
    page.wait("document.querySelectorAll('.map-sign').length === 1", seconds=20)
    assert not page.value(f"!!document.querySelector('.vehicle-icon') || {has_trail}")


def test_a_trip_that_is_not_the_vehicle_s_next_is_told_so(service, server_token, driven, new_id, page):
    first, second = new_id("trip"), new_id("trip")
    for trip in (first, second):
        make_trip(service, server_token, trip, driven[0])
    page.open(f"{service.http}/share/trips/{second}")
    # The first trip leads from here to four or five kilometres away, and its vehicle comes back.
    page.wait("document.getElementById('sub').innerText.startsWith('Another stop comes first · ')")
    assert "min" in text_of(page, "#sub") and "km" in text_of(page, "#sub")
    set_status(service, server_token, first, "CANCELED")
    page.wait("!document.getElementById('sub').innerText.includes('Another stop')", seconds=20)
    assert "km" not in text_of(page, "#sub") and " m" in text_of(page, "#sub")


def test_a_share_page_takes_off_what_is_gone(service, server_token, driven, new_id, page):
    trip = new_id("trip")
    make_trip(service, server_token, trip, driven[0])
    page.open(f"{service.http}/share/trips/{trip}")
    page.wait("document.querySelectorAll('#steps li').length === 5")
    # Between the two nothing is asked.
    page.call("Network.setBlockedURLs", urls=["*/v1/*"])
    set_status(service, server_token, trip, "CANCELED")
    assert service.rest("DELETE", f"trips/{trip}", server_token).status_code == 200
    page.call("Network.setBlockedURLs", urls=[])
    page.wait("document.getElementById('headline').innerText === 'Nothing to show'", seconds=40)
    shown = f"{page.text()} {page.value('document.title')}".lower()
    assert "on the way" not in shown and "does not exist" in shown
    assert page.value("document.querySelectorAll('#sub:not(:empty), #token-line:not(:empty), #steps li, .leaflet-marker-icon').length") == 0
    page.console = [text for text in page.console if "net::ERR_BLOCKED_BY_CLIENT" not in text]


def test_a_share_page_replaces_a_token_that_was_withdrawn(service, server_token, driven, new_id, page):
    vehicle, _ = driven
    trip = new_id("trip")
    make_trip(service, server_token, trip, vehicle)
    page.open(f"{service.http}/share/trips/{trip}")
    page.wait("document.getElementById('headline').innerText === 'Your driver is on the way'")
    tokens = requests.get(f"{service.http}/page/state", timeout=30).json()["tokens"].values()
    (fingerprint,) = [token["fingerprint"] for token in tokens if token["subject"]["id"] == trip]
    assert run("revoke", "--data", service.data, "--fingerprint", fingerprint).returncode == 0
    # iat has whole seconds, so a new token differs by then.
    deadline = time.monotonic() + 40
    while sum("/token/" in address for _, address, _ in page.requests) < 2:
        assert time.monotonic() < deadline
        page.value("1")
        time.sleep(0.2)
    set_status(service, server_token, trip, "ARRIVED_AT_PICKUP")
    page.wait("document.getElementById('headline').innerText === 'Your driver is here'", seconds=30)


def test_a_share_page_replaces_a_token_that_is_denied_when_it_is_new(service, server_token, driven, new_id, page):
    vehicle, _ = driven
    trip = new_id("trip")
    make_trip(service, server_token, trip, vehicle)
    script = {"steps": [{"refuse": "CLAIM_MISMATCH", "trip": trip, "calls": 1}]}

    def fetches():
        return sum("/token/" in address for _, address, _ in page.requests)

    try:
        assert requests.put(f"{service.http}/chaos", json=script, timeout=30).status_code == 200
        page.open(f"{service.http}/share/trips/{trip}")
        page.wait("document.getElementById('headline').innerText === 'Your driver is on the way'", seconds=40)
        before = fetches()
        assert before >= 2
        # The same refusal of a token that was good before is about the call.
        page.wait("document.getElementById('trouble').hidden")
        assert requests.put(f"{service.http}/chaos", json=script, timeout=30).status_code == 200
        page.wait("!document.getElementById('trouble').hidden", seconds=30)
        page.wait("document.getElementById('trouble').hidden", seconds=40)
        assert fetches() == before
    finally:
        assert requests.delete(f"{service.http}/chaos", timeout=30).status_code == 200


def test_an_answer_that_tells_nothing_is_told_in_the_page_s_own_words(service, server_token, driven, new_id, page):
    trip = new_id("trip")
    make_trip(service, server_token, trip, driven[0])
    page.call("Page.addScriptToEvaluateOnNewDocument", source="""
      const ask = fetch;
      const brokenOff = () => new ReadableStream({ start: (body) => body.error(new TypeError('network error')) });
      window.answers = [[200, brokenOff()], [200, 'null'], [200, '[]'], [500, 'null'], [500, '{"error":{"message":{}}}'], [503, '{"error":{"message":"Full"}}']];
      globalThis.fetch = (path, options) => {
        if (!String(path).startsWith('/v1/') || answers.length === 0) return ask(path, options);
        const [status, body] = answers.shift();
        return Promise.resolve(new Response(body, { status }));
      };""")
    page.open(f"{service.http}/share/trips/{trip}")
    said = ["The engine does not answer."] * 3 + ["The engine answered 500."] * 2 + ["Full."]
    for number, words in enumerate(said, 1):
        page.wait(f"answers.length === {len(said) - number}")
        page.wait(f"document.getElementById('trouble').innerText === '{words} Trying again.'")
        assert text_of(page, "#headline") == "Waiting for the engine"
        page.value("dispatchEvent(new Event('online'))")
    page.wait("document.getElementById('headline').innerText === 'Your driver is on the way'")
    assert page.value("document.getElementById('trouble').hidden")


@pytest.mark.parametrize("trip", ["%E0%A4%A", "%ff"])
def test_a_share_page_says_that_its_link_is_broken(service, page, trip):
    page.open(f"{service.http}/share/trips/{trip}")
    page.wait("document.getElementById('headline').innerText === 'Nothing to show'")
    assert "This link is broken" in text_of(page, "#trouble")
    assert not [address for _, address, _ in page.requests if "/token/" in address or "/v1/" in address]


def test_a_share_page_says_that_no_token_travels_to_where_it_is(service, page):
    # The name of a host that is not this machine, over plain http: the files are those of the service.
    page.call("Fetch.enable", patterns=[{"urlPattern": "http://fleet.example/*"}])
    note, answers = page._note, itertools.count(1_000_000)

    def answer(event):
        if event.get("method") != "Fetch.requestPaused":
            return note(event)
        asked = event["params"]["request"]["url"]
        file = requests.get(asked.replace("http://fleet.example", service.http), timeout=30)
        parameters = {
            "requestId": event["params"]["requestId"], "responseCode": file.status_code,
            "responseHeaders": [{"name": name, "value": value} for name, value in file.headers.items()],
            "body": base64.b64encode(file.content).decode(),
        }
        # Without waiting, as whoever waits for another answer is who hears of it.
        page.socket.send(json.dumps({
            "id": next(answers), "sessionId": page._session, "method": "Fetch.fulfillRequest", "params": parameters}))

    page._note = answer
    page.open("http://fleet.example/share/trips/trip-1")
    page.wait("document.getElementById('headline').innerText === 'Nothing to show'")
    assert "use https, or this machine" in text_of(page, "#trouble")


def test_a_share_page_that_nobody_has_seen_asks_nothing(service, server_token, driven, new_id, page):
    trip = new_id("trip")
    make_trip(service, server_token, trip, driven[0])
    page.call("Page.addScriptToEvaluateOnNewDocument", source="Object.defineProperty(document, 'hidden', { get: () => !window.isSeen });")
    page.open(f"{service.http}/share/trips/{trip}")
    page.wait("document.body.matches('.no-map') || document.querySelector('.leaflet-container')")
    page.value(FRAMES)
    assert not [address for _, address, _ in page.requests if "/token/" in address or "/v1/" in address]
    page.value("window.isSeen = true; document.dispatchEvent(new Event('visibilitychange'))")
    page.wait("document.getElementById('headline').innerText === 'Your driver is on the way'")


@pytest.mark.parametrize("path", ["/", "/share/trips/"])
def test_a_page_begins_as_soon_as_the_engine_answers(service, server_token, driven, new_id, page, path):
    trip = new_id("trip")
    make_trip(service, server_token, trip, driven[0])
    page.call("Network.setBlockedURLs", urls=["*/page/settings"])
    page.open(service.http + path + (trip if path != "/" else ""))
    page.wait("document.body.innerText.includes('The engine does not answer')")
    page.call("Network.setBlockedURLs", urls=[])
    page.wait("document.body.innerText.includes('Your driver is on the way')" if path != "/" else
              "document.getElementById('status').dataset.state === 'live'")
    # The browser tells of each request that was blocked.
    page.console = [text for text in page.console if "net::ERR_BLOCKED_BY_CLIENT" not in text]


@pytest.mark.parametrize("path", ["/", "/share/trips/none"])
def test_a_page_works_where_the_browser_denies_its_storage(service, page, path):
    page.call("Page.addScriptToEvaluateOnNewDocument", source="""
      Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied', 'SecurityError'); } });""")
    page.open(service.http + path)
    page.wait("document.getElementById('theme').innerText === 'Auto'")
    page.value("document.getElementById('theme').click()")
    assert page.value("document.documentElement.dataset.theme") == "light"
    page.wait("document.getElementById('status').dataset.state === 'live'" if path == "/" else
              "!document.getElementById('trouble').hidden")


def test_a_share_page_tells_a_screen_reader_what_changed_and_nothing_else(service, server_token, driven, new_id, page):
    trip = new_id("trip")
    make_trip(service, server_token, trip, driven[0])
    page.open(f"{service.http}/share/trips/{trip}")
    page.wait("document.querySelectorAll('#steps li').length === 5")
    assert page.value("[...document.querySelectorAll('[aria-live]')].map((it) => it.id)") == ["headline", "spoken"]
    # What is seen goes on with the distance, which another question would have spoken again.
    seen, spoken = (page.value(f"document.getElementById('{part}').textContent") for part in ("sub", "spoken"))
    assert spoken and seen.startswith(spoken) and seen != spoken
    page.value("""window.changes = []; window.observer = new MutationObserver((records) => changes.push(...records));
      observer.observe(document.getElementById('steps'), { childList: true, subtree: true, characterData: true })""")
    asked = "performance.getEntriesByType('resource').filter((it) => it.name.includes('/v1/')).length"
    page.wait(f"{asked} >= {page.value(asked) + 2}", seconds=40)
    set_status(service, server_token, trip, "ARRIVED_AT_PICKUP")
    page.wait("document.querySelector('#steps [aria-current]').innerText === 'At the pick-up'")
    assert page.value("[...document.querySelectorAll('#steps li')].map((it) => it.className)") == [
        "done", "done", "now", "next", "next"]
    assert page.value("changes.length + observer.takeRecords().length") == 0

def test_a_share_page_of_nothing_says_so(service, new_id, page):
    page.open(f"{service.http}/share/trips/{new_id('trip')}")
    page.wait("!document.getElementById('trouble').hidden")
    assert "Nothing to show" in page.text()


@needs_leaflet
def test_a_shipment_is_shared_by_its_tracking_id(service, new_id, page, picture):
    token = service.mint("delivery_server")
    vehicle, task, tracking = new_id("dv"), new_id("task"), new_id("shp")
    assert service.rest("POST", f"deliveryVehicles?deliveryVehicleId={vehicle}", token, json={}).status_code == 200
    point = {"point": {"latitude": 37.43, "longitude": -122.07}}
    body = {"type": "DELIVERY", "state": "OPEN", "taskDuration": "60s", "trackingId": tracking, "plannedLocation": point}
    assert service.rest("POST", f"tasks?taskId={task}", token, json=body).status_code == 200
    page.open(f"{service.http}/share/shipments/{tracking}")
    page.wait("document.getElementById('headline').innerText === 'On the list'")
    answer = service.rest(
        "PATCH", f"deliveryVehicles/{vehicle}?updateMask=remainingVehicleJourneySegments,lastLocation", token,
        json={
            "remainingVehicleJourneySegments": [
                {"stop": {"state": "ENROUTE", "plannedLocation": point, "tasks": [{"taskId": task}]}}],
            "lastLocation": {"location": MOUNTAIN_VIEW},
        })
    assert answer.status_code == 200, answer.text
    page.wait("document.getElementById('headline').innerText === 'You are next'")
    picture(page)
    assert [a for _, a, _ in page.requests if "/token/" in a] == [f"{service.http}/token/delivery_consumer/{tracking}"]
