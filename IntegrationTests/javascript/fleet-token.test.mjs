// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// The rules of fleet-token.js with a clock and a server that do what they are told: node --test IntegrationTests/javascript/*.test.mjs

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { inspect } from "node:util";

import { FleetTokenError, FleetTokens } from "../../Sources/FleetEngine/Page/Web/fleet-token.js";

const trip = { kind: "consumer", id: "trip-7" };

/** Lets everything run that waits for nothing but promises. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

class Clock {
  #timers = new Map();
  #next = 0;
  seconds = 1000;
  wallOffset = 1_800_000_000;
  monotonic = () => this.seconds;
  wall = () => this.seconds + this.wallOffset;
  after = (seconds, run) => (this.#timers.set(++this.#next, { at: this.seconds + seconds, run }), this.#next);
  cancel = (timer) => this.#timers.delete(timer);
  get timers() { return this.#timers.size; }

  async advance(seconds) {
    this.seconds += seconds;
    for (const [id, timer] of this.#timers) {
      if (timer.at <= this.seconds) { this.#timers.delete(id); timer.run(); }
    }
    await settle();
  }
}

const claimNames = {
  driver: "vehicleid", consumer: "tripid", delivery_driver: "deliveryvehicleid", delivery_consumer: "trackingid",
};

/** A token server: what it answers is decided by `plan`, and by `open` when. */
class Server {
  requests = [];
  asked = "https://tokens.example/token/consumer/trip-7";
  minted = 0;
  plan = () => this.grant();
  gate = undefined;

  jwt(claims) {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    return `${part({ alg: "RS256" })}.${part({ jti: ++this.minted, authorization: this.authorization, ...claims })}.c2ln`;
  }

  /** The claims of what was asked for last. */
  get authorization() {
    const { pathname, searchParams } = new URL(this.asked);
    const [kind, id] = pathname.split("/").slice(2).map(decodeURIComponent);
    if (kind === "fleet_reader") return { taskid: "*", trackingid: "*", deliveryvehicleid: "*" };
    return { [claimNames[kind]]: id, taskid: searchParams.get("task") ?? undefined };
  }

  grant({ life = 3300, refreshAfter, claims = { iat: 1, exp: 3601 }, token = this.jwt(claims), headers } = {}) {
    return new Response(JSON.stringify({ jwt: token, expires_in: life, refresh_after: refreshAfter }), { headers });
  }

  fetch = async (url, init) => {
    this.requests.push({ url: String(url), init });
    if (this.gate) await this.gate;
    init.signal.throwIfAborted();
    this.asked = String(url);
    return this.plan();
  };
}

function world(options = {}) {
  const clock = new Clock();
  const server = new Server();
  const tokens = new FleetTokens({
    url: "https://tokens.example", fetch: server.fetch, clock, random: () => 0.5, ...options,
  });
  return { clock, server, tokens };
}

test("a fetched token is given with its life in seconds, and kept", async () => {
  const { clock, server, tokens } = world();
  const first = await tokens.token(trip);
  assert.equal(first.expiresInSeconds, 3300);
  await clock.advance(100);
  const second = await tokens.token(trip);
  assert.equal(second.token, first.token);
  assert.equal(second.expiresInSeconds, 3200);
  assert.deepEqual(server.requests.map((request) => request.url), ["https://tokens.example/token/consumer/trip-7"]);
  assert.equal(clock.timers, 0);
});

test("callers at the same time share one fetch", async () => {
  const { server, tokens } = world();
  const answers = await Promise.all(Array.from({ length: 50 }, () => tokens.token(trip)));
  assert.equal(server.requests.length, 1);
  assert.equal(new Set(answers.map((answer) => answer.token)).size, 1);
});

test("subjects have tokens of their own", async () => {
  const { server, tokens } = world();
  const [one, other] = await Promise.all([tokens.token(trip), tokens.token({ kind: "consumer", id: "trip-8" })]);
  assert.notEqual(one.token, other.token);
  assert.equal(server.requests.length, 2);
});

for (const [when, seconds] of [
  ["while its token is fetched", 0], ["before a background refresh", 2900],
  ["before a refresh that is waited for", 3001],
]) {
  test(`a subject's object that the caller changes ${when} leads to no token of another`, async () => {
    const { clock, server, tokens } = world();
    const asked = { kind: "delivery_driver", id: "dv-1", task: "t-1" };
    const same = { ...asked };
    const call = tokens.token(asked);
    if (seconds) await call;
    Object.assign(asked, { kind: "driver", id: "veh-2", task: undefined });
    const { token } = await call;
    await clock.advance(seconds);
    await tokens.token(same);
    await settle();
    const { token: later } = await tokens.token(same);
    assert.equal(later === token, seconds === 0);
    for (const each of [token, later]) {
      const { authorization } = JSON.parse(Buffer.from(each.split(".")[1], "base64url"));
      assert.deepEqual(authorization, { deliveryvehicleid: "dv-1", taskid: "t-1" });
    }
    for (const { url } of server.requests) assert.equal(url, "https://tokens.example/token/delivery_driver/dv-1?task=t-1");
  });
}

test("an early refresh runs in the background and keeps nobody waiting", async () => {
  const { clock, server, tokens } = world();
  server.plan = () => server.grant({ refreshAfter: 1800 });
  const first = await tokens.token(trip);
  await clock.advance(1799);
  await tokens.token(trip);
  assert.equal(server.requests.length, 1);
  await clock.advance(1);
  let open;
  server.gate = new Promise((resolve) => { open = resolve; });
  assert.equal((await tokens.token(trip)).token, first.token);
  assert.equal((await tokens.token(trip)).token, first.token);
  assert.equal(server.requests.length, 2);
  open();
  await settle();
  assert.notEqual((await tokens.token(trip)).token, first.token);
});

test("without a hint the refresh begins within ten minutes of the end", async () => {
  const { clock, server, tokens } = world();
  await tokens.token(trip);
  await clock.advance(3300 - 600 - 1);
  await tokens.token(trip);
  assert.equal(server.requests.length, 1);
  await clock.advance(1 + 75);
  await tokens.token(trip);
  assert.equal(server.requests.length, 2);
});

test("a token below five minutes is not handed out while the server answers", async () => {
  const { clock, tokens } = world();
  const first = await tokens.token(trip);
  await clock.advance(3001);
  const second = await tokens.token(trip);
  assert.notEqual(second.token, first.token);
  assert.ok(second.expiresInSeconds >= 300);
});

