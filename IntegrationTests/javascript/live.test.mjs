// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";

import { Live, get } from "../../Sources/FleetEngine/Page/Web/live.js";

/** Lets everything run that waits for nothing but promises. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Timers that run as a test lets milliseconds pass, by the function that this returns; Node 18 has none to mock. */
function timers(context) {
  const waiting = new Map();
  let now = 0;
  let last = 0;
  context.mock.method(globalThis, "setTimeout", (run, wait) => (waiting.set(++last, { at: now + wait, run }), last));
  context.mock.method(globalThis, "clearTimeout", (id) => waiting.delete(id));
  const first = (end) => [...waiting].filter(([, it]) => it.at <= end).sort(([, one], [, other]) => one.at - other.at)[0];
  return (milliseconds) => {
    const end = now + milliseconds;
    for (let due = first(end); due; due = first(end)) {
      const [id, { at, run }] = due;
      waiting.delete(id);
      now = at;
      run();
    }
    now = end;
  };
}

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
    beat() { this.dispatchEvent(new MessageEvent("beat", { data: `{"now":${Date.now()}}` })); }
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
  document.hidden = true;
  live.connect();
  tick(120_000);
  assert.equal(sources.length, 0);
  see(true);
  assert.equal(sources.length, 1);
});
