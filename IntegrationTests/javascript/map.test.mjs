// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { FleetMap, Sight, bearing } from "../../Sources/FleetEngine/Page/Web/map.js";
import { ShareMap } from "../../Sources/FleetEngine/Page/Web/share-map.js";

/** As much of Leaflet and of a browser as the map asks of them; `drawn` holds what is on the map. */
function leaflet(context) {
  const drawn = new Set();
  class Layer {
    addTo() { drawn.add(this); return this; }
    remove() { drawn.delete(this); }
  }
  class Line extends Layer {
    constructor(_, { className }) { super(); this.className = className; }
    setLatLngs(places) { this.places = places; this.drawings = (this.drawings ?? 0) + 1; }
  }
  class Marker extends Layer {
    constructor(_, { title, keyboard }) { super(); Object.assign(this, { title, isTabStop: keyboard ?? true }); }
    on() {}
    setLatLng(place) { this.place = place; return this; }
    getLatLng() { return this.place; }
    getElement() { return { classList: { toggle() {} }, querySelector: () => ({ setAttribute: (_, turn) => { this.turn = turn; } }) }; }
  }
  const bounds = { contains: () => true, pad: () => bounds };
  const container = element({ left: 0, right: 640, top: 0, bottom: 480 });
  const map = {
    setView: () => map, on() {}, invalidateSize() {}, fitBounds() {}, getBounds: () => bounds, attributionControl: { setPrefix() {} },
    getZoom() {}, getContainer: () => container, getSize: () => ({ x: container.box.right, y: container.box.bottom }),
    containerPointToLatLng() {},
  };
  const control = () => ({ addTo() {} });
  const node = () => ({ setAttribute() {}, append() {} });
  Object.assign(globalThis, {
    L: {
      map: () => map, control: { zoom: control, scale: control }, GridLayer: { extend: () => class { addTo() {} } },
      polyline: (...parts) => new Line(...parts), marker: (...parts) => new Marker(...parts), divIcon: () => ({}), latLngBounds: () => bounds,
    },
    ResizeObserver: class { observe() {} },
    document: { createElement: node, createElementNS: node, querySelector: () => element({ left: 0, right: 640, top: 480, bottom: 480 }) },
  });
  context.after(() => { for (const name of ["L", "ResizeObserver", "document"]) delete globalThis[name]; });
  return drawn;
}

/** An element with its place in the window, and its classes. */
function element(box) {
  const classes = new Set();
  return {
    box, classes, classList: { add: (name) => classes.add(name), remove: (name) => classes.delete(name) }, getBoundingClientRect: () => box,
  };
}

/** A state of things that are all in one place, with these ids. */
function fleet(ids) {
  const place = { latitude: 1, longitude: 1 };
  const trails = new Map(ids.map((id) => [id, [{ latitude: 0.999, longitude: 1 }, place]]));
  const byID = (make) => new Map(ids.map((id) => [id, make(id)]));
  return {
    trails: { vehicles: trails, deliveryVehicles: trails },
    state: {
      vehicles: byID((id) => ({ id, place, state: "online", route: "_p~iF~ps|U_ulLnnqC" })),
      deliveryVehicles: byID((id) => ({ id, place, stops: [{ place, state: "new" }] })),
      trips: byID((id) => ({ id, isUnderway: true, vehicle: "a", pickup: place, dropoff: place })),
    },
  };
}

test("no id of one thing on the map is taken for a part of another's", (context) => {
  const drawn = leaflet(context);
  const ids = ["a", "trail a", "head a", "a head", "a 0", "a 0 new", "delivery a", "vehicle a", "plan a", "v0", '["a"'];
  const live = fleet(ids);
  const map = new FleetMap({}, {}, () => {});
  map.draw(live);
  // A trail and its head, the way and the vehicle; a trail and its head, the vehicle, its stop and the way there; two places.
  assert.equal(drawn.size, ids.length * (4 + 5 + 2));
  const lines = [...drawn].filter((layer) => layer.places);
  assert.equal(lines.length, ids.length * (3 + 3));
  map.draw({ ...live, state: { vehicles: new Map(), deliveryVehicles: new Map(), trips: new Map() } });
  assert.equal(drawn.size, 0);
});

