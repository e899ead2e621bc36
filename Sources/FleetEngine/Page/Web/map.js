// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// The map, drawn by Leaflet from the system's package. Colours come from the style sheet, so they follow light and dark.

import { el, svg } from "./dom.js";
import { idWords, visible } from "./words.js";

/** Loads Leaflet, or is false where that fails, as where the server has none. */
export async function loadLeaflet(settings) {
  if (!settings.hasLeaflet) return false;
  // Before the page's own style, which has the last word.
  document.head.prepend(el("link", { rel: "stylesheet", href: "/page/leaflet/leaflet.css" }));
  return new Promise((resolve) => {
    const script = el("script", { src: "/page/leaflet/leaflet.js" });
    script.onload = () => resolve(true);
    script.onerror = () => resolve(false);
    document.head.append(script);
  });
}

const withoutMap = () => el("p", {}, "Lists, time lines and everything else work without it.");

/** Says how to get a map. */
export function missingMap({ hasLeaflet, leafletFolder }) {
  if (hasLeaflet) return [el("h2", {}, "The map could not be loaded"), el("p", {}, "Load this page again."), withoutMap()];
  return [
    el("h2", {}, "No map here yet"),
    el("p", {}, "The map is drawn by Leaflet, which this server takes from the system. It looked in ", el("code", {}, leafletFolder), "."),
    el("p", {}, "On Debian and Ubuntu: ", el("code", {}, "apt-get install libjs-leaflet"), ". Elsewhere, unpack Leaflet 1.x and start with ",
      el("code", {}, "--leaflet DIR"), ", the folder that holds leaflet.js and leaflet.css. Then load this page again."),
    withoutMap(),
  ];
}

/** A map with its background: tiles where they are configured, a grid otherwise. */
export function baseMap(node, settings) {
  const map = L.map(node, { zoomControl: false, zoomSnap: 0.5 }).setView([20, 0], 2);
  L.control.zoom({ position: "topright" }).addTo(map);
  L.control.scale({ position: "topleft", imperial: false }).addTo(map);
  map.attributionControl.setPrefix(false);
  if (settings.tiles) {
    // Leaflet takes the attribution as markup.
    const attribution = el("i", {}, settings.tiles.attribution).innerHTML;
    L.tileLayer(settings.tiles.template, { attribution, maxZoom: 19 }).addTo(map);
  } else {
    const Grid = L.GridLayer.extend({ createTile: () => el("div", { class: "blank-tile" }) });
    new Grid({ tileSize: 128 }).addTo(map);
  }
  new ResizeObserver(() => map.invalidateSize({ animate: false })).observe(node);
  return map;
}

/**
 * How much room to leave below what a map shows, in pixels: for what lies on its lower part, unless that is beside it, and a margin.
 *
 * Some is left for the map in the lowest window, as Leaflet goes astray where there is less than none.
 */
export function roomBelow(map, selector, margin) {
  const [area, cover] = [map.getContainer(), document.querySelector(selector)].map((node) => node.getBoundingClientRect());
  const covered = cover.left < area.right ? area.bottom - cover.top : 0;
  return Math.min(covered + margin, (map.getSize().y * 3) / 4);
}

/** What a map shows: the page sees to that until the reader moves the map, by whatever means. */
export class Sight {
  isReaders = false;
  #map;
  #isOwn = false;
  #first;