test("a valid token is never hidden by an error, and is never handed out beyond its end", async () => {
  const { clock, server, tokens } = world();
  const first = await tokens.token(trip);
  server.plan = () => new Response("", { status: 503 });
  for (const _ of Array.from({ length: 20 })) {
    await clock.advance(164);
    assert.equal((await tokens.token(trip)).token, first.token);
  }
  await clock.advance(20);
  await assert.rejects(tokens.token(trip), { code: "unavailable", status: 503 });
});

test("a failure is followed by a growing wait, and is not the last word", async () => {
  const { clock, server, tokens } = world();
  server.plan = () => new Response("", { status: 503 });
  await assert.rejects(tokens.token(trip), FleetTokenError);
  await assert.rejects(tokens.token(trip), { status: 503 });
  assert.equal(server.requests.length, 1, "the second caller gets the error without a request");
  const waits = [0.5, 1, 2, 4, 8, 16, 30, 30];
  for (const [index, wait] of waits.entries()) {
    await clock.advance(wait - 0.01);
    await assert.rejects(tokens.token(trip));
    assert.equal(server.requests.length, index + 1);
    await clock.advance(0.01);
    await assert.rejects(tokens.token(trip));
    assert.equal(server.requests.length, index + 2);
  }
  server.plan = () => server.grant();
  await clock.advance(60);
  assert.equal((await tokens.token(trip)).expiresInSeconds, 3300);
});

for (const [whose, headers] of [["its own", {}], ["one that the server asked for", { "Retry-After": "600" }]]) {
  test(`an app that knows better ends a pause, ${whose}, and the next goes on growing`, async () => {
    const { clock, server, tokens } = world();
    server.plan = () => new Response("", { status: 503 });
    for (let failures = 1; failures < 8; failures += 1) {
      await assert.rejects(tokens.token(trip));
      await clock.advance(60);
    }
    server.plan = () => new Response("", { status: 503, headers });
    await assert.rejects(tokens.token(trip));
    assert.equal(server.requests.length, 8);
    tokens.retryNow();
    await settle();
    assert.equal(server.requests.length, 8, "nothing is fetched before somebody asks");
    server.plan = () => new Response("", { status: 503 });
    await assert.rejects(tokens.token(trip), { retryAfterSeconds: undefined });
    assert.equal(server.requests.length, 9);
    await clock.advance(29.9);
    await assert.rejects(tokens.token(trip));
    assert.equal(server.requests.length, 9);
    server.plan = () => server.grant();
    tokens.retryNow();
    assert.equal((await tokens.token(trip)).expiresInSeconds, 3300);
  });
}

test("when a fetch fails that was under way when the app knew better, the pauses begin anew", async () => {
  const { clock, server, tokens } = world();
  server.plan = () => new Response("", { status: 503 });
  for (let failures = 1; failures < 8; failures += 1) {
    await assert.rejects(tokens.token(trip));
    await clock.advance(60);
  }
  let open;
  server.gate = new Promise((resolve) => { open = resolve; });
  const waiting = tokens.token(trip);
  await settle();
  tokens.retryNow();
  open();
  await assert.rejects(waiting);
  server.plan = () => server.grant();
  await clock.advance(0.49);
  await assert.rejects(tokens.token(trip));
  await clock.advance(0.01);
  assert.equal((await tokens.token(trip)).expiresInSeconds, 3300);
});

test("an app that knows better loses no token, and disturbs no fetch", async () => {
  const { clock, server, tokens } = world();
  let open;
  server.gate = new Promise((resolve) => { open = resolve; });
  const waiting = tokens.token(trip);
  tokens.retryNow();
  open();
  const { token } = await waiting;
  assert.equal(server.requests.length, 1);
  await clock.advance(3001);
  server.plan = () => new Response("", { status: 503, headers: { "Retry-After": "600" } });
  assert.equal((await tokens.token(trip)).token, token);
  assert.equal(server.requests.length, 2);
  tokens.retryNow();
  assert.equal((await tokens.token(trip)).token, token);
  assert.equal(server.requests.length, 3);
});

test("Retry-After is kept to, up to a limit", async () => {
  const { clock, server, tokens } = world();
  server.plan = () => new Response("", { status: 429, headers: { "Retry-After": "20" } });
  await assert.rejects(tokens.token(trip), { code: "unavailable", retryAfterSeconds: 20 });
  await clock.advance(19.9);
  await assert.rejects(tokens.token(trip));
  assert.equal(server.requests.length, 1);
  server.plan = () => new Response("", { status: 429, headers: { "Retry-After": "999999" } });
  await clock.advance(0.2);
  await assert.rejects(tokens.token(trip));
  server.plan = () => server.grant();
  await clock.advance(601);
  await tokens.token(trip);
});

for (const [retryAfter, wait] of [["20, 30", 30], ["30,20", 30], ["20 , soon", 20], ["2 0", undefined]]) {
  test(`of the waits in Retry-After "${retryAfter}" the longest in seconds is kept to`, async () => {
    const { server, tokens } = world();
    server.plan = () => new Response("", { status: 503, headers: { "Retry-After": retryAfter } });
    await assert.rejects(tokens.token(trip), { code: "unavailable", retryAfterSeconds: wait });
  });
}

for (const [retryAfter, ...waits] of [
  ["600", [0, 600], [300, 300], [299, 1], [0.9, 1]], ["86400", [0, 600], [0.5, 600], [599, 1]],
]) {
  test(`an error after Retry-After ${retryAfter} tells what is left of the wait`, async () => {
    const { clock, server, tokens } = world();
    // In fractions, as a browser counts.
    clock.seconds = 1234.1;
    const headers = { "Retry-After": retryAfter };
    server.plan = () => new Response('{"error":{"message":"Away."}}', { status: 503, headers });
    for (const [seconds, retryAfterSeconds] of waits) {
      await clock.advance(seconds);
      await assert.rejects(tokens.token(trip), {
        name: "FleetTokenError", code: "unavailable", message: /Away\.$/, status: 503, retryAfterSeconds,
      });
    }
    assert.equal(server.requests.length, 1);
    server.plan = () => server.grant();
    await clock.advance(1);
    assert.equal((await tokens.token(trip)).expiresInSeconds, 3300, "who waits so long is not turned away");
  });
}