test("nothing on the map is a stop of the tab key, as the lists offer the same", (context) => {
  const drawn = leaflet(context);
  new FleetMap({}, {}, () => {}).draw(fleet(["a"]));
  const markers = [...drawn].filter((layer) => layer.place);
  assert.equal(markers.length, 5);
  assert.deepEqual(markers.filter((marker) => marker.isTabStop), []);
});

test("a way is drawn again where it is another one, and not with what is new of others", (context) => {
  const drawn = leaflet(context);
  const live = fleet(["a", "b"]);
  const map = new FleetMap({}, {}, () => {});
  /** How often each way and each plan was drawn: those of a, and those of b. */
  const drawings = () => {
    map.draw(live);
    const lines = (kind) => [...drawn].filter((layer) => layer.className?.startsWith(kind)).map((layer) => layer.drawings);
    return { way: lines("way"), plan: lines("plan") };
  };
  const vehicle = (news) => live.state.vehicles.set("a", { ...live.state.vehicles.get("a"), ...news });
  const van = (news) => live.state.deliveryVehicles.set("a", { ...live.state.deliveryVehicles.get("a"), ...news });
  assert.deepEqual(drawings(), { way: [1, 1], plan: [1, 1] });
  vehicle({ place: { latitude: 1.001, longitude: 1 } });
  van({ heading: 90 });
  assert.deepEqual(drawings(), { way: [1, 1], plan: [1, 1] });
  vehicle({ route: "_p~iF~ps|U_ulLnnqC_mqNvxq`@" });
  van({ place: { latitude: 1.001, longitude: 1 } });
  assert.deepEqual(drawings(), { way: [2, 1], plan: [2, 1] });
  van({ stops: [{ place: { latitude: 2, longitude: 1 }, state: "new" }] });
  // A vendor's opaque route tells no way.
  vehicle({ route: "opaque" });
  assert.deepEqual(drawings(), { way: [3, 1], plan: [3, 1] });
  const way = () => [...drawn].find((layer) => layer.className.startsWith("way"))?.places;
  assert.deepEqual(way(), []);
});

test("a trail is drawn again where it goes on or is another one, and not with what is new of others", (context) => {
  const drawn = leaflet(context);
  const live = fleet(["a"]);
  const map = new FleetMap({}, {}, () => {});
  const trails = () => [...drawn].filter((layer) => layer.className?.startsWith("trail"));
  /** How often each trail and each head was drawn, and the latitude at its end. */
  const drawings = () => {
    map.draw(live);
    return trails().map(({ drawings, places }) => [drawings, places.flat(Infinity).at(-2)]);
  };
  const four = (number, latitude) => Array.from({ length: 4 }, () => [number, latitude]);
  assert.deepEqual(drawings(), four(1, 1));
  assert.deepEqual(drawings(), four(1, 1));
  const trail = live.trails.vehicles.get("a");
  trail.push({ latitude: 1.001, longitude: 1 });
  assert.deepEqual(drawings(), four(2, 1.001));
  // As after a new connection, when there may be other places before the last one.
  const other = new Map([["a", [{ latitude: 1.002, longitude: 1 }, { ...trail.at(-1) }]]]);
  live.trails = { vehicles: other, deliveryVehicles: other };
  assert.deepEqual(drawings(), four(3, 1.001));
});

