# Fleetpass
# Licence: see LICENSE in the project root.
# SPDX-License-Identifier: Apache-2.0
"""The page's map in a real browser, with the map library and without."""

import json

import pytest

import browser
from browser import Browser
from clients import vehicle_body
from service import Service
from test_page import (  # noqa: F401 (fixtures)
    driven, is_live, needs_leaflet, page, picture, report, show_only, text_of)

pytestmark = pytest.mark.skipif(
    not browser.PROGRAM, reason="Chromium is missing; Scripts/install-packages.sh --tests installs it")
SCALE = ".leaflet-control-scale-line"
NOT_ZOOMING = "!document.querySelector('.leaflet-zoom-anim')"


def zoom_in(page):
    """Uses the map's button, to the end of what it does."""
    before = text_of(page, SCALE)
    page.value("document.querySelector('.leaflet-control-zoom-in').click()")
    page.wait(f"document.querySelector('{SCALE}').innerText !== {json.dumps(before)} && {NOT_ZOOMING}")


@needs_leaflet
def test_a_map_that_could_not_be_loaded_is_not_called_missing(service, page):
    page.call("Network.setBlockedURLs", urls=["*/leaflet.js"])
    page.open(service.http)
    page.wait("!document.getElementById('map-missing').hidden")
    told = text_of(page, "#map-missing")
    assert "could not be loaded" in told and "apt-get" not in told
    # The browser tells of what was blocked.
    page.console = [text for text in page.console if "net::ERR_BLOCKED_BY_CLIENT" not in text]


@needs_leaflet
def test_a_map_that_was_out_of_sight_at_first_shows_the_fleet(service, server_token, driven, new_id, page):
    other = new_id("vehicle")
    assert service.rest("POST", f"vehicles?vehicleId={other}", server_token, json=vehicle_body()).status_code == 200
    report(service, other, {"latitude": 37.5, "longitude": -122.2}, server_token)
    page.open(f"{service.http}/#tokens")
    is_live(page)
    page.wait("document.getElementById('map').classList.contains('leaflet-container')")
    page.press("1")
    page.wait(f"!!document.querySelector('.leaflet-marker-icon[title=\"{driven[0]}\"]')")
    scale = text_of(page, ".leaflet-control-scale-line")
    page.press("f")
    assert text_of(page, ".leaflet-control-scale-line") == scale


@needs_leaflet
def test_a_map_that_the_reader_zoomed_stays_so_until_the_whole_fleet_is_asked_for(
        service, server_token, driven, new_id, page):
    def appears(place):
        """Puts a vehicle there; gives what holds while it is in sight."""
        vehicle = new_id("vehicle")
        assert service.rest("POST", f"vehicles?vehicleId={vehicle}", server_token, json=vehicle_body()).status_code == 200
        report(service, vehicle, place, server_token)
        # What is drawn is brought into sight in the same turn, where it is.
        marker = f"document.querySelector('.leaflet-marker-icon[title=\"{vehicle}\"]')"
        page.wait(f"!!{marker}")
        return f"""(({{ x, y }}, map) => map.left < x && x < map.right && map.top < y && y < map.bottom)(
          {marker}.getBoundingClientRect(), document.getElementById('map').getBoundingClientRect())"""

    page.open(service.http)
    is_live(page)
    page.wait(f"!!document.querySelector('.leaflet-marker-icon[title=\"{driven[0]}\"]')")
    page.wait(appears({"latitude": 37.5, "longitude": -122.2}))
    fleet = text_of(page, SCALE)
    zoom_in(page)
    scale = text_of(page, SCALE)
    appears({"latitude": 37.49, "longitude": -122.19})
    assert text_of(page, SCALE) == scale
    page.press("f")
    assert text_of(page, SCALE) == fleet
    page.focus("#map")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="-", windowsVirtualKeyCode=189)
    page.wait(f"document.querySelector('{SCALE}').innerText !== {json.dumps(fleet)}")
    page.press("f")
    # The page goes on to show the whole fleet.
    page.wait(appears({"latitude": 38.5, "longitude": -123.2}))