test("an error tells the wait that is kept to, not a shorter one that the server asked for", async () => {
  const { clock, server, tokens } = world({ backOffBase: 60 });
  server.plan = () => new Response("", { status: 503, headers: { "Retry-After": "5" } });
  await assert.rejects(tokens.token(trip), { retryAfterSeconds: 30 });
  await clock.advance(10);
  await assert.rejects(tokens.token(trip), { retryAfterSeconds: 20 });
});

test("a wait of the app's own error counts down, too, and its cause stays", async () => {
  const own = new FleetTokenError("unavailable", "No network.", { retryAfterSeconds: 40, cause: new Error("offline") });
  const { clock, tokens } = world({ headers: async () => { throw own; } });
  await assert.rejects(tokens.token(trip), (error) => error === own);
  await clock.advance(15);
  const { code, message, cause } = own;
  await assert.rejects(tokens.token(trip), { name: "FleetTokenError", code, message, retryAfterSeconds: 25, cause });
});

for (const [name, date, wait] of [["its answer's own Date", "1970-01-01T01:00:00Z", 20], ["the page's clock without one", undefined, 40]]) {
  test(`a Retry-After that is a date counts from ${name}`, async () => {
    const { clock, server, tokens } = world();
    clock.wallOffset = 3580 - clock.seconds;
    const headers = { "Retry-After": new Date(3_620_000).toUTCString(), ...(date && { Date: new Date(date).toUTCString() }) };
    server.plan = () => new Response("", { status: 503, headers });
    await assert.rejects(tokens.token(trip), { code: "unavailable", retryAfterSeconds: wait });
  });
}

test("a fetch that hangs ends after its time and leaves nothing behind", async () => {
  const { clock, server, tokens } = world();
  server.gate = new Promise(() => {});
  const message = "The token server did not answer within 8 s.";
  const call = assert.rejects(tokens.token(trip), { code: "timeout", message });
  await settle();
  await clock.advance(8);
  await call;
  assert.ok(server.requests[0].init.signal.aborted);
  assert.equal(clock.timers, 0);
});

test("an app's headers that never come are not blamed on the token server", async () => {
  const { clock, server, tokens } = world({ headers: () => new Promise(() => {}) });
  const message = "The app's headers function did not answer within 8 s, so the token server was not asked.";
  const call = assert.rejects(tokens.token(trip), { code: "timeout", message });
  await settle();
  await clock.advance(8);
  await call;
  assert.equal(server.requests.length, 0);
});

for (const [seconds, time] of [
  [0.8, "8 s"], [6.1234567, "the 1.877 s left of 8 s, of which the app's headers function took 6.123 s"],
]) {
  test(`a token server that is asked after ${seconds} s is told with the time that it had`, async () => {
    let give;
    const { clock, server, tokens } = world({ headers: () => new Promise((resolve) => { give = resolve; }) });
    server.gate = new Promise(() => {});
    const message = `The token server did not answer within ${time}.`;
    const call = assert.rejects(tokens.token(trip), { code: "timeout", message });
    await clock.advance(seconds);
    give({});
    await settle();
    assert.equal(server.requests.length, 1);
    await clock.advance(8 - seconds);
    await call;
  });
}

test("life is counted from the start of the fetch by the monotonic clock", async () => {
  const { clock, server, tokens } = world();
  let open;
  server.gate = new Promise((resolve) => { open = resolve; });
  const call = tokens.token(trip);
  await settle();
  await clock.advance(5);
  clock.wallOffset -= 86_400;
  open();
  assert.equal((await call).expiresInSeconds, 3295);
  clock.wallOffset -= 86_400;
  await clock.advance(95);
  assert.equal((await tokens.token(trip)).expiresInSeconds, 3200);
  assert.equal(server.requests.length, 1);
});

test("a page that slept fetches anew although its monotonic clock stood", async () => {
  const { clock, server, tokens } = world();
  const first = await tokens.token(trip);
  clock.wallOffset += 4000;
  assert.notEqual((await tokens.token(trip)).token, first.token);
  assert.equal(server.requests.length, 2);
});

for (const [name, told, seconds] of [
  ["as much life as is left", 3240, 3240], ["less life than is left", 600, 600], ["hardly more life than is left", 3250, 3240],
]) {
  test(`a token that is sent again with ${name} is kept, and the wall clock was set`, async () => {
    const { clock, server, tokens } = world();
    const token = server.jwt({ iat: 1, exp: 3601 });
    server.plan = () => server.grant({ token });
    await tokens.token(trip);
    await clock.advance(60);
    clock.wallOffset += 10_800;
    server.plan = () => server.grant({ token, life: told });
    assert.deepEqual(await tokens.token(trip), { token, expiresInSeconds: seconds });
    await clock.advance(10);
    assert.deepEqual(await tokens.token(trip), { token, expiresInSeconds: seconds - 10 });
    assert.equal(server.requests.length, 2);
  });
}

test("a copy of the first answer gives a token no new life after a sleep", async () => {
  const { clock, server, tokens } = world();
  const token = server.jwt({ iat: 1, exp: 3601 });
  server.plan = () => server.grant({ token });
  await tokens.token(trip);
  await clock.advance(5);
  clock.wallOffset += 3200;
  assert.equal((await tokens.token(trip)).expiresInSeconds, 95);
  await clock.advance(300);
  const asked = server.requests.length;
  assert.equal((await tokens.token(trip)).expiresInSeconds, 0);
  assert.equal(server.requests.length, asked + 1);
});

test("a token that is sent again with more life than is left comes from a cache, and promises nothing", async () => {
  const { clock, server, tokens } = world();
  const token = server.jwt({ iat: 1, exp: 3601 });
  server.plan = () => server.grant({ token });
  await tokens.token(trip);
  await clock.advance(60);
  clock.wallOffset += 10_800;
  assert.deepEqual(await tokens.token(trip), { token, expiresInSeconds: 0 });
  await clock.advance(3239);
  server.plan = () => new Response("", { status: 500 });
  assert.deepEqual(await tokens.token(trip), { token, expiresInSeconds: 0 });
  await clock.advance(1);
  await assert.rejects(tokens.token(trip), { code: "unavailable" });
});

test("a wall clock that jumps ahead while the server is away hides nothing", async () => {
  const { clock, server, tokens } = world();
  const first = await tokens.token(trip);
  server.plan = () => new Response("", { status: 500 });
  clock.wallOffset += 4000;
  assert.equal((await tokens.token(trip)).token, first.token);
});