test("what lies on both sides of the 180th meridian is drawn side by side", (context) => {
  const drawn = leaflet(context);
  const fitted = [];
  const { latLngBounds } = L;
  L.latLngBounds = (places) => { fitted.push(places); return latLngBounds(places); };
  const [west, east] = [{ latitude: -18, longitude: 179.99 }, { latitude: -18, longitude: -179.99 }];
  const live = fleet(["a"]);
  const trail = new Map([["a", [west, { latitude: -18, longitude: 179.999 }, { latitude: -18, longitude: -179.999 }, east]]]);
  live.trails = { vehicles: trail, deliveryVehicles: trail };
  Object.assign(live.state.vehicles.get("a"), { place: east, route: encoded([[-18, -179.99], [-18, 179.99]]) });
  Object.assign(live.state.deliveryVehicles.get("a"), { place: east, stops: [{ place: west, state: "new" }, { place: east, state: "new" }] });
  Object.assign(live.state.trips.get("a"), { pickup: west, dropoff: east });
  const map = new FleetMap({}, {}, () => {});
  map.draw(live);
  map.reveal([east, west]);
  const layers = [...drawn];
  // Of the first trail, which begins in the west.
  for (const layer of layers) assert.ok(longitudes(layer.places ?? layer.place).every((longitude) => longitude > 179 && longitude < 181));
  // The trails are whole, as nothing on them is a leap.
  assert.deepEqual(layers.filter((layer) => layer.className?.startsWith("trail v")).map((layer) => layer.places.length), [1, 1]);
  assert.equal(fitted.length, 2);
  for (const places of fitted) assert.ok(Math.max(...longitudes(places)) - Math.min(...longitudes(places)) < 1);
  for (const marker of layers.filter((layer) => layer.turn)) assert.equal(Math.round(/[\d.-]+/.exec(marker.turn)[0]), 90);
});

test("a shared way leads across the 180th meridian, and not round the Earth", (context) => {
  const drawn = leaflet(context);
  const fitted = [];
  const { latLngBounds } = L;
  L.latLngBounds = (places) => { fitted.push(places); return latLngBounds(places); };
  const map = new ShareMap({}, {});
  const signs = [{ letter: "P", name: "pickup", place: [-17, -179.99] }];
  for (const way of [[], [[-17, -179.999], [-17, 179.999], [-17, -179.99]]]) {
    for (const longitude of [-179.995, 179.995, -179.999]) map.draw({ vehicle: [-17, longitude], way, signs });
  }
  for (const layer of drawn) assert.ok(longitudes(layer.places ?? layer.place).every((longitude) => longitude > -181 && longitude < -179));
  for (const places of fitted) assert.ok(Math.max(...longitudes(places)) - Math.min(...longitudes(places)) < 1);
  // The vehicle and the sign, the trail and the way.
  assert.equal(drawn.size, 4);
  assert.equal([...drawn].find((layer) => layer.turn).turn, `rotate(${bearing([{ latitude: 0, longitude: 0 }, { latitude: 0, longitude: 1 }])} 17 17)`);
});

test("a trail leads the shorter way round", () => {
  const places = (...longitudes) => longitudes.map((longitude) => ({ latitude: 0, longitude }));
  assert.equal(bearing(places(179.999, -179.999)), 90);
  assert.equal(bearing(places(-179.999, 179.999)), -90);
  assert.equal(bearing(places(1, 2)), 90);
  assert.equal(bearing(places(1, 1)), 0);
});

test("a reader who went round the world is brought back to where everything is", (context) => {
  leaflet(context);
  const views = [];
  const heard = {};
  const container = element({});
  let lng = 20;
  const map = {
    getContainer: () => container, on(name, hear) { heard[name] = hear; }, getCenter: () => ({ lat: 1, lng }), getZoom: () => 3,
    getPixelOrigin: () => ({ equals: () => false }),
    setView(place, zoom, options) { heard.movestart(); views.push([place, zoom, options]); lng = place[1]; heard.moveend(); },
  };
  const sight = new Sight(map);
  const move = (to) => { heard.movestart(); lng = to; heard.moveend(); };
  move(700);
  assert.deepEqual(views, []);
  sight.beside([0, 179]);
  move(358);
  assert.deepEqual(views, []);
  move(360);
  move(-750);
  assert.deepEqual(views, [[[1, 0], 3, { animate: false }], [[1, 330], 3, { animate: false }]]);
  assert.ok(sight.isReaders);
});