  constructor(map) {
    this.#map = map;
    map.on("movestart", () => { if (!this.#isOwn) this.isReaders = true; });
    map.on("moveend", () => this.#turnBack());
  }

  /** A place on that copy of the world where the first one lies, all within half a turn of it: Leaflet knows no shorter way across the 180th meridian. */
  beside([latitude, longitude]) {
    this.#first ??= longitude;
    return [latitude, nearest(longitude, this.#first)];
  }

  /** Brings a reader who went on to the next copy of the world to the one with everything on it. */
  #turnBack() {
    const { lat, lng } = this.#map.getCenter();
    const back = nearest(lng, this.#first ?? lng);
    if (back !== lng) this.#move(() => this.#map.setView([lat, back], this.#map.getZoom(), { animate: false }));
  }

  /** Shows an area, which is no move of the reader's. A zoom is not animated, as that would start after this returned. */
  fit(bounds, options) {
    this.#move(() => this.#map.fitBounds(bounds, { ...options, zoom: { animate: false } }));
  }

  /**
   * Moves the map and what is on it at once: nothing drove from where it was in the window to where it is now. Where the map
   * as a whole is moved alone, what is on it stays where it is there, and goes on gliding.
   */
  #move(action) {
    const origin = this.#map.getZoom() === undefined ? undefined : this.#map.getPixelOrigin();
    this.#isOwn = true;
    action();
    this.#isOwn = false;
    if (origin?.equals(this.#map.getPixelOrigin())) return;
    const node = this.#map.getContainer();
    node.classList.add("moved");
    // Has the style computed, so that what glides from now on begins where it is now.
    node.getBoundingClientRect();
    node.classList.remove("moved");
  }
}

const LEGEND = ".map-frame .legend";

/** A map with moving things on it. */
export class FleetMap {
  #map;
  #sight;
  #layers = new Map();
  #colours = new Map();
  #isFitted = false;

  /**
   * @param {HTMLElement} node
   * @param {{tiles?: {template: string, attribution: string}}} settings
   * @param {(kind: string, id: string) => void} onChoose
   */
  constructor(node, settings, onChoose) {
    this.onChoose = onChoose;
    this.#map = baseMap(node, settings);
    this.#sight = new Sight(this.#map);
  }

  /** The colour of a vehicle, as a class; given in the order of appearance. */
  colour(id) {
    if (!this.#colours.has(id)) this.#colours.set(id, this.#colours.size % 8);
    return `v${this.#colours.get(id)}`;
  }

  /** Shows the whole fleet, and goes on to until the reader moves the map. */
  fit() {
    const points = [...this.#layers.values()].filter((layer) => layer.getLatLng).map((layer) => layer.getLatLng());
    if (points.length === 0) return;
    this.#sight.isReaders = false;
    // The map may have come in sight just now, from a size of nothing.
    this.#map.invalidateSize({ animate: false });
    this.#sight.fit(L.latLngBounds(points).pad(0.12), { maxZoom: 15, animate: false, ...this.#room() });
  }

  /** Shows these places, closely. */
  reveal(places) {
    this.#sight.fit(L.latLngBounds(places.map((place) => this.#point(place))).pad(0.2), { maxZoom: 15, ...this.#room() });
  }

  /** Keeps all of a marker, which is 34 pixels high, above the legend. */
  #room() {
    return { paddingBottomRight: [0, roomBelow(this.#map, LEGEND, 17)] };
  }

  /**
   * Draws a state; what was drawn before and is no longer there goes.
   *
   * @param {import("./live.js").Live} live
   * @param {{kind: string, id: string} | undefined} choice
   */
  draw(live, choice) {
    const seen = new Set();
    const put = (parts, make, update) => {
      // In JSON, as an id may hold whatever would stand between the parts.
      const key = JSON.stringify(parts);
      seen.add(key);
      if (!this.#layers.has(key)) this.#layers.set(key, make().addTo(this.#map));
      update?.(this.#layers.get(key));
    };
    for (const vehicle of live.state.vehicles.values()) this.#drawVehicle(put, vehicle, live, choice);
    for (const vehicle of live.state.deliveryVehicles.values()) this.#drawDelivery(put, vehicle, live, choice);
    for (const trip of live.state.trips.values()) if (trip.isUnderway) this.#drawTrip(put, trip, choice);
    for (const [key, layer] of this.#layers) {
      if (seen.has(key)) continue;
      layer.remove();
      this.#layers.delete(key);
    }
    if (!this.#isFitted && this.#layers.size > 0) {
      this.#isFitted = true;
      this.fit();
    } else if (!this.#sight.isReaders && !choice && this.#isOutOfSight()) {
      this.fit();
    }
  }

  #isOutOfSight() {
    const { x, y } = this.#map.getSize();
    const corners = [[0, 0], [x, y - roomBelow(this.#map, LEGEND, 0)]];
    const bounds = L.latLngBounds(corners.map((corner) => this.#map.containerPointToLatLng(corner)));
    return [...this.#layers.values()].some((layer) => layer.getLatLng && !bounds.contains(layer.getLatLng()));
  }

  #drawVehicle(put, vehicle, live, choice) {
    if (!vehicle.place || vehicle.state !== "online") return;
    const { id } = vehicle;
    const colour = this.colour(id);
    this.#drawTrail(put, "vehicles", id, live.trails.vehicles.get(id), colour);
    if (vehicle.route) this.#drawLine(put, ["way", id], `way ${colour}`, vehicle.route, () => (decodePolyline(vehicle.route) ?? []).map((place) => this.#sight.beside(place)));
    const isChosen = choice?.kind === "vehicles" && choice.id === id;
    put(["vehicle", id], () => this.#marker("vehicles", id, arrow, colour),
      (marker) => this.#move(marker, vehicle.place, vehicle.heading ?? bearing(live.trails.vehicles.get(id)), isChosen));
  }

  #drawDelivery(put, vehicle, live, choice) {
    const { id } = vehicle;
    const colour = this.colour(`delivery ${id}`);
    const isChosen = choice?.kind === "deliveryVehicles" && choice.id === id;
    if (vehicle.place) {
      this.#drawTrail(put, "deliveryVehicles", id, live.trails.deliveryVehicles.get(id), colour);
      put(["delivery", id], () => this.#marker("deliveryVehicles", id, van, colour),
        (marker) => this.#move(marker, vehicle.place, vehicle.heading ?? bearing(live.trails.deliveryVehicles.get(id)), isChosen));
    }
    for (const [index, stop] of vehicle.stops.entries()) {
      put(["stop", id, index, stop.state], () => this.#sign(String(index + 1), `stop ${colour} ${stop.state}`, `Stop ${index + 1} of ${idWords(id)}: ${stop.state}`),
        (marker) => marker.setLatLng(this.#point(stop.place)));
    }
    if (vehicle.place && vehicle.stops.length > 0) {
      const plan = [vehicle.place, ...vehicle.stops.map((stop) => stop.place)].map((place) => this.#point(place));
      this.#drawLine(put, ["plan", id], `plan ${colour}`, String(plan), () => plan);
    }
  }

  #drawTrip(put, trip, choice) {
    const colour = trip.vehicle ? this.colour(trip.vehicle) : "waiting";
    const isChosen = choice?.kind === "trips" && choice.id === trip.id;
    for (const [name, letter, place] of [["pickup", "P", trip.pickup], ["dropoff", "D", trip.dropoff]]) {
      if (!place) continue;
      const title = `${name === "pickup" ? "Pick-up" : "Drop-off"} of ${idWords(trip.id)}`;
      put([name, trip.id, colour], () => this.#sign(letter, `${name} ${colour}`, title, () => this.onChoose("trips", trip.id)),
        (marker) => { marker.setLatLng(this.#point(place)); marker.getElement()?.classList.toggle("chosen", isChosen); });
    }
  }

  #drawTrail(put, kind, id, trail, colour) {
    if (!trail || trail.length < 2) return;
    const last = trail.at(-1);
    this.#drawLine(put, ["trail", kind, id], `trail ${colour}`, last, () => this.#drives(trail));
    this.#drawLine(put, ["head", kind, id], `trail head ${colour}`, last,
      () => this.#drives(trail).at(-1).slice(-Math.max(2, Math.ceil(trail.length / 4))));
  }

  /** Draws a line where what it shows is another than before: most of what is new is of others, and a line takes long to draw. */
  #drawLine(put, parts, className, shown, placesOf) {
    put(parts, () => L.polyline([], { className, interactive: false }), (line) => {
      if (line.shown === shown) return;
      line.shown = shown;
      line.setLatLngs(placesOf());
    });
  }

  /** A trail in parts: who begins again elsewhere did not drive there. About 2 km between two reports is such a leap. */
  #drives(trail) {
    const parts = [[]];
    let last;
    for (const place of trail.map((place) => this.#point(place))) {
      const leapt = last && Math.hypot(place[0] - last[0], place[1] - last[1]) > 0.02;
      if (leapt) parts.push([]);
      parts.at(-1).push(place);
      last = place;
    }
    return parts;
  }

  #point({ latitude, longitude }) {
    return this.#sight.beside([latitude, longitude]);
  }

  #marker(kind, id, shape, colour) {
    const name = visible(id);
    const html = el("div", { class: `vehicle-marker ${colour}` }, shape(), el("span", { class: "name" }, name));
    const icon = L.divIcon({ html, className: "vehicle-icon", iconSize: [34, 34] });
    // The lists offer the same by keyboard.
    const marker = L.marker([0, 0], { icon, title: name, alt: name, keyboard: false, zIndexOffset: 1000 });
    marker.on("click", () => this.onChoose(kind, id));
    return marker;
  }

  #sign(text, className, title, onClick) {
    const icon = L.divIcon({ html: el("span", {}, text), className: `map-sign ${className}`, iconSize: [22, 22] });
    const marker = L.marker([0, 0], { icon, title, alt: title, keyboard: false });
    if (onClick) marker.on("click", onClick);
    return marker;
  }

  #move(marker, place, heading, isChosen) {
    marker.setLatLng(this.#point(place));
    const node = marker.getElement();
    node?.classList.toggle("chosen", isChosen);
    node?.querySelector(".turn")?.setAttribute("transform", `rotate(${heading ?? 0} 17 17)`);
  }
}

/** A longitude as it is nearest to another one, beyond 180 degrees if need be. */
const nearest = (longitude, other) => longitude - 360 * Math.round((longitude - other) / 360);

/** Where a trail leads at its end, in degrees from north. */
export function bearing(trail) {
  const [from, to] = trail?.slice(-2) ?? [];
  if (!to) return 0;
  const east = (nearest(to.longitude, from.longitude) - from.longitude) * Math.cos((to.latitude * Math.PI) / 180);
  return (Math.atan2(east, to.latitude - from.latitude) * 180) / Math.PI;
}

export const arrow = () => svg("svg", { viewBox: "0 0 34 34", width: 34, height: 34, "aria-hidden": true },
  svg("g", { class: "turn" },
    svg("circle", { cx: 17, cy: 17, r: 11, class: "body" }),
    svg("path", { d: "M17 9.5 L22.5 22.5 L17 19.6 L11.5 22.5 Z", class: "glyph" })));

const van = () => svg("svg", { viewBox: "0 0 34 34", width: 34, height: 34, "aria-hidden": true },
  svg("g", { class: "turn" },
    svg("rect", { x: 6.5, y: 6.5, width: 21, height: 21, rx: 5, class: "body" }),
    svg("path", { d: "M17 10 L22.5 22.5 L17 19.6 L11.5 22.5 Z", class: "glyph" })));

/** The points of an encoded polyline; `undefined` for anything else, such as a vendor's opaque route. */
export function decodePolyline(text) {
  const points = [];
  let [index, latitude, longitude] = [0, 0, 0];
  const next = () => {
    let [value, shift] = [0, 0];
    for (;;) {
      const chunk = text.charCodeAt(index) - 63;
      index += 1;
      if (!(chunk >= 0 && chunk < 64) || shift > 30) return NaN;
      value |= (chunk & 31) << shift;
      shift += 5;
      if (chunk < 32) return value & 1 ? ~(value >> 1) : value >> 1;
    }
  };
  while (index < text.length) {
    latitude += next();
    longitude += next();
    const isPlace = Math.abs(latitude) <= 90e5 && Math.abs(longitude) <= 180e5;
    if (!isPlace) return undefined;
    points.push([latitude / 1e5, longitude / 1e5]);
  }
  return points.length > 1 ? points : undefined;
}