for (const [slept, seconds] of [[3000, 300], [3299, 1], [3300, 0], [7200, 0]]) {
  test(`a token that comes out of ${slept} s of sleep while the server is away promises ${seconds} s`, async () => {
    const { clock, server, tokens } = world();
    const first = await tokens.token(trip);
    server.plan = () => new Response("", { status: 500 });
    clock.wallOffset += slept;
    for (const _ of ["while it is fetched", "while the server is left in peace"]) {
      assert.deepEqual(await tokens.token(trip), { token: first.token, expiresInSeconds: seconds });
    }
  });
}

test("a refused token is replaced once, however many calls were refused", async () => {
  const { server, tokens } = world();
  const { token } = await tokens.token(trip);
  tokens.invalidate(trip, token);
  const { token: next } = await tokens.token(trip);
  assert.notEqual(next, token);
  tokens.invalidate(trip, token);
  assert.equal((await tokens.token(trip)).token, next);
  assert.equal(server.requests.length, 2);
});

test("refusals without end do not become fetches without end", async () => {
  const { clock, server, tokens } = world();
  for (let round = 0; round < 6; round += 1) tokens.invalidate(trip, (await tokens.token(trip)).token);
  await assert.rejects(tokens.token(trip), { code: "tooManyRefusals" });
  tokens.retryNow();
  await assert.rejects(tokens.token(trip), { code: "tooManyRefusals" });
  assert.equal(server.requests.length, 6);
  await clock.advance(61);
  await tokens.token(trip);
});

test("refused tokens are known again, also the one too many and those of long ago", async () => {
  const { clock, server, tokens } = world();
  const refused = [];
  for (let round = 0; round < 6; round += 1) {
    refused.push((await tokens.token(trip)).token);
    tokens.invalidate(trip, refused.at(-1));
  }
  for (const token of refused.slice(1)) {
    await clock.advance(100);
    server.plan = () => server.grant({ token });
    await assert.rejects(tokens.token(trip), { code: "invalidAnswer", message: /refused/ });
  }
  await clock.advance(100);
  server.plan = () => server.grant({ token: refused[0] });
  assert.equal((await tokens.token(trip)).token, refused[0], "five are remembered");
});

test("a refused token that comes again is an error", async () => {
  const { server, tokens } = world();
  const token = server.jwt({ iat: 1, exp: 3601 });
  server.plan = () => server.grant({ token });
  tokens.invalidate(trip, (await tokens.token(trip)).token);
  await assert.rejects(tokens.token(trip), { code: "invalidAnswer" });
});

test("a server that hands out short tokens is not asked at each call", async () => {
  const { clock, server, tokens } = world();
  server.plan = () => server.grant({ life: 120 });
  await tokens.token(trip);
  await tokens.token(trip);
  await tokens.token(trip);
  assert.equal(server.requests.length, 1);
  await clock.advance(1);
  assert.ok((await tokens.token(trip)).expiresInSeconds >= 118);
});

test("a cached answer does not make a token live longer", async () => {
  const { clock, server, tokens } = world();
  const token = server.jwt({ iat: 1, exp: 3601 });
  server.plan = () => server.grant({ token, refreshAfter: 1800 });
  await tokens.token(trip);
  await clock.advance(3200);
  assert.equal((await tokens.token(trip)).expiresInSeconds, 100);
});

test("a token lives no longer than its own claims say", async () => {
  const { server, tokens } = world();
  server.plan = () => server.grant({ life: 999_999, claims: { iat: 1, exp: 3601 } });
  assert.equal((await tokens.token(trip)).expiresInSeconds, 3600);
});

for (const [backdating, seconds] of [[0, 3599], [300, 3299], [-60, 3600], [3598, 1]]) {
  test(`without a life of its own an answer ${backdating} s after iat promises what its Date leaves`, async () => {
    const { server, tokens } = world();
    const headers = { Date: new Date((1 + backdating) * 1000).toUTCString() };
    server.plan = () => new Response(JSON.stringify({ token: server.jwt({ iat: 1, exp: 3601 }) }), { headers });
    assert.equal((await tokens.token(trip)).expiresInSeconds, seconds);
  });
}

test("a token no longer than what its iat may be backdated by is an error unless its life is told", async () => {
  const { clock, server, tokens } = world();
  server.plan = () => new Response(JSON.stringify({ token: server.jwt({ iat: 1, exp: 301 }) }));
  await assert.rejects(tokens.token(trip), { code: "invalidAnswer", message: /no life.*expires_in/ });
  await clock.advance(1);
  server.plan = () => new Response(JSON.stringify({ token: server.jwt({ iat: 1, exp: 301 }), expires_in: 290 }));
  assert.equal((await tokens.token(trip)).expiresInSeconds, 290);
});

for (const [kept, seconds] of [[0, 3300], [1, 3298], [1000, 2299]]) {
  test(`an answer that the server kept for ${kept} s promises no more than its own Date leaves`, async () => {
    const { server, tokens } = world();
    const headers = { Date: new Date((301 + kept) * 1000).toUTCString() };
    server.plan = () => server.grant({ claims: { iat: 1, exp: 3601 }, headers });
    assert.equal((await tokens.token(trip)).expiresInSeconds, seconds);
  });
}

for (const [age, seconds] of [
  ["3000", 300], ["0", 3300], ["-5", 3300], ["long", 3300],
  ["3000, 3000", 300], ["3000,0", 300], ["3000 , 0", 300], ["long, 3000", 3300], [", 3000", 3300], ["3 000", 3300],
]) {
  test(`an answer that a cache kept for ${age} s promises ${seconds} s`, async () => {
    const { server, tokens } = world();
    const headers = { Date: new Date(301_000).toUTCString(), Age: age };
    server.plan = () => server.grant({ claims: { iat: 1, exp: 3601 }, headers });
    assert.equal((await tokens.token(trip)).expiresInSeconds, seconds);
  });
}

for (const [age, refreshAfter, wait] of [
  ["600", 1800, 1200], ["0", 1800, 1800], ["0", "1800", 1800], ["1800", 600, 60],
]) {
  test(`an answer with refresh_after ${refreshAfter} that a cache kept for ${age} s is refreshed after ${wait} s`, async () => {
    const { clock, server, tokens } = world();
    server.plan = () => server.grant({ refreshAfter, headers: { Age: age } });
    await tokens.token(trip);
    await clock.advance(wait - 1);
    await tokens.token(trip);
    assert.equal(server.requests.length, 1);
    await clock.advance(1);
    await tokens.token(trip);
    assert.equal(server.requests.length, 2);
  });
}

