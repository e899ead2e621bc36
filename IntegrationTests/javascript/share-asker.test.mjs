// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// What a refusal does, on the share page and by the lines that docs/fleet-token.md gives: both keep one rule. And how long a
// share page waits.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { FleetTokens } from "../../Sources/FleetEngine/Page/Web/fleet-token.js";
import { Asker, Pace } from "../../Sources/FleetEngine/Page/Web/share-asker.js";
import { settle, timers } from "./timers.mjs";

const trip = { kind: "consumer", id: "trip-7" };
const guide = readFileSync(new URL("../../docs/fleet-token.md", import.meta.url), "utf8");
const lines = guide.split("```").find((block) => block.startsWith("js\n") && block.includes("isRefused")).slice("js\n".length);

/** Asks by the guide's lines, which leave to the app where their variables are and that it asks once more. */
class GuideAsker {
  #tokens;
  #attempt;

  constructor(tokens, subject, send) {
    this.#tokens = tokens;
    const fetch = (_, { headers }) => send({ token: headers.Authorization.slice("Bearer ".length) });
    this.#attempt = new Function("tokens", "subject", "fetch", "url", `let sentBefore, deniedBefore;
      return async (token) => { ${lines}\nreturn { answer, isRefused }; };`)(tokens, subject, fetch, "https://engine.example");
  }

  async ask() {
    const { answer, isRefused } = await this.#attempt((await this.#tokens.token(trip)).token);
    if (!isRefused) return answer;
    const other = await this.#tokens.token(trip).catch(() => undefined);
    return other ? (await this.#attempt(other.token)).answer : answer;
  }
}

/**
 * An engine that answers a token by `statusOf`, and a token server that mints what `mint` tells.
 *
 * A token that is signed without anything random is the same again within one second.
 */
class World {
  seconds = 1000;
  mints = 0;
  sent = [];
  statusOf = () => 200;
  mint = () => `token-${Math.floor(this.seconds)}`;

  constructor(Kind) {
    const clock = { monotonic: () => this.seconds, wall: () => this.seconds, after: () => 0, cancel: () => {} };
    const fetch = async () => {
      this.mints += 1;
      return new Response(JSON.stringify({ token: this.mint(), expires_in: 3300 }));
    };
    const tokens = new FleetTokens({ url: "https://tokens.example", clock, random: () => 0.5, fetch });
    this.asker = new Kind(tokens, trip, async ({ token }) => {
      this.sent.push(token);
      return new Response("{}", { status: await this.statusOf(token) });
    });
  }

  /** Asks some times, five seconds apart, and tells how each came out. */
  async ask(times = 1) {
    const statuses = [];
    for (let round = 0; round < times; round += 1) {
      statuses.push((await this.asker.ask()).status);
      this.seconds += 5;
    }
    return statuses;
  }
}

const always = (status, times) => Array.from({ length: times }, () => status);

for (const [name, Kind] of [["the share page", Asker], ["the guide's lines", GuideAsker]]) {
  test(`${name}: a lasting 403 costs one renewal where a second brings the same token again`, async () => {
    const world = new World(Kind);
    world.statusOf = () => 403;
    assert.deepEqual(await world.ask(20), always(403, 20));
    assert.equal(world.mints, 3, "the first, the same again, and the one of the next question");
    assert.equal(new Set(world.sent).size, 2);
  });

  test(`${name}: a lasting 403 costs one renewal where each token is another`, async () => {
    const world = new World(Kind);
    world.mint = () => `token-${world.mints}`;
    world.statusOf = () => 403;
    assert.deepEqual(await world.ask(20), always(403, 20));
    assert.equal(world.mints, 2);
    // The token in hand is refreshed in time, and that is no reason for another one.
    world.seconds += 3000;
    assert.deepEqual(await world.ask(5), always(403, 5));
    assert.equal(world.mints, 3);
  });

  test(`${name}: a new token that is denied is replaced before that is told`, async () => {
    const world = new World(Kind);
    world.mint = () => `token-${world.mints}`;
    world.statusOf = (token) => (token === "token-1" ? 403 : 200);
    assert.deepEqual(await world.ask(2), [200, 200]);
    assert.equal(world.mints, 2);
  });

  test(`${name}: a new token that is denied is replaced by the next question where its second brings no other`, async () => {
    const world = new World(Kind);
    world.statusOf = (token) => (token === "token-1000" ? 403 : 200);
    assert.deepEqual(await world.ask(3), [403, 200, 200]);
    assert.equal(world.mints, 3);
  });

  test(`${name}: after a success a new token that is denied is replaced once more`, async () => {
    const world = new World(Kind);
    world.mint = () => `token-${world.mints}`;
    world.statusOf = (token) => (["token-1", "token-3"].includes(token) ? 403 : 200);
    assert.deepEqual(await world.ask(2), [200, 200]);
    world.seconds += 3100;
    assert.deepEqual(await world.ask(2), [200, 200]);
    assert.equal(world.mints, 4);
  });

  test(`${name}: a 403 for a token that was good before is about the request`, async () => {
    const world = new World(Kind);
    await world.ask();
    world.statusOf = () => 403;
    assert.deepEqual(await world.ask(5), always(403, 5));
    assert.equal(world.mints, 1);
  });

  test(`${name}: a 401 has the token replaced whatever was answered before`, async () => {
    const world = new World(Kind);
    world.mint = () => `token-${world.mints}`;
    world.statusOf = () => 403;
    await world.ask(2);
    world.statusOf = (token) => (token === "token-2" ? 401 : 200);
    assert.deepEqual(await world.ask(2), [200, 200]);
    assert.equal(world.mints, 3);
  });

  test(`${name}: a token that nobody answered was not sent before`, async () => {
    const world = new World(Kind);
    world.mint = () => `token-${world.mints}`;
    world.statusOf = () => { throw new TypeError("Failed to fetch"); };
    await assert.rejects(world.ask(), TypeError);
    world.statusOf = (token) => (token === "token-1" ? 403 : 200);
    assert.deepEqual(await world.ask(), [200]);
  });
}

/** A pace with its longest waits in a browser, whose network comes back by `reconnect`. */
function browser(context, tokens = { retryNow() {} }) {
  const tick = timers(context);
  const window = new EventTarget();
  globalThis.addEventListener = (...parts) => window.addEventListener(...parts);
  context.after(() => { delete globalThis.addEventListener; });
  const pace = new Pace(tokens, () => 1);
  const isOver = async (wait) => {
    let isOver = false;
    wait.then(() => { isOver = true; });
    await settle();
    return isOver;
  };
  return {
    pace, isOver, tick,
    /** Lets seconds pass, and tells whether a wait is over just before that, and then. */
    async pass(wait, seconds) {
      tick(seconds * 1000 - 1);
      const before = await isOver(wait);
      tick(1);
      return [before, await isOver(wait)];
    },
    reconnect: () => window.dispatchEvent(new Event("online")),
  };
}

const inTime = [false, true];

test("a page waits longer after each failure, and as ever after an answer", async (context) => {
  const { pace, pass } = browser(context);
  for (const seconds of [10, 20, 40, 60, 60]) assert.deepEqual(await pass(pace.afterFailure({}), seconds), inTime);
  assert.deepEqual(await pass(pace.afterFailure({ retryAfterSeconds: 90 }), 90), inTime);
  assert.deepEqual(await pass(pace.afterAnswer(), 5), inTime);
  assert.deepEqual(await pass(pace.afterFailure({ retryAfterSeconds: 3 }), 10), inTime);
});

test("a network that is back ends a page's wait, but not the one that a server asked for", async (context) => {
  const { pace, pass, isOver, tick, reconnect } = browser(context);
  for (const seconds of [10, 20, 40]) await pass(pace.afterFailure({}), seconds);
  const wait = pace.afterFailure({});
  tick(0);
  assert.equal(await isOver(wait), false);
  reconnect();
  assert.equal(await isOver(wait), true);
  const asked = pace.afterFailure({ retryAfterSeconds: 30 });
  reconnect();
  assert.deepEqual(await pass(asked, 30), inTime);
  // Those before it count no more, also where it was back before a question failed.
  reconnect();
  assert.deepEqual(await pass(pace.afterFailure({}), 10), inTime);
});

/** A page that asks until it is answered, by tokens that make it wait for as long as they can. */
function page(context, mint) {
  let seconds = 1000;
  let requests = 0;
  const clock = { monotonic: () => seconds, wall: () => seconds, after: () => 0, cancel: () => {} };
  const fetch = async () => {
    requests += 1;
    return mint();
  };
  const tokens = new FleetTokens({ url: "https://tokens.example", clock, random: () => 0.99, fetch });
  const { pace, tick, reconnect } = browser(context, tokens);
  const asker = new Asker(tokens, trip, async () => new Response("{}"));
  const shown = { answer: undefined };
  const follow = async () => {
    while (!shown.answer) {
      try {
        shown.answer = await asker.ask();
      } catch (error) {
        await pace.afterFailure(error);
      }
    }
  };
  follow();
  return {
    shown, reconnect,
    requests: () => requests,
    async pass(passed) {
      await settle();
      seconds += passed;
      tick(passed * 1000);
      await settle();
    },
  };
}

const grant = () => new Response(JSON.stringify({ token: "token", expires_in: 3300 }));

test("a page that has no token asks for one when the network is back", async (context) => {
  let isAway = true;
  const { shown, pass, reconnect, requests } = page(context, () => {
    if (isAway) throw new TypeError("Failed to fetch");
    return grant();
  });
  for (const seconds of [10, 20, 40, 60, 0]) await pass(seconds);
  assert.equal(requests(), 5);
  isAway = false;
  reconnect();
  await settle();
  assert.equal(shown.answer?.status, 200);
  assert.equal(requests(), 6);
});

test("a page that was asking for a token when the network came back soon asks again", async (context) => {
  let mint = () => { throw new TypeError("Failed to fetch"); };
  const { shown, pass, reconnect, requests } = page(context, () => mint());
  for (const seconds of [10, 20, 40, 60]) await pass(seconds);
  let fail;
  mint = () => new Promise((_, reject) => { fail = reject; });
  await pass(60);
  assert.equal(requests(), 6);
  reconnect();
  mint = grant;
  fail(new TypeError("Failed to fetch"));
  await pass(9);
  assert.equal(shown.answer, undefined);
  await pass(1);
  assert.equal(shown.answer?.status, 200);
});

test("a page that has no token waits as long as the token server asked for, also when the network is back", async (context) => {
  let isAway = true;
  const { shown, pass, reconnect, requests } = page(
    context, () => (isAway ? new Response("", { status: 503, headers: { "Retry-After": "30" } }) : grant()));
  await pass(0);
  isAway = false;
  reconnect();
  await pass(29);
  assert.equal(requests(), 1);
  await pass(1);
  assert.equal(shown.answer?.status, 200);
});