test("where the page lays the map out anew, nothing on it glides, and where it moves it as a whole, all does", () => {
  const heard = {};
  const seen = [];
  let [lng, origin, isMovedAlone] = [400, 0, false];
  const container = element({});
  const map = {
    getContainer: () => container, on(name, hear) { heard[name] = hear; }, getCenter: () => ({ lat: 1, lng }), getZoom: () => 3,
    getPixelOrigin() { const own = origin; return { own, equals: (other) => other.own === own }; },
    fitBounds() { heard.movestart(); if (!isMovedAlone) origin += 1; },
    setView(place) { lng = place[1]; heard.movestart(); origin += 1; },
  };
  // The style must be computed while the class is there, or nothing is known of it.
  container.getBoundingClientRect = () => seen.push([...container.classes]);
  const sight = new Sight(map);
  sight.beside([0, 1]);
  sight.fit({}, {});
  heard.moveend();
  assert.deepEqual(seen, Array(2).fill(["moved"]));
  assert.deepEqual([container.classes.size, sight.isReaders], [0, false]);
  isMovedAlone = true;
  sight.fit({}, {});
  assert.deepEqual([seen.length, sight.isReaders], [2, false]);
  const css = readFileSync(new URL("../../Sources/FleetEngine/Page/Web/page.css", import.meta.url), "utf8");
  assert.match(css, /\.moved \.vehicle-icon \{ transition: none; \}/);
});

test("a shared map leaves room for what it shows, whatever the card covers", (context) => {
  leaflet(context);
  const map = L.map();
  const { box } = map.getContainer();
  const vertical = (height, card) => {
    Object.assign(box, { right: 640, bottom: height });
    document.querySelector = () => element(card);
    let padding;
    map.fitBounds = (_, { paddingTopLeft, paddingBottomRight }) => { padding = [paddingTopLeft, paddingBottomRight]; };
    new ShareMap({}, {}).draw({ vehicle: [1, 1], signs: [] });
    return padding.map(([, y]) => y);
  };
  assert.deepEqual(vertical(800, { left: 12, top: 560 }), [50, 270]);
  for (const height of [100, 280, 320]) {
    const [top, bottom] = vertical(height, { left: 12, top: 10 });
    assert.ok(top + bottom < height && top > 0, `${height}`);
  }
  assert.deepEqual(vertical(480, { left: 640, top: 0 }), [50, 30], "it lies beside the map");
});

test("the fleet's map leaves room for all of its markers above the legend", (context) => {
  leaflet(context);
  const map = L.map();
  const { box } = map.getContainer();
  const paddings = [];
  map.fitBounds = (_, { paddingBottomRight }) => { paddings.push(paddingBottomRight); };
  const legend = element({ left: 10, top: 430 });
  document.querySelector = () => legend;
  const fleetMap = new FleetMap({}, {}, () => {});
  fleetMap.draw(fleet(["a"]));
  fleetMap.reveal([{ latitude: 1, longitude: 1 }]);
  [box.bottom, legend.box.top] = [40, 0];
  fleetMap.fit();
  assert.deepEqual(paddings, [[0, 67], [0, 67], [0, 30]]);
  // Who drives under the legend is out of sight.
  [box.bottom, legend.box.top] = [480, 430];
  const corners = [];
  map.containerPointToLatLng = (corner) => { corners.push(corner); };
  fleetMap.draw(fleet(["a"]));
  assert.deepEqual(corners, [[0, 0], [640, 430]]);
});

for (const [page, name] of [["page", "Map of the fleet"], ["share", "Map of the vehicle"]]) {
  test(`the map of ${page}.html has a role and a name, as it is a stop of the tab key`, () => {
    const html = readFileSync(new URL(`../../Sources/FleetEngine/Page/Web/${page}.html`, import.meta.url), "utf8");
    assert.match(html, new RegExp(`<div id="map" class="map" role="region" aria-label="${name}">`));
  });
}

/** The longitudes of places, however these are nested. */
const longitudes = (places) => places.flat(Infinity).filter((_, index) => index % 2 === 1);

/** An encoded polyline. */
function encoded(points) {
  let text = "";
  let last = [0, 0];
  for (const point of points) {
    for (const axis of [0, 1]) {
      const step = Math.round((point[axis] - last[axis]) * 1e5);
      let value = step < 0 ? ~(step << 1) : step << 1;
      for (; value >= 32; value >>>= 5) text += String.fromCharCode((value & 31 | 32) + 63);
      text += String.fromCharCode(value + 63);
    }
    last = point;
  }
  return text;
}