test("a token that ended in a cache on the way is an error", async () => {
  const { server, tokens } = world();
  server.plan = () => server.grant({ headers: { Age: "3300" } });
  await assert.rejects(tokens.token(trip), { code: "invalidAnswer", message: /no life/ });
});

for (const [name, body, seconds] of [
  ["on-demand sample servers", { creationTimestamp: 1_000, expirationTimestamp: 3_001_000 }, 3000],
  ["scheduled-tasks sample servers", { creation_timestamp_ms: 1_000, expiration_timestamp_ms: 2_001_000 }, 2000],
  ["servers that say nothing but the token, whose iat may be backdated", {}, 3300],
]) {
  test(`the answers of ${name} are read`, async () => {
    const { server, tokens } = world();
    server.plan = () => new Response(JSON.stringify({ token: server.jwt({ iat: 1, exp: 3601 }), ...body }));
    assert.equal((await tokens.token(trip)).expiresInSeconds, seconds);
  });
}

for (const [name, body, seconds] of [
  ["as a text", { expires_in: "600" }, 600], ["no number", { expires_in: null }, 3300],
  ["that is over", { expires_in: 0 }], ["below zero", { expires_in: -300 }],
  ["from a time to itself", { creationTimestamp: 1_000, expirationTimestamp: 1_000 }],
]) {
  test(`a life ${name} counts before the token's own times`, async () => {
    const { server, tokens } = world();
    server.plan = () => new Response(JSON.stringify({ token: server.jwt({ iat: 1, exp: 3601 }), ...body }));
    if (seconds) {
      assert.equal((await tokens.token(trip)).expiresInSeconds, seconds);
    } else {
      await assert.rejects(tokens.token(trip), { code: "invalidAnswer", message: /no life/ });
    }
  });
}

for (const [name, text] of [
  ["no JSON", "<html>"], ["no token", "{}"], ["null", "null"], ["a number for a token", '{"jwt":1,"expires_in":9}'],
  ["no life", '{"jwt":"opaque"}'], ["a life that is over", '{"jwt":"opaque","expires_in":0}'],
  ["a text without end", `{"jwt":"${"a".repeat(70_000)}","expires_in":9}`],
]) {
  test(`an answer with ${name} is an error without any of it in the message`, async () => {
    const { server, tokens } = world();
    server.plan = () => new Response(text);
    await assert.rejects(tokens.token(trip), (error) => error.code === "invalidAnswer" && !error.message.includes("opaque"));
  });
}

const reader = { vehicleid: "*", tripid: "*", deliveryvehicleid: "*", taskid: "*", trackingid: "*" };
const van = { kind: "delivery_driver", id: "dv-1" };
for (const [subject, authorization] of [
  [trip, undefined], [trip, null], [trip, {}], [trip, "trip-7"], [trip, { tripid: "trip-8" }], [trip, { tripid: "*" }],
  [trip, { vehicleid: "trip-7" }], [trip, { tripid: "trip-7", vehicleid: "veh-1" }], [trip, { tripid: "trip-7", vehicleid: "*" }],
  [trip, { tripid: "trip-7", taskids: ["*"] }], [trip, { tripid: ["trip-7"] }], [trip, reader],
  [{ kind: "driver", id: "veh-1" }, { vehicleid: "veh-2" }], [{ kind: "delivery_consumer", id: "shp-1" }, { trackingid: "shp-2" }],
  [van, { deliveryvehicleid: "dv-1", taskid: "*" }], [{ ...van, task: "t-1" }, { deliveryvehicleid: "dv-1" }],
  [{ ...van, task: "t-1" }, { deliveryvehicleid: "dv-1", taskid: "t-2" }],
]) {
  test(`a token for ${JSON.stringify(authorization)} is not kept for ${JSON.stringify(subject)}`, async () => {
    const { server, tokens } = world();
    const token = server.jwt({ iat: 1, exp: 3601, authorization });
    server.plan = () => server.grant({ token });
    await assert.rejects(tokens.token(subject), (error) => error.code === "invalidAnswer"
      && error.message.includes(subject.kind) && !token.split(".").some((part) => error.message.includes(part)));
    await assert.rejects(tokens.token(subject), { code: "invalidAnswer" });
    assert.equal(server.requests.length, 1);
  });
}

for (const [subject, authorization] of [
  [trip, { tripid: "trip-7", custom: "x" }], [van, { deliveryvehicleid: "dv-1" }],
  [{ ...van, task: "t-1" }, { deliveryvehicleid: "dv-1", taskid: "t-1" }],
  [{ kind: "fleet_reader" }, reader], [{ kind: "fleet_reader" }, undefined],
  [{ kind: "consumer", id: "Zoë" }, { tripid: "Zoë" }], [{ kind: "consumer", id: "Zoe\u0308" }, { tripid: "Zoë" }],
]) {
  test(`a token for ${JSON.stringify(authorization)} is kept for ${JSON.stringify(subject)}`, async () => {
    const { server, tokens } = world();
    const token = server.jwt({ iat: 1, exp: 3601, authorization });
    server.plan = () => server.grant({ token });
    assert.equal((await tokens.token(subject)).token, token);
  });
}

test("a token of another subject does not replace the one in hand", async () => {
  const { clock, server, tokens } = world();
  const first = await tokens.token(trip);
  server.plan = () => server.grant({ claims: { iat: 1, exp: 3601, authorization: { tripid: "trip-8" } } });
  await clock.advance(3001);
  assert.deepEqual(await tokens.token(trip), { token: first.token, expiresInSeconds: 299 });
});

test("an opaque token is taken as it is", async () => {
  const { server, tokens } = world();
  server.plan = () => new Response('{"token":"opaque","expires_in":3300}');
  assert.deepEqual(await tokens.token(trip), { token: "opaque", expiresInSeconds: 3300 });
});

test("a refusal tells the server's words", async () => {
  const { server, tokens } = world();
  server.plan = () => new Response('{"error":{"message":"Not your trip."}}', { status: 403 });
  await assert.rejects(tokens.token(trip), { code: "refused", status: 403, message: /Not your trip\./ });
});

