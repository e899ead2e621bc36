// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";

import { Live, get } from "../../Sources/FleetEngine/Page/Web/live.js";
import { emptyWords } from "../../Sources/FleetEngine/Page/Web/words.js";
import { settle, timers } from "./timers.mjs";

test("what a page needs to begin is asked for until it is there, more and more seldom", async (context) => {
  const tick = timers(context);
  const answers = [
    () => { throw new TypeError("Failed to fetch"); }, () => new Response("", { status: 500 }), () => new Response("<html>"),
    ...Array.from({ length: 5 }, () => () => new Response("", { status: 503 })), () => new Response('{"provider":"acme"}'),
  ];
  const asked = [];
  context.mock.method(globalThis, "fetch", async (path) => { asked.push(path); return answers.shift()(); });
  let failures = 0;
  const settings = get("/page/settings", () => { failures += 1; });
  for (const [index, wait] of [1, 2, 4, 8, 16, 30, 30, 30].entries()) {
    await settle();
    assert.deepEqual([asked.length, failures], [index + 1, index + 1]);
    tick(wait * 1000 - 1);
    await settle();
    assert.equal(asked.length, index + 1);
    tick(1);
  }
  assert.deepEqual(await settings, { provider: "acme" });
  assert.equal(failures, 8);
  assert.deepEqual(new Set(asked), new Set(["/page/settings"]));
});

/** A browser whose page can be seen or not, and the sources of events that are opened in it. */
function browser(context) {
  const tick = timers(context);
  const sources = [];
  class Source extends EventTarget {
    isOpen = true;
    constructor() { super(); sources.push(this); }
    close() { this.isOpen = false; }
    beat() { this.send("beat"); }
    send(name, data) { this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify({ now: Date.now(), ...data }) })); }
    fail(readyState) { this.readyState = readyState; this.dispatchEvent(new Event("error")); }
  }
  Source.CLOSED = 2;
  globalThis.EventSource = Source;
  globalThis.document = Object.assign(new EventTarget(), { hidden: false });
  context.after(() => { delete globalThis.EventSource; delete globalThis.document; });
  const see = (isSeen) => {
    document.hidden = !isSeen;
    document.dispatchEvent(new Event("visibilitychange"));
  };
  const live = new Live();
  const told = [];
  live.addEventListener("connection", () => told.push(live.isConnected));
  return { live, told, sources, see, tick, isOpen: () => sources.map((it) => it.isOpen) };
}

test("an engine that is silent is not live, and is asked again", (context) => {
  const { live, told, sources, tick, isOpen } = browser(context);
  live.connect();
  sources[0].beat();
  tick(29_999);
  sources[0].beat();
  tick(29_999);
  assert.deepEqual([told, sources.length], [[true], 1]);
  tick(1);
  assert.deepEqual([told, isOpen()], [[true, false], [false, true]]);
  tick(30_000);
  assert.deepEqual([told, isOpen()], [[true, false], [false, false, true]]);
  sources[2].beat();
  assert.deepEqual(told, [true, false, true]);
});

/** What the server sends of a state: entries by id, of the kinds that are given. */
const partOf = (kinds, others) => ({
  state: {
    vehicles: {}, trips: {}, deliveryVehicles: {}, tasks: {}, tokens: {}, refusals: {}, rules: {}, deviations: {}, chaos: [], truncated: [],
    ...Object.fromEntries(Object.entries(kinds).map(([kind, ids]) => [kind, Object.fromEntries(ids.map((id) => [id, { id }]))])), ...others,
  },
});
const trailsOf = (vehicles) => ({ trails: { vehicles, deliveryVehicles: {} } });
const place = (longitude) => ({ latitude: 1, longitude });

test("a state that takes minutes to come is not asked for again, and shows when it is whole", (context) => {
  const { live, told, sources, tick, isOpen } = browser(context);
  const shown = [];
  live.addEventListener("change", () => shown.push([[...live.state.vehicles.keys()].join(), live.trails.vehicles.size]));
  live.connect();
  const [source] = sources;
  for (const part of [{ vehicles: ["v1", "v2"] }, { vehicles: ["v3"] }, { trips: ["t1"] }]) {
    tick(25_000);
    source.send("part", partOf(part));
  }
  assert.deepEqual([told, shown, live.state.vehicles.size], [[], [], 0]);
  tick(25_000);
  source.send("snapshot", partOf({}, { truncated: ["trip"] }));
  assert.deepEqual([told, shown, [...live.state.trips.keys()], live.truncated], [[true], [["v1,v2,v3", 0]], ["t1"], ["trip"]]);
  for (const id of ["v1", "v2"]) {
    tick(25_000);
    source.send("trails", trailsOf({ [id]: [place(1), place(2)] }));
  }
  tick(25_000);
  source.beat();
  source.send("change", { changes: { vehicles: { put: { v1: { id: "v1", place: place(3) } }, drop: ["v2"] } } });
  assert.deepEqual([shown.slice(1), live.trails.vehicles.get("v1").length], [[["v1,v2,v3", 2], ["v1,v3", 1]], 3]);
  assert.deepEqual([told, isOpen()], [[true], [true]]);
});