@needs_leaflet
def test_the_tab_key_is_seen_to_go_through_the_map_and_stops_at_nothing_that_does_nothing(service, driven, page):
    page.open(service.http)
    is_live(page)
    page.wait(f"!!document.querySelector('.leaflet-marker-icon[title=\"{driven[0]}\"]')")
    assert page.value("document.querySelector('#map[role=region]')?.ariaLabel") == "Map of the fleet"
    page.focus("#help")
    # Leaflet takes away the outlines of the map and its buttons as they are reached.
    for reached, part, drawn in [("#map", "::after", "border-top"), (".leaflet-control-zoom-in", "", "outline"),
                                 (".leaflet-control-zoom-out", "", "outline"), ("#tab-vehicles", "", "outline")]:
        page.press("Tab")
        assert page.value(f"document.activeElement.matches('{reached}')")
        style = f"getComputedStyle(document.activeElement, '{part}')"
        assert page.value(f"['style', 'width'].map((it) => {style}.getPropertyValue(`{drawn}-${{it}}`))") == ["solid", "2px"]


@needs_leaflet
def test_what_is_on_the_map_is_at_once_where_the_page_moved_it(service, server_token, driven, new_id, page):
    vehicle, far = driven[0], new_id("vehicle")
    assert service.rest("POST", f"vehicles?vehicleId={far}", server_token, json=vehicle_body()).status_code == 200
    report(service, far, {"latitude": 38.1, "longitude": -122.9}, server_token)
    page.open(service.http)
    is_live(page)
    for one in (vehicle, far):
        page.wait(f"!!document.querySelector('.leaflet-marker-icon[title=\"{one}\"]')")
    show_only(page, "filter", vehicle)
    page.wait("document.querySelectorAll('#list .row').length === 1")
    gliding = """[...document.querySelectorAll('.vehicle-icon')].map((it) => getComputedStyle(it).transform && it)
      .flatMap((it) => it.getAnimations()).length"""
    scale = text_of(page, SCALE)
    # In one turn, so that no vehicle moves by itself in between.
    assert page.value(f"document.querySelector('#list .row').click(); {gliding}") == 0
    assert text_of(page, SCALE) != scale
    # What moves by itself glides.
    assert page.value(f"document.querySelector('.vehicle-icon').style.transform = 'none'; {gliding}") == 1


@needs_leaflet
def test_on_a_phone_the_whole_fleet_is_above_the_legend(tmp_path, picture):
    service = Service(tmp_path / "data")
    try:
        token = service.mint("server")
        for vehicle, latitude in [("north", 37.6), ("south", 37.4)]:
            assert service.rest("POST", f"vehicles?vehicleId={vehicle}", token, json=vehicle_body()).status_code == 200
            report(service, vehicle, {"latitude": latitude, "longitude": -122.1}, token)
        box = "document.querySelector('{}').getBoundingClientRect()".format
        north, south = (box(f'.leaflet-marker-icon[title="{name}"]') for name in ("north", "south"))
        legend = box(".map-frame .legend")
        with Browser(tmp_path / "profile", width=390, height=844) as page:
            page.open(service.http)
            is_live(page)
            page.wait("document.querySelectorAll('.leaflet-marker-icon').length === 2")
            assert page.value(f"{south}.bottom < {legend}.top")
            picture(page)
            # The page follows who drives under the legend.
            before = page.value(f"{north}.top")
            share = page.value(f"({legend}.top + 20 - {south}.bottom) / ({south}.top - {north}.top)")
            report(service, "south", {"latitude": 37.4 - 0.2 * share, "longitude": -122.1}, token)
            page.wait(f"{north}.top !== {before}")
            assert page.value(f"{south}.bottom < {legend}.top")
    finally:
        code, _, errors = service.stop()
        assert code == 0, errors


def test_without_the_map_library_the_page_says_how_to_get_it(tmp_path, page, picture):
    service = Service(tmp_path / "data", "--leaflet", str(tmp_path / "nothing"))
    try:
        token = service.mint("server")
        assert service.rest("POST", "vehicles?vehicleId=veh-1", token, json=vehicle_body()).status_code == 200
        page.open(service.http)
        is_live(page)
        page.wait("document.getElementById('map-missing').innerText.includes('apt-get install libjs-leaflet')")
        assert str(tmp_path / "nothing") in text_of(page, "#map-missing")
        page.wait("document.querySelector('#list .row strong')?.innerText === 'veh-1'")
        page.press("2")
        page.wait("!!document.querySelector('#lanes .bars .used')")
        picture(page)
    finally:
        code, _, errors = service.stop()
        assert code == 0, errors