/** A body that has no end, and what was read of it. */
function endlessBody() {
  const read = { bytes: 0, isCancelled: false };
  const chunk = new TextEncoder().encode(" ".repeat(16 * 1024));
  const body = new ReadableStream({
    pull: (controller) => { read.bytes += chunk.length; controller.enqueue(chunk); },
    cancel: () => { read.isCancelled = true; },
  });
  return { body, read };
}

for (const [name, status, expected] of [
  ["an answer", 200, { code: "invalidAnswer", message: /too long/ }],
  ["a refusal", 503, { code: "unavailable", status: 503, retryAfterSeconds: 20 }],
]) {
  test(`of ${name} without end, no more is read than any answer has`, async () => {
    const { server, tokens } = world();
    const { body, read } = endlessBody();
    server.plan = () => new Response(body, { status, headers: { "Retry-After": "20" } });
    await assert.rejects(tokens.token(trip), expected);
    assert.ok(read.isCancelled);
    assert.ok(read.bytes < 128 * 1024, `${read.bytes} bytes were read`);
  });
}

for (const [name, status, expected] of [
  ["an answer", 200, { code: "timeout" }], ["a refusal", 403, { code: "refused", status: 403, retryAfterSeconds: 20 }],
]) {
  test(`${name} whose text does not come is waited for no longer than a fetch may take`, async () => {
    const { clock, server, tokens } = world();
    server.plan = () => new Response(new ReadableStream(), { status, headers: { "Retry-After": "20" } });
    const call = assert.rejects(tokens.token(trip), expected);
    await settle();
    await clock.advance(8);
    await call;
    assert.equal(clock.timers, 0);
  });
}

test("a text that comes in pieces is put together, characters and byte order mark too", async () => {
  const { server, tokens } = world();
  const bytes = new TextEncoder().encode('\ufeff{"token":"opaque","expires_in":3300,"note":"Größe 🚚"}');
  server.plan = () => new Response(new ReadableStream({
    start: (controller) => { for (const byte of bytes) controller.enqueue(Uint8Array.of(byte)); controller.close(); },
  }));
  assert.deepEqual(await tokens.token(trip), { token: "opaque", expiresInSeconds: 3300 });
});

test("an answer without a stream, as a stand-in for fetch may give it, is read as a whole", async () => {
  const { clock, server, tokens } = world();
  server.plan = () => ({ status: 200, headers: new Headers(), text: async () => '{"token":"opaque","expires_in":3300}' });
  assert.deepEqual(await tokens.token(trip), { token: "opaque", expiresInSeconds: 3300 });
  tokens.forget();
  server.plan = () => ({ status: 200, headers: new Headers(), text: async () => " ".repeat(70_000) });
  await assert.rejects(tokens.token(trip), { code: "invalidAnswer", message: /too long/ });
  await clock.advance(1);
  server.plan = () => ({
    status: 403, headers: new Headers(), text: async () => '{"error":{"message":"Not your trip."}}',
  });
  await assert.rejects(tokens.token(trip), { code: "refused", status: 403, message: /Not your trip\./ });
});

for (const status of [201, 206]) {
  test(`an answer with status ${status} brings no token`, async () => {
    const { server, tokens } = world();
    server.plan = () => new Response('{"token":"opaque","expires_in":3300}', { status });
    await assert.rejects(tokens.token(trip), { code: "invalidAnswer", status });
  });
}

test("a server that cannot be reached tells why", async () => {
  const { server, tokens } = world();
  const cause = new TypeError("Failed to fetch");
  server.plan = () => { throw cause; };
  await assert.rejects(tokens.token(trip), { code: "unavailable", message: /could not be reached/, cause });
});

test("headers that the app fails to give are a refusal, and the server is not asked", async () => {
  const cause = new Error("signed out");
  const { server, tokens } = world({ headers: () => { throw cause; } });
  await assert.rejects(tokens.token(trip), { code: "refused", message: /headers function failed.*sign in again/, cause });
  assert.equal(server.requests.length, 0);
});

for (const cause of [
  new TypeError("Failed to fetch"), new TypeError("Load failed"), new DOMException("Offline.", "NetworkError"),
  new DOMException("Late.", "TimeoutError"), new DOMException("Gone.", "AbortError"),
]) {
  test(`headers that fail with "${cause.name}: ${cause.message}" sign nobody out, and are asked for again`, async () => {
    let isOffline = true;
    const headers = async () => { if (isOffline) throw cause; return {}; };
    const { clock, server, tokens } = world({ headers });
    await assert.rejects(tokens.token(trip), (error) => error.code === "unavailable" && error.cause === cause
      && !error.message.includes("sign in"));
    assert.equal(server.requests.length, 0);
    isOffline = false;
    await clock.advance(1);
    assert.equal((await tokens.token(trip)).expiresInSeconds, 3300);
  });
}

test("an error of this module's that the app's headers throw is the callers' error", async () => {
  const own = new FleetTokenError("unavailable", "No network.");
  const { tokens } = world({ headers: async () => { throw own; } });
  await assert.rejects(tokens.token(trip), (error) => error === own);
});

test("the app's headers are asked for at each fetch, and no redirect is followed", async () => {
  const { server, tokens } = world({ headers: async () => ({ Authorization: "Bearer session" }) });
  await tokens.token(trip);
  const { init } = server.requests[0];
  assert.equal(init.headers.Authorization, "Bearer session");
  assert.equal(init.redirect, "manual");
  assert.equal(init.cache, "no-store");
});

