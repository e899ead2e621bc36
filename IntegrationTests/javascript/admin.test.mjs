// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, mock, test } from "node:test";
import { pathToFileURL } from "node:url";

// Node 18 has no global of this name.
globalThis.crypto ??= webcrypto;

const sources = new URL("../../Sources/", import.meta.url);
const now = 1_767_225_600;
const driver = "driver@acme.iam.gserviceaccount.com";
const server = "server@acme.iam.gserviceaccount.com";
const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };
const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
const published = { ...await crypto.subtle.exportKey("jwk", publicKey), kid: "k1" };
const other = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
const others = { ...await crypto.subtle.exportKey("jwk", other.publicKey), kid: "k2" };
const servers = { ...await crypto.subtle.exportKey("jwk", other.publicKey), kid: "s1" };

// The server has the script and the rules in one folder.
const folder = await mkdtemp(join(tmpdir(), "fleetpass-admin-"));
after(() => rm(folder, { recursive: true }));
const files = ["FleetTokenServer/Admin/Page/admin.js", "FleetOperation/Web/token-rules.js"];
for (const file of files) await writeFile(join(folder, file.split("/").at(-1)), await readFile(new URL(file, sources)));
await writeFile(join(folder, "package.json"), '{"type": "module"}');

/** As much of an element as the script asks of one. What is taken away or hidden loses the focus, as in a browser. */
class Element {
  listeners = new Map();
  children = [];
  value = "";
  parentElement = { tHead: { rows: [{ cells: [] }] } };
  #isHidden = false;
  constructor(name = "") { this.tagName = name.toUpperCase(); }
  get hidden() { return this.#isHidden; }
  set hidden(isHidden) { this.#isHidden = isHidden; if (isHidden) this.#blur(this); }
  focus() { document.activeElement = this; }
  attributes = new Map();
  setAttribute(name, value) { this.attributes.set(name, value); }
  addEventListener(name, listener) { this.listeners.set(name, listener); }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children.forEach((child) => this.#blur(child)); this.children = children; }
  contains(other) { return this === other || this.children.some((child) => child.contains?.(other)); }
  querySelector(name) { return [...this.#all()].find((node) => node.tagName === name.toUpperCase()) ?? null; }
  closest(selector) { return find(`${selector} of ${this.id}`); }
  *#all() { for (const child of this.children) if (child instanceof Element) yield* [child, ...child.#all()]; }
  #blur(node) { if (node.contains?.(document.activeElement)) document.activeElement = document.body; }
}

const elements = new Map();
const find = (id) => elements.get(id) ?? elements.set(id, Object.assign(new Element(), { id })).get(id);
const asked = [];
/** How far this machine's clock is ahead of the server's, in seconds. */
let ahead = 0;
mock.method(Date, "now", () => (now + ahead) * 1000);
const dated = (seconds, others) => ({ headers: { Date: new Date(seconds * 1000).toUTCString(), ...others } });
globalThis.document = { getElementById: find, createElement: (name) => new Element(name), body: new Element("body") };
find("sign-in").append(find("secret"));
/** What forms hold: what a test put there. */
globalThis.FormData = class {
  constructor(form) { this.fields = form.fields ?? {}; }
  [Symbol.iterator]() { return Object.entries(this.fields)[Symbol.iterator](); }
};
const pathOf = (account) => `/.well-known/jwks/${encodeURIComponent(account)}`;
const keySets = new Map([
  ["/.well-known/jwks.json", [others, published, servers]], [pathOf(driver), [others, published]], [pathOf(server), [servers]],
]);
/** What answers requests in place of the key sets. */
let answering;
globalThis.fetch = async (path, init) => {
  asked.push(path);
  if (answering) return answering(path, init);
  return keysAnswer(path);
};
function keysAnswer(path, init = dated(now)) {
  const keys = keySets.get(path);
  return keys ? Response.json({ keys }, init) : Response.json({ detail: "unknown" }, { ...init, status: 404 });
}
/** What the page does after some time, such as reading a token again; it does so where a test calls for it. */
const later = [];
const { setTimeout } = globalThis;
globalThis.setTimeout = (run) => later.push(run);
await import(pathToFileURL(join(folder, "admin.js")));

/** What the inspector says of a token, each as `[good | bad | "", words]`. */
async function findings(token) {
  find("token").value = token;
  await find("token").listeners.get("input")();
  return shownFindings();
}

function shownFindings() {
  return find("findings").children.map(({ className = "", children, textContent }) => [className, textContent ?? children.join("")]);
}

const part = (value) => Buffer.from(value instanceof ArrayBuffer ? value : typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const header = { alg: "RS256", typ: "JWT", kid: "k1" };
const claims = {
  iss: driver, sub: driver, aud: "https://fleetengine.googleapis.com/", iat: now - 300, exp: now + 3300,
  authorization: { vehicleid: "veh-1" },
};

async function signed(header, claims) {
  const input = `${part(header)}.${part(claims)}`;
  return `${input}.${part(await crypto.subtle.sign(algorithm, privateKey, Buffer.from(input)))}`;
}

const bad = (found) => found.filter(([name]) => name === "bad").map(([, text]) => text);

/** Signs in; what the server answers is decided by `answer`. */
async function signIn(answer) {
  answering = answer;
  find("secret").value = "the secret";
  await submit("sign-in");
}

/** Submits a form that holds some fields. */
async function submit(id, fields = {}) {
  const form = Object.assign(find(id), { fields, reset() {} });
  form.listeners.get("submit")({ preventDefault() {}, target: form });
  await settle();
}

/** The text of an element and all that is in it. */
const textOf = (node) => (typeof node === "string" ? node : node.children.map(textOf).join(" "));
const message = () => [find("message").className, find("message").textContent];

/** Lets everything run that waits for nothing but promises. */
const settle = () => new Promise((resolve) => setTimeout(resolve));

test("an answer that is no JSON is told by its status", async (context) => {
  context.after(() => { answering = undefined; });
  for (const [status, said] of [
    [200, "The server answered with 200, and not in JSON."], [502, "The server answered with 502, and not in JSON."],
    [401, "The server answered with 401, and not in JSON."],
  ]) {
    await signIn(async () => new Response("<html>Bad gateway</html>", { status }));
    assert.deepEqual(message(), ["bad", said]);
  }
  assert.equal(find("records").hidden, true, "after a 401 the page is closed");
  await signIn(async () => Response.json({ detail: "The store is away." }, { status: 503 }));
  assert.equal(find("message").textContent, "The store is away.");
});

test("a row's button ends the assignment of that row alone", async (context) => {
  context.after(() => { answering = undefined; });
  const held = { holder: "login/dora", kind: "vehicle", id: "veh-3" };
  const assignments = ["2025-12-31T22:00:00Z", "2026-01-01T06:00:00Z"].map((start) => ({ ...held, start }));
  const ended = [];
  await signIn(async (path, { body }) => {
    if (path.endsWith("/end")) ended.push(JSON.parse(body));
    return Response.json({ assignments, decisions: [], revocations: [], keys: [], ended: 1 });
  });
  assert.equal(find("message").textContent, "");
  for (const [index, { start }] of assignments.entries()) {
    const [button] = find("assignments").children[index].children.at(-1).children;
    button.listeners.get("click")();
    await settle();
    assert.deepEqual(ended.at(-1), { ...held, start });
    assert.match(find("message").textContent, /^What login\/dora had of veh-3 from .* is ended\.$/);
  }
  assert.equal(ended.length, 2);
});

test("a name can neither turn around nor hide what is said of it", async (context) => {
  context.after(() => { answering = undefined; });
  const one = { holder: "login/\u202edora", kind: "vehicle", id: "אבג-12", start: "2026-01-01T06:00:00Z" };
  await signIn(async (path) => {
    if (path.endsWith("/end")) return Response.json({ ended: 1 });
    return Response.json({ assignments: [one], decisions: [], revocations: [], keys: [], ...one });
  });
  const [holder, id] = ["login/\\u{202E}dora", "אבג-12"];
  const [row] = find("assignments").children;
  assert.match(textOf(row), /^login\/\\u\{202E\}dora vehicle אבג-12 /);
  const button = row.querySelector("button");
  assert.match(button.attributes.get("aria-label"), /^End \u2068login\/\\u\{202E\}dora\u2069 vehicle \u2068אבג-12\u2069 from /);
  button.listeners.get("click")();
  await settle();
  assert.ok(find("message").textContent.startsWith(`What \u2068${holder}\u2069 had of \u2068${id}\u2069 from `));
  await submit("assign", { holder: one.holder, kind: "vehicle", id: one.id });
  assert.equal(find("message").textContent, `\u2068${holder}\u2069 holds \u2068${id}\u2069.`);
  await signIn(async () => Response.json({ detail: "Nobody is \u202edora." }, { status: 404 }));
  assert.equal(find("message").textContent, "Nobody is \\u{202E}dora.");
  answering = undefined;
  const found = await findings(await signed(header, { ...claims, authorization: { vehicleid: "veh-\u202e1" } }));
  assert.ok(found.some(([, text]) => text === "It reaches the vehicle \u2068veh-\\u{202E}1\u2069."), found.join());
  assert.ok(find("content").textContent.includes('"veh-\\u{202E}1"'));
});

/** A server whose assignments begin at some times, and end where the page says so. */
function endingServer(starts) {
  const held = new Set(starts);
  return async (path, { body }) => {
    if (path.endsWith("/end")) held.delete(JSON.parse(body).start);
    const assignments = [...held].map((start) => ({ holder: "login/dora", kind: "vehicle", id: "veh-3", start }));
    return Response.json({ assignments, decisions: [], revocations: [], keys: [], ended: 1 });
  };
}
const starts = ["2026-01-01T06:00:00Z", "2026-01-02T06:00:00Z", "2026-01-03T06:00:00Z"];
const endButton = (row) => find("assignments").children[row].querySelector("button");

test("who ends an assignment with the keyboard goes on where it was", async (context) => {
  context.after(() => { answering = undefined; });
  await signIn(endingServer(starts));
  const end = async (row) => {
    const button = endButton(row);
    button.focus();
    button.listeners.get("click")();
    await settle();
    assert.match(find("message").textContent, /is ended/);
  };
  await end(1);
  assert.equal(document.activeElement, endButton(1));
  // Where no row has that place, the table that scrolls has the focus.
  const region = find(".rows of assignments");
  await end(1);
  assert.equal(document.activeElement, region);
  await end(0);
  assert.equal(textOf(find("assignments")), "Nobody holds anything.");
  assert.equal(document.activeElement, region);
});

test("a table that changes takes the focus from nobody who is elsewhere", async (context) => {
  context.after(() => { answering = undefined; });
  await signIn(endingServer(starts));
  const button = endButton(0);
  button.focus();
  button.listeners.get("click")();
  find("token").focus();
  await settle();
  assert.equal(document.activeElement, find("token"));
});

test("a key that is held ends one assignment, and not those that come in its place", async (context) => {
  context.after(() => { answering = undefined; });
  await signIn(endingServer(starts));
  const isPassed = (repeat) => {
    let isPassed = true;
    endButton(0).listeners.get("keydown")({ repeat, preventDefault() { isPassed = false; } });
    return isPassed;
  };
  assert.deepEqual([isPassed(false), isPassed(true)], [true, false]);
});

test("who signs in is at the beginning of what opens, unless they are elsewhere by then", async (context) => {
  context.after(() => { answering = undefined; });
  const signInFrom = async (id) => {
    find("sign-out").listeners.get("submit")({ preventDefault() {} });
    assert.equal(document.activeElement, find("secret"));
    find(id).focus();
    await signIn(endingServer(starts));
    return document.activeElement;
  };
  assert.equal(await signInFrom("secret"), find("assignments-title"));
  assert.equal(await signInFrom("token"), find("token"));
  const html = await readFile(new URL("FleetTokenServer/Admin/Page/admin.html", sources), "utf8");
  assert.match(html, /<h2 id="assignments-title" tabindex="-1">/);
  assert.match(html, /<div class="rows" tabindex="0"[^>]*>\s*<table>(?:(?!<\/table>)[^])*<tbody id="assignments">/);
});

/** Holds answers back until it is opened. */
function gate() {
  let release;
  const isOpen = new Promise((resolve) => { release = resolve; });
  return { isOpen, open: async () => { release(); await settle(); } };
}

/** A server whose lists hold one entry: who was asked for. An answer can be held back, or be a refusal. */
function slowServer() {
  const gates = new Map();
  const refused = new Set();
  const answer = async (path) => {
    const parameters = new URLSearchParams(path.split("?")[1]);
    const name = parameters.get("holder") ?? parameters.get("subject") ?? "everybody";
    await gates.get(name)?.isOpen;
    if (refused.has(name)) return Response.json({ detail: `There is no ${name}.` }, { status: 400 });
    const record = { time_ms: 0, caller: name, subject: name, role: "driver", claims: {}, decision: "granted" };
    const one = { holder: name, kind: "vehicle", id: "veh-3", start: "2026-01-01T06:00:00Z" };
    return Response.json({ assignments: [one], decisions: [{ record }], revocations: [], keys: [] });
  };
  const holdBack = (name) => gates.set(name, gate()).get(name).open;
  return { answer, holdBack, refuse: (name) => refused.add(name) };
}

for (const [form, field, table] of [["filter", "holder", "assignments"], ["search", "subject", "decisions"]]) {
  test(`a table of ${table} shows the last that was asked for, whatever is answered last`, async (context) => {
    context.after(() => { answering = undefined; });
    const server = slowServer();
    await signIn(server.answer);
    const release = server.holdBack("login/first");
    await submit(form, { [field]: "login/first" });
    await submit(form, { [field]: "login/second" });
    assert.match(textOf(find(table)), /login\/second/);
    await release();
    assert.match(textOf(find(table)), /login\/second/);
    // What became of the last question stays said, too.
    server.refuse("login/third");
    const releaseAgain = server.holdBack("login/first");
    await submit(form, { [field]: "login/first" });
    await submit(form, { [field]: "login/third" });
    await releaseAgain();
    assert.match(textOf(find(table)), /login\/second/);
    assert.deepEqual(message(), ["bad", "There is no login/third."]);
    // And what became of one before it is not.
    const releaseThird = server.holdBack("login/third");
    await submit(form, { [field]: "login/third" });
    await submit(form, { [field]: "login/fourth" });
    await releaseThird();
    assert.match(textOf(find(table)), /login\/fourth/);
    assert.deepEqual(message(), ["", ""]);
  });
}

test("a change while a filter is asked for lists by that filter, and by none that was refused", async (context) => {
  context.after(() => { answering = undefined; });
  const server = slowServer();
  await signIn(server.answer);
  const release = server.holdBack("login/dora");
  await submit("filter", { holder: "login/dora" });
  await submit("assign", { holder: "login/emil", kind: "vehicle", id: "veh-4" });
  await release();
  assert.match(textOf(find("assignments")), /login\/dora/);
  server.refuse("login/nobody");
  for (const isSlow of [false, true]) {
    const answerNobody = server.holdBack("login/nobody");
    await submit("filter", { holder: "login/nobody" });
    if (isSlow) await submit("assign", { holder: "login/emil", kind: "vehicle", id: "veh-4" });
    await answerNobody();
    assert.deepEqual(message(), ["bad", "There is no login/nobody."]);
    await submit("assign", { holder: "login/emil", kind: "vehicle", id: "veh-4" });
    assert.equal(find("message").className, "");
    assert.match(textOf(find("assignments")), /login\/dora/);
  }
});

test("a sign-in in whose place another came opens nothing", async (context) => {
  context.after(() => { answering = undefined; });
  find("sign-out").listeners.get("submit")({ preventDefault() {} });
  const [first, second] = [gate(), gate()];
  for (const { isOpen } of [first, second]) {
    await signIn(async (path) => {
      if (!path.endsWith("keys")) await isOpen;
      return Response.json({ assignments: [], decisions: [], revocations: [], keys: [] });
    });
  }
  await first.open();
  assert.equal(find("records").hidden, true);
  await second.open();
  assert.equal(find("records").hidden, false);
});

for (const hours of [-2, 2]) {
  test(`where this machine's clock is ${hours} h ahead, the server's counts`, async (context) => {
    context.after(() => { answering = undefined; ahead = 0; });
    ahead = hours * 3600;
    let endingAfter;
    await signIn(async (path) => {
      endingAfter = new URLSearchParams(path.split("?")[1]).get("ending_after") ?? endingAfter;
      return Response.json({ assignments: [], decisions: [], revocations: [], keys: [] }, dated(now));
    });
    // What an assignment that was ended just now has as its end is past, though a Date is up to two seconds old.
    assert.equal(endingAfter, new Date((now + 2) * 1000).toISOString());
    const answers = [];
    answering = async (path, init) => {
      answers.push(init.cache);
      return keysAnswer(path);
    };
    const found = await findings(await signed(header, claims));
    assert.deepEqual(bad(found), []);
    assert.ok(found.some(([, text]) => text === "Good for another 55 min 0 s."));
    assert.deepEqual(answers, ["no-store", "no-store"], "an answer that was kept has a time of before");
  });
}

test("an answer that a cache kept, or that has no time, changes no clock", async (context) => {
  context.after(() => { answering = undefined; });
  const token = await signed(header, claims);
  await findings(token);
  for (const init of [dated(now - 7200, { Age: "7200" }), {}, { headers: { Date: "yesterday" } }]) {
    answering = async (path) => keysAnswer(path, init);
    const found = await findings(token);
    assert.deepEqual([bad(found), found.some(([, text]) => text === "Good for another 55 min 0 s.")], [[], true]);
  }
});

test("a good token is explained, the account alone asked for", async () => {
  const token = await signed(header, claims);
  asked.length = 0;
  const found = await findings(token);
  assert.deepEqual(found[0], ["good", "The key k1 of this server signed it."]);
  assert.deepEqual(bad(found), []);
  const words = found.map(([, text]) => text).join("\n");
  for (const told of ["Good for another 55 min 0 s.", "the vehicle veh-1", driver]) assert.ok(words.includes(told), told);
  assert.deepEqual(asked, ["/.well-known/jwks.json", pathOf(driver)]);
  assert.match(bad(await findings(`${token.slice(0, -8)}AAAAAAAA`))[0], /^The signature does not fit the key/);
});

test("a token that ends while it is shown is good no longer, and nothing but that is told again", async (context) => {
  context.after(() => { ahead = 0; });
  const token = await signed(header, claims);
  await findings(token);
  const lines = find("findings").children;
  asked.length = 0;
  const seeAfter = async (seconds) => {
    ahead = seconds;
    await later.pop()();
    return shownFindings();
  };
  const words = (found) => found.map(([, text]) => text).filter((text) => /^Good for|expired/.test(text));
  for (const [seconds, left] of [[5, "54 min 55 s"], [3299, "1 s"]]) {
    const found = await seeAfter(seconds);
    assert.deepEqual([words(found), bad(found)], [[`Good for another ${left}.`], []]);
    assert.equal(find("findings").children, lines);
    assert.deepEqual(lines.filter((line) => line.attributes.get("aria-live") === "off").map((line) => line.textContent), words(found));
  }
  const found = await seeAfter(3300);
  assert.match(bad(found).join(), /^It expired 0 s ago/);
  assert.deepEqual(words(found).length, 1);
  assert.notEqual(find("findings").children, lines);
  assert.deepEqual(asked, [], "the keys are those that were asked for with the token");
  // What was begun with one token says nothing of the next.
  const former = later.pop();
  ahead = 0;
  await findings("a");
  await former();
  assert.equal(shownFindings().length, 1);
});

/** A server that withdraws what the page asks it to, for half an hour. */
function withdrawingServer() {
  const revocations = [];
  const ends_at = new Date((now + 1800) * 1000).toISOString();
  return async (path, init) => {
    if (path.startsWith("/.well-known/")) return keysAnswer(path);
    if (init.body) revocations.push({ ...JSON.parse(init.body), ends_at });
    return Response.json({ assignments: [], decisions: [], revocations: [...revocations], keys: [] }, dated(now));
  };
}

test("a token that is withdrawn, or whose key is, is not called good", async (context) => {
  context.after(() => { answering = undefined; ahead = 0; });
  const { kid, ...nameless } = header;
  const saidOf = (found) => found.filter(([, text]) => /withdrawn|^Good/.test(text));
  const notLooked = ["", "Whether it is withdrawn is not looked at here without the administrator's secret."];
  const notListed = ["", "Neither it nor its key is among the withdrawn tokens above."];
  const good = ["good", "Good for another 55 min 0 s."];
  for (const [kind, one, said] of [
    ["fingerprint", header, /^It is withdrawn until /], ["key", header, /^Its key k1 is withdrawn until /],
    ["key", nameless, /^Its key k1 is withdrawn until /],
  ]) {
    find("sign-out").listeners.get("submit")({ preventDefault() {} });
    const token = await signed(one, claims);
    const found = await findings(token);
    assert.deepEqual(saidOf(found), [notLooked, good]);
    await signIn(withdrawingServer());
    const seeAfter = async (seconds) => {
      ahead = seconds;
      await later.pop()();
      return shownFindings();
    };
    assert.deepEqual(saidOf(await seeAfter(0)), [notListed, good]);
    const [, fingerprint] = found.map(([, text]) => /fingerprint is (\w+)/.exec(text)).find(Boolean);
    const lines = find("findings").children;
    await submit("revoke", { kind, value: kind === "key" ? "k1" : fingerprint });
    const withdrawn = await seeAfter(0);
    assert.match(bad(withdrawn).join(), said);
    assert.equal(saidOf(withdrawn).length, 1);
    assert.notEqual(find("findings").children, lines, "a screen reader is told");
    assert.deepEqual(await findings(token), withdrawn);
    // A revocation ends when nothing of it can be alive.
    assert.deepEqual(saidOf(await seeAfter(1800)), [notListed, ["good", "Good for another 25 min 0 s."]]);
    assert.equal(bad(await seeAfter(0)).length, 1);
    find("sign-out").listeners.get("submit")({ preventDefault() {} });
    assert.deepEqual(saidOf(await seeAfter(0)), [notLooked, good]);
    // Another token's withdrawal is not this one's.
    await signIn(withdrawingServer());
    await submit("revoke", { kind, value: "another" });
    assert.deepEqual(saidOf(await seeAfter(0)), [notListed, good]);
  }
});

test("a token whose account's keys are withdrawn is not called good where its key is not known", async (context) => {
  context.after(() => { answering = undefined; });
  const account = "partner@elsewhere.example";
  const token = await signed({ ...header, kid: "p1" }, { ...claims, iss: account, sub: account });
  await signIn(withdrawingServer());
  const isGood = (found) => found.some(([, text]) => text.startsWith("Good"));
  assert.ok(isGood(await findings(token)));
  await submit("revoke", { kind: "key", value: account });
  const found = await findings(token);
  assert.match(bad(found).join(), /^It is withdrawn until .*, unless its key is known by an id\.$/);
  assert.ok(!isGood(found));
  // One that was verified has a key with an id.
  assert.ok(isGood(await findings(await signed(header, claims))));
  find("sign-out").listeners.get("submit")({ preventDefault() {} });
});

test("a token that names no key is tried with all of its account", async () => {
  const { kid, ...nameless } = header;
  assert.deepEqual((await findings(await signed(nameless, claims)))[0], ["good", "The key k1 of this server signed it."]);
  assert.match(bad(await findings(await signed({ ...header, kid: "k3" }, claims)))[0], /^kid names no key/);
});

test("a key that the server publishes is found also for a token that names another account", async () => {
  for (const account of [server, "driver@elsewhere.example"]) {
    const found = await findings(await signed(header, { ...claims, iss: account, sub: account }));
    assert.deepEqual(found[0], ["good", "The key k1 of this server signed it."]);
    assert.deepEqual(bad(found), [
      "iss is not the account that owns the signing key. Set both to the e-mail of the service account that signs.",
    ]);
  }
});

test("a token of an account without keys here is not verified, and not refused", async () => {
  const remote = "remote@acme.iam.gserviceaccount.com";
  const { kid, ...nameless } = header;
  for (const one of [nameless, { ...header, kid: "of IAM" }]) {
    const found = await findings(await signed(one, { ...claims, iss: remote, sub: remote }));
    assert.deepEqual(bad(found), []);
    assert.deepEqual(found[0], ["", `The signature was not verified: this server publishes no keys of ${remote}.`]);
    assert.ok(found.some(([name, text]) => name === "good" && text === `Made for the account ${remote}.`));
  }
  const late = await findings(await signed({ ...header, kid: "of IAM" }, { ...claims, iss: remote, sub: remote, exp: now - 1 }));
  assert.match(bad(late).join(), /^It expired 1 s ago/);
});

test("what is no token leaves nothing of the one before", async () => {
  const token = await signed(header, claims);
  for (const text of [
    "bnVsbA.bnVsbA.AAAA", `${part([])}.${part(claims)}.AAAA`, `${part(header)}.${part("7")}.AAAA`, "a", "a.b.c", `${token}=`,
    "x".repeat(13000),
  ]) {
    assert.ok((await findings(token)).length > 3);
    const found = await findings(text);
    assert.ok(found.length === bad(found).length && found.length >= 1, text.slice(0, 60));
  }
  assert.deepEqual(await findings(" "), []);
});

test("a token that the engine refuses is not called good", async () => {
  const found = await findings(await signed(header, { ...claims, iat: now + 500, exp: now + 4100 }));
  assert.match(bad(found)[0], /exp lies 4100 s ahead/);
  assert.ok(!found.some(([, text]) => text.includes("Good for")));
  const wrong = await findings(await signed(header, { ...claims, authorization: { trackingid: "t", taskid: "a" } }));
  assert.match(bad(wrong)[0], /authorization claims break a rule/);
});

test("a claim that is named like what every object has reaches nothing", async () => {
  const none = "It has no authorization claims; only an administrator's token needs none.";
  for (const [authorization, said] of [
    [{ constructor: { a: 1 } }, none], [{ toString: "veh-1" }, none], [JSON.parse('{"__proto__": {"a": 1}}'), none],
    [{ valueOf: "a", vehicleid: "veh-1" }, "It reaches the vehicle veh-1."],
  ]) {
    const found = await findings(await signed(header, { ...claims, authorization }));
    assert.deepEqual(found.map(([, text]) => text).filter((text) => text.startsWith("It ")), [said]);
  }
});
