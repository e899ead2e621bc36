// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// One vehicle, its way, and where it is going.

import { el } from "./dom.js";
import { Sight, arrow, baseMap, bearing, roomBelow } from "./map.js";

export class ShareMap {
  #map;
  #sight;
  #vehicle;
  #trail;
  #way;
  #signs = new Map();
  #points = [];
  #vehicleID;

  constructor(node, settings) {
    this.#map = baseMap(node, settings);
    this.#sight = new Sight(this.#map);
    this.#trail = L.polyline([], { className: "trail head v0", interactive: false }).addTo(this.#map);
    this.#way = L.polyline([], { className: "way v0", interactive: false }).addTo(this.#map);
    const html = el("div", { class: "vehicle-marker v0" }, arrow());
    this.#vehicle = L.marker([0, 0], { icon: L.divIcon({ html, className: "vehicle-icon", iconSize: [34, 34] }), title: "The vehicle", alt: "The vehicle", keyboard: false, zIndexOffset: 1000 });
  }

  /** Draws what `tripView` or `shipmentView` gave; of the way, a straight line where its route is empty, and none without one. */
  draw(view) {
    const { heading } = view;
    const vehicle = view.vehicle && this.#sight.beside(view.vehicle);
    const way = view.way?.map((place) => this.#sight.beside(place));
    const signs = view.signs.map((sign) => ({ ...sign, place: this.#sight.beside(sign.place) }));
    // Nobody drove from where one vehicle was to where another is.
    if (!vehicle || view.vehicleID !== this.#vehicleID) this.#points = [];
    this.#vehicleID = view.vehicleID;
    if (vehicle) {
      this.#vehicle.setLatLng(vehicle).addTo(this.#map);
      if (String(this.#points.at(-1)) !== String(vehicle)) this.#points.push(vehicle);
      this.#points = this.#points.slice(-500);
      const turn = heading ?? bearing(this.#points.slice(-2).map(([latitude, longitude]) => ({ latitude, longitude })));
      this.#vehicle.getElement().querySelector(".turn").setAttribute("transform", `rotate(${turn} 17 17)`);
    } else {
      this.#vehicle.remove();
    }
    this.#trail.setLatLngs(this.#points);
    const next = signs.at(-1)?.place;
    this.#way.setLatLngs(way?.length > 1 ? way : way && vehicle && next ? [vehicle, next] : []);
    for (const [name, sign] of this.#signs) {
      if (signs.some((shown) => shown.name === name)) continue;
      sign.remove();
      this.#signs.delete(name);
    }
    for (const { letter, name, place } of signs) {
      if (!this.#signs.has(name)) {
        const icon = L.divIcon({ html: el("span", {}, letter), className: `map-sign v0 ${name}`, iconSize: [22, 22] });
        this.#signs.set(name, L.marker(place, { icon, title: name, alt: name, keyboard: false }).addTo(this.#map));
      }
      this.#signs.get(name).setLatLng(place);
    }
    const shown = [vehicle, ...signs.map((sign) => sign.place)].filter(Boolean);
    if (!this.#sight.isReaders && shown.length > 0) {
      this.#sight.fit(L.latLngBounds(shown), { maxZoom: 16, ...this.#padding() });
    }
  }

  /** How far from the map's edges things are to be. */
  #padding() {
    const { x, y } = this.#map.getSize();
    const side = Math.min(50, x / 4);
    return { paddingTopLeft: [side, Math.min(50, y / 8)], paddingBottomRight: [side, roomBelow(this.#map, ".card", 30)] };
  }

  /** Takes everything off. */
  clear() {
    this.#vehicle.remove();
    this.#points = [];
    this.#trail.setLatLngs([]);
    this.#way.setLatLngs([]);
    for (const sign of this.#signs.values()) sign.remove();
    this.#signs.clear();
  }
}