test("a server that redirects is told as one that is to be named by its final address", async () => {
  const asked = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    response.writeHead(302, { Location: "/login" }).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const tokens = new FleetTokens({ url: `http://127.0.0.1:${server.address().port}` });
    await assert.rejects(tokens.token(trip), { code: "invalidAnswer", status: 302, message: /redirect.*final address/ });
    assert.deepEqual(asked, ["/token/consumer/trip-7"]);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

test("a redirect that a browser shows without its status is told alike", async () => {
  const { server, tokens } = world();
  // As the answer of a redirect, this one has the status 0.
  server.plan = () => Response.error();
  await assert.rejects(tokens.token(trip), (error) => error.code === "invalidAnswer" && error.status === undefined
    && /redirect, .*final address/.test(error.message));
});

test("another user of the app gets neither tokens nor waits of the one before", async () => {
  const { server, tokens } = world();
  const first = await tokens.token(trip);
  tokens.forget();
  const second = await tokens.token(trip);
  assert.notEqual(second.token, first.token);
  assert.equal(server.requests.length, 2);
  // What the one before still holds is none of the other's.
  tokens.invalidate(trip, first.token);
  assert.deepEqual(await tokens.token(trip), second);
  const other = { kind: "consumer", id: "trip-8" };
  server.plan = () => new Response("", { status: 401, headers: { "Retry-After": "60" } });
  for (let call = 0; call < 2; call += 1) await assert.rejects(tokens.token(other), { code: "refused" });
  assert.equal(server.requests.length, 3);
  server.plan = () => server.grant();
  tokens.forget();
  await tokens.token(other);
  assert.equal(server.requests.length, 4);
});

test("what is fetched for the user before is kept for nobody", async () => {
  const { clock, server, tokens } = world();
  let open;
  server.gate = new Promise((resolve) => { open = resolve; });
  const early = assert.rejects(tokens.token(trip), { code: "unavailable", message: /forgotten/ });
  tokens.forget();
  const late = [tokens.token(trip), tokens.token(trip)];
  open();
  await early;
  const [one, same] = await Promise.all(late);
  assert.equal(one.token, same.token);
  assert.equal(server.requests.length, 2, "who asked after it shares a fetch of its own");
  assert.deepEqual(await tokens.token(trip), one);
  // A refresh in the background, likewise.
  server.gate = new Promise((resolve) => { open = resolve; });
  await clock.advance(2900);
  assert.equal((await tokens.token(trip)).token, one.token);
  assert.equal(server.requests.length, 3);
  tokens.forget();
  open();
  await settle();
  const next = await tokens.token(trip);
  assert.equal(server.requests.length, 4);
  assert.notEqual(next.token, one.token);
});

test("a fetch that fails for the user before makes the next wait for nothing", async () => {
  const { server, tokens } = world();
  let open;
  server.gate = new Promise((resolve) => { open = resolve; });
  server.plan = () => new Response("", { status: 401 });
  const early = assert.rejects(tokens.token(trip), { code: "refused" });
  tokens.forget();
  open();
  await early;
  server.plan = () => server.grant();
  assert.equal((await tokens.token(trip)).expiresInSeconds, 3300);
});

test("the Maps library's context decides about the token", async () => {
  const { server, tokens } = world();
  const { authTokenFetcher } = tokens;
  const answer = await authTokenFetcher({ serviceType: "TRIP_SERVICE", context: { tripId: "trip-7" } });
  assert.deepEqual(Object.keys(answer).sort(), ["expiresInSeconds", "token"]);
  await authTokenFetcher({ context: { trackingId: "shp 1" } });
  await authTokenFetcher({ context: { deliveryVehicleId: "dv-1", taskId: "t-1" } });
  await authTokenFetcher({ context: { vehicleId: "veh-1" } });
  await authTokenFetcher({ serviceType: "TASK_SERVICE", context: {} });
  assert.deepEqual(server.requests.map((request) => new URL(request.url).pathname + new URL(request.url).search), [
    "/token/consumer/trip-7", "/token/delivery_consumer/shp%201", "/token/delivery_driver/dv-1?task=t-1",
    "/token/driver/veh-1", "/token/fleet_reader",
  ]);
});

for (const context of [{ taskId: "t-1" }, { taskId: "t-1", deliveryVehicleId: "*" }]) {
  test(`a context that names a task and no vehicle of it gets no token: ${JSON.stringify(context)}`, async () => {
    const { server, tokens } = world();
    const call = tokens.authTokenFetcher({ serviceType: "TASK_SERVICE", context });
    await assert.rejects(call, { code: "invalidArgument", message: /deliveryVehicleId.*trackingId/ });
    assert.equal(server.requests.length, 0);
  });
}

for (const asked of [
  { serviceType: "TASK_SERVICE", context: { taskId: "*" } }, { serviceType: "DELIVERY_VEHICLE_SERVICE", context: {} },
  { serviceType: "DELIVERY_VEHICLE_SERVICE", context: { deliveryVehicleId: "*" } }, { context: { trackingId: "*", taskId: "*" } },
  { serviceType: "DELIVERY_VEHICLE_SERVICE", context: { deliveryVehicleId: "dv-1", taskId: "*" } }, {}, undefined,
]) {
  test(`a fleet reader's token is for every task and delivery vehicle: ${JSON.stringify(asked)}`, async () => {
    const { server, tokens } = world();
    await tokens.authTokenFetcher(asked);
    assert.deepEqual(server.requests.map((request) => request.url), ["https://tokens.example/token/fleet_reader"]);
  });
}

for (const asked of [
  { serviceType: "TRIP_SERVICE", context: {} }, { serviceType: "TRIP_SERVICE" }, { serviceType: "TRIP_SERVICE", context: { tripId: "*" } },
  { context: { vehicleId: "*" } }, { context: { tripId: "*", vehicleId: "*" } },
]) {
  test(`a fleet reader's token is not for every trip or vehicle: ${JSON.stringify(asked)}`, async () => {
    const { server, tokens } = world();
    await assert.rejects(tokens.authTokenFetcher(asked), { code: "invalidArgument", message: /scheduled tasks/ });
    assert.equal(server.requests.length, 0);
  });
}

test("one id of a context decides beside another that stands for everything", async () => {
  const { server, tokens } = world();
  await tokens.authTokenFetcher({ serviceType: "TRIP_SERVICE", context: { tripId: "trip-7", vehicleId: "*" } });
  await tokens.authTokenFetcher({ serviceType: "TRIP_SERVICE", context: { tripId: "*", vehicleId: "veh-1" } });
  await tokens.authTokenFetcher({ serviceType: "TASK_SERVICE", context: { trackingId: "shp-1", taskId: "*" } });
  assert.deepEqual(server.requests.map((request) => new URL(request.url).pathname), [
    "/token/consumer/trip-7", "/token/driver/veh-1", "/token/delivery_consumer/shp-1",
  ]);
});

for (const id of ["", "*", "..", undefined, 7]) {
  test(`the id ${JSON.stringify(id)} is refused without a request`, async () => {
    const { server, tokens } = world();
    await assert.rejects(tokens.token({ kind: "consumer", id }), { code: "invalidArgument" });
    assert.equal(server.requests.length, 0);
  });
}

for (const task of ["*", "..", 7]) {
  test(`the task ${JSON.stringify(task)} is refused without a request`, async () => {
    const { server, tokens } = world();
    await assert.rejects(
      tokens.token({ kind: "delivery_driver", id: "dv-1", task }), { code: "invalidArgument", message: /one task/ });
    assert.equal(server.requests.length, 0);
  });
}

for (const part of ["user:pw@", "user@"]) {
  test(`an address with ${part} is refused at once, and not repeated`, () => {
    assert.throws(
      () => new FleetTokens({ url: `https://${part}tokens.example` }),
      (error) => error.code === "invalidArgument" && /use headers/.test(error.message) && !error.message.includes("pw"));
  });
}

for (const part of ["?key=abc", "#key"]) {
  test(`an address with ${part} is refused at once, and not repeated`, () => {
    assert.throws(
      () => new FleetTokens({ url: `https://tokens.example/api${part}` }),
      (error) => error.code === "invalidArgument" && /use headers/.test(error.message) && !error.message.includes("key"));
  });
}

for (const subject of [{ kind: "consumer", id: "trip-\ud83d" }, { kind: "delivery_driver", id: "dv-1", task: "\ude00" }]) {
  test(`half a character in an id of ${subject.kind} is refused without a request`, async () => {
    const { server, tokens } = world();
    await assert.rejects(tokens.token(subject), { name: "FleetTokenError", code: "invalidArgument" });
    assert.throws(() => tokens.invalidate(subject, "token"), { name: "FleetTokenError", code: "invalidArgument" });
    assert.equal(server.requests.length, 0);
  });
}

test("tokens do not travel over plain HTTP, but on this machine", () => {
  assert.throws(() => new FleetTokens({ url: "http://tokens.example" }), { code: "invalidArgument" });
  for (const url of ["http://127.0.0.1:8080", "http://localhost", "http://[::1]:1", "https://tokens.example/a"]) {
    new FleetTokens({ url });
  }
});

const numbers = [
  "minimumLife", "refreshBefore", "fetchTimeout", "backOffBase", "backOffCap", "retryAfterLimit", "refusalsPerMinute", "capacity",
];
for (const name of [...numbers, "headers", "credentials", "fetch", "random", "clock"]) {
  test(`the option ${name} is as if it were absent when it is undefined`, async (context) => {
    const { server, tokens } = world({ [name]: undefined });
    context.mock.method(globalThis, "fetch", server.fetch);
    for (let call = 0; call < 20; call += 1) await tokens.token(trip);
    assert.equal(server.requests.length, 1);
    assert.equal(server.requests[0].init.credentials, "same-origin");
    server.plan = () => new Response("", { status: 503 });
    await assert.rejects(tokens.token({ kind: "consumer", id: "trip-8" }), { code: "unavailable", status: 503 });
  });
}

for (const [name, ...values] of [
  ["url", undefined, null, "", " ", 7, {}, "https://", "http://tokens.example"],
  ...numbers.map((name) => [name, NaN, Infinity, -Infinity, -1, 1e9, "300", null, {}]),
  ["minimumLife", 1801], ["refreshBefore", 3601], ["fetchTimeout", 0], ["backOffBase", 0], ["backOffCap", 0],
  ["refusalsPerMinute", 0, 1.5], ["capacity", 0, 1.5], ["credentials", null, "always", {}],
  ["headers", null, { Authorization: "Bearer session" }], ["fetch", null], ["random", null, 0.5], ["clock", null],
]) {
  test(`the option ${name} cannot be ${values.map((value) => inspect(value)).join(", ")}`, (context) => {
    // A page has an address, from which a relative one counts.
    globalThis.location = { href: "https://site.example/app/" };
    context.after(() => { delete globalThis.location; });
    for (const value of values) {
      assert.throws(() => world({ [name]: value }), (error) => error instanceof FleetTokenError && error.code === "invalidArgument"
        && error.message.startsWith(`${name} `) && !error.message.includes("session"), inspect(value));
    }
  });
}

test("without options it is the url that is missing", () => {
  for (const options of [undefined, null, {}]) {
    assert.throws(() => new FleetTokens(options), { code: "invalidArgument", message: /^url is missing/ });
  }
});

test("a page may name its token server by an address relative to its own, or by a URL", async (context) => {
  globalThis.location = { href: "https://site.example/app/page" };
  context.after(() => { delete globalThis.location; });
  for (const [url, asked] of [
    ["/", "https://site.example/"], ["auth", "https://site.example/app/auth/"],
    [new URL("https://tokens.example/a"), "https://tokens.example/a/"],
  ]) {
    const { server, tokens } = world({ url });
    server.plan = () => server.grant({ token: "opaque" });
    await tokens.token(trip);
    assert.equal(server.requests[0].url, `${asked}token/consumer/trip-7`);
  }
});

for (const [name, own] of [
  ["a Headers", new Headers({ Authorization: "Bearer session", "X-App": "a" })],
  ["pairs", [["Authorization", "Bearer session"], ["X-App", "a"]]],
  ["a record", { Authorization: "Bearer session", "X-App": "a" }],
]) {
  test(`the app's headers may be ${name}`, async () => {
    const { server, tokens } = world({ headers: async () => own });
    await tokens.token(trip);
    assert.deepEqual(Object.fromEntries(new Headers(server.requests[0].init.headers)), {
      accept: "application/json", authorization: "Bearer session", "x-app": "a",
    });
  });
}

test("no more subjects are remembered than allowed", async () => {
  const { server, tokens } = world({ capacity: 2 });
  for (const id of ["a", "b", "c", "a"]) await tokens.token({ kind: "consumer", id });
  assert.equal(server.requests.length, 4);
  await tokens.token({ kind: "consumer", id: "c" });
  assert.equal(server.requests.length, 4);
});

test("callers share one fetch also above the number of subjects that are remembered", async () => {
  const { server, tokens } = world();
  let open;
  server.gate = new Promise((resolve) => { open = resolve; });
  const subjects = Array.from({ length: 101 }, (_, number) => ({ kind: "consumer", id: `trip-${number}` }));
  const calls = [1, 2, 3].flatMap(() => subjects.map((subject) => tokens.token(subject)));
  await settle();
  assert.equal(server.requests.length, 101);
  open();
  await Promise.all(calls);
  await tokens.token(subjects[100]);
  assert.equal(server.requests.length, 101);
  await tokens.token({ kind: "consumer", id: "another" });
  await tokens.token(subjects[0]);
  assert.equal(server.requests.length, 103, "the oldest are forgotten when nobody waits for them any more");
});