test("an engine that was never heard is told to be silent, and nothing is known of it", (context) => {
  const { live, told, sources, tick } = browser(context);
  live.connect();
  assert.deepEqual([live.isConnected, live.isUnknown], [undefined, true]);
  sources[0].fail(EventSource.CLOSED);
  tick(5000);
  sources[1].fail(EventSource.CLOSED);
  assert.deepEqual([told, live.isUnknown], [[false], true]);
  assert.equal(emptyWords(live, true, "There are none yet."), "");
  tick(5000);
  sources[2].send("snapshot", partOf({}));
  assert.deepEqual([told, live.isUnknown], [[false, true], false]);
  assert.equal(emptyWords(live, false, "There are none yet."), "There are none yet.");
});

test("a state that broke off leaves nothing in the next one, nor does the one before it", (context) => {
  const { live, sources, tick } = browser(context);
  live.connect();
  sources[0].send("part", partOf({ vehicles: ["lost"] }));
  sources[0].fail(0);
  sources[0].send("part", partOf({ vehicles: ["v1", "v2"] }));
  sources[0].send("snapshot", partOf({}));
  sources[0].send("trails", trailsOf({ v1: [place(1)], v2: [place(1)] }));
  assert.deepEqual([...live.state.vehicles.keys()], ["v1", "v2"]);
  sources[0].send("part", partOf({ vehicles: ["lost, too"] }));
  tick(30_000);
  sources[1].send("part", partOf({ vehicles: ["v2", "v3"] }));
  sources[1].send("snapshot", partOf({}));
  assert.deepEqual([...live.state.vehicles.keys()], ["v2", "v3"]);
  // What stays keeps its trail until the new one comes.
  assert.deepEqual([...live.trails.vehicles.keys()], ["v2"]);
});

test("an engine that may have started again is told of, and not one that goes on", (context) => {
  const { live, sources, see, tick } = browser(context);
  let restarts = 0;
  const told = [];
  live.addEventListener("restart", () => { restarts += 1; told.push([...live.state.vehicles.keys()].join()); });
  live.connect();
  sources[0].send("part", partOf({ vehicles: ["v1"] }));
  sources[0].send("snapshot", partOf({}));
  // The browser comes back, and gets what it missed alone.
  sources[0].fail(0);
  sources[0].beat();
  assert.equal(restarts, 0);
  sources[0].fail(0);
  sources[0].send("part", partOf({ vehicles: ["v2"] }));
  sources[0].send("snapshot", partOf({}));
  assert.deepEqual([restarts, told], [1, ["v2"]]);
  // Nor is it known what happened while nobody saw the page, or nothing was heard.
  see(false);
  see(true);
  sources[1].send("snapshot", partOf({}));
  tick(30_000);
  sources[2].send("snapshot", partOf({}));
  assert.equal(restarts, 3);
});

test("a page that nobody sees leaves its connection to others", (context) => {
  const { live, told, sources, see, tick, isOpen } = browser(context);
  live.connect();
  sources[0].beat();
  see(false);
  tick(120_000);
  assert.deepEqual([told, isOpen()], [[true], [false]]);
  see(true);
  assert.deepEqual([told, isOpen()], [[true], [false, true]]);
  tick(30_000);
  assert.deepEqual([told, isOpen()], [[true, false], [false, false, true]]);
  // Neither does one that the server turned away.
  sources[2].fail(EventSource.CLOSED);
  see(false);
  tick(120_000);
  assert.deepEqual(isOpen(), [false, false, false]);
});

test("a page that is opened where nobody sees it asks for nothing yet", (context) => {
  const { live, sources, see, tick } = browser(context);
  let restarts = 0;
  live.addEventListener("restart", () => { restarts += 1; });
  document.hidden = true;
  live.connect();
  tick(120_000);
  assert.equal(sources.length, 0);
  see(true);
  assert.equal(sources.length, 1);
  // The engine may have started again before anybody saw it.
  sources[0].send("snapshot", partOf({}));
  assert.equal(restarts, 1);
});
