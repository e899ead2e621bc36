// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { test } from "node:test";

import { inspect, reaches } from "../../Sources/FleetOperation/Web/token-rules.js";

// Node 18 has no global of this name.
globalThis.crypto ??= webcrypto;

const now = 1_767_225_600;
const driver = "driver@acme.iam.gserviceaccount.com";
const server = "server@acme.iam.gserviceaccount.com";
const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) };

async function makeKey(account) {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const { kty, n, e } = await crypto.subtle.exportKey("jwk", publicKey);
  return { privateKey, published: { kty, n, e, kid: `of ${account}`, account } };
}

const keys = { [driver]: await makeKey(driver), [server]: await makeKey(server) };
const published = Object.values(keys).map((key) => key.published);

const claimsOf = (account) => ({
  iss: account, sub: account, aud: "https://fleetengine.googleapis.com/", iat: now - 300, exp: now + 3300,
  authorization: { vehicleid: "veh-1" },
});

/** A token of this payload, an object or JSON, that the driver's key signs. */
async function signed(payload, key = { kid: `of ${driver}` }) {
  const part = (bytes) => Buffer.from(bytes).toString("base64url");
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  const input = `${part(JSON.stringify({ alg: "RS256", typ: "JWT", ...key }))}.${part(text)}`;
  return `${input}.${part(await crypto.subtle.sign(algorithm, keys[driver].privateKey, Buffer.from(input)))}`;
}

/** The rules that refuse a token. */
async function refusals(token, options = { now, keys: published }) {
  return (await inspect(token, options)).checks.filter((check) => check.outcome === "refused").map((check) => check.rule);
}

test("a good token passes every check but the one of withdrawals", async () => {
  const { checks, account } = await inspect(await signed(claimsOf(driver)), { now, keys: published });
  assert.deepEqual(checks.filter((check) => check.outcome !== "passed").map((check) => check.rule), ["revocation"]);
  assert.equal(account, driver);
});

test("a key signs for the account that owns it alone", async () => {
  assert.deepEqual(await refusals(await signed(claimsOf(server))), ["issuer"]);
  // Of a key whose account is not known it cannot be told.
  const ownerless = published.map(({ account, ...key }) => key);
  const { account, checks } = await inspect(await signed(claimsOf(server)), { now, keys: ownerless });
  assert.equal(account, undefined);
  assert.ok(checks.every((check) => check.outcome !== "refused"));
});

test("a key that is known to be another account's is not the token's", async () => {
  const anothers = published.map((key) => ({ ...key, account: null }));
  const { account, checks } = await inspect(await signed(claimsOf(server)), { now, keys: anothers });
  assert.equal(account, null);
  assert.deepEqual(checks.filter((check) => check.outcome === "refused").map((check) => check.rule), ["issuer"]);
  assert.deepEqual(await refusals(await signed(claimsOf(driver), {}), { now, keys: anothers }), ["key"]);
});

test("another account's key of the id does not stand in the way of the account's own", async () => {
  const [token, other] = [await signed(claimsOf(driver)), await signed(claimsOf(server))];
  const named = (key, account) => ({ ...keys[key].published, kid: `of ${driver}`, account });
  for (const account of [server, null]) {
    for (const key of [driver, server]) {
      assert.deepEqual(await refusals(token, { now, keys: [named(key, account), ...published] }), []);
    }
    // Where it has none of its own, whose key it is is told, and otherwise that it has none.
    assert.deepEqual(await refusals(token, { now, keys: [named(driver, account)] }), ["issuer"]);
    assert.deepEqual(await refusals(token, { now, keys: [named(server, account)] }), ["key"]);
  }
  assert.deepEqual(await refusals(`${other.slice(0, -8)}AAAAAAAA`), ["key"]);
  assert.deepEqual(await refusals(`${token.slice(0, -8)}AAAAAAAA`), ["signature"]);
});

test("why there are no keys is told, and is no refusal", async () => {
  for (const [lack, detail] of [[undefined, "this server's keys could not be had"], ["they are elsewhere", "they are elsewhere"]]) {
    const { checks } = await inspect(await signed(claimsOf(driver)), { now, lack });
    assert.deepEqual(checks.filter((check) => check.outcome !== "passed").map((check) => check.rule), ["key", "signature", "revocation"]);
    assert.equal(checks.find((check) => check.rule === "key").detail, detail);
  }
});

test("what the engine does not read as strict JSON is refused", async () => {
  const text = JSON.stringify(claimsOf(driver));
  const nested = (levels) => `,"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
  for (const [ending, why] of [
    [nested(16)], [nested(17), "its nesting is too deep"], [',"a":[[],[],{},{}]}'], [',"a":"[[[[[[[[[[[[[[[[["}'],
    [',"a":"\\ud83d\\ude00"}'], [',"\\ud83d\\ude00":1}'], [',"a":"\\\\ud800"}'],
    ...['"a":"\\ud800"', '"a":"\\udc00b"', '"a":["\\ude00\\ud83d"]', '"\\ud83d":1', '"a":{"b\\udfff":1}']
      .map((member) => [`,${member}}`, "half of a surrogate pair is missing"]),
    [',"\u00e9":1,"e":2}'], [',"a":{"\u00e9":1},"e\u0301":2}'], [',"\u00e9":1,"e\u0301":2}', 'the name "\u00e9" stands twice'],
    [',"\\u00e9":1,"e\\u0301":2}', 'the name "\u00e9" stands twice'],
  ]) {
    const { checks } = await inspect(await signed(text.slice(0, -1) + ending), { now, keys: published });
    const { outcome, detail } = checks.find((check) => check.rule === "payload");
    assert.deepEqual([outcome, detail], why
      ? ["refused", `The payload is not strict JSON: ${why}.`] : ["passed", "JSON object with iss, sub, aud, iat, exp"], ending);
  }
});

test("names and accounts are the same text however their characters are composed", async () => {
  const composed = "zo\u00eb@acme.iam.gserviceaccount.com";
  const decomposed = composed.normalize("NFD");
  const keys = published.map((key) => (key.account === driver ? { ...key, account: composed } : key));
  for (const header of [{}, { kid: `of ${driver}` }]) {
    for (const [iss, sub] of [[composed, decomposed], [decomposed, composed], [decomposed, decomposed]]) {
      const token = await signed({ ...claimsOf(driver), iss, sub }, header);
      assert.deepEqual(await refusals(token, { now, keys }), []);
      assert.equal((await inspect(token, { now, keys })).account, composed);
    }
  }
});

test("without kid only the keys of the token's account are tried", async () => {
  assert.deepEqual(await refusals(await signed(claimsOf(driver), {})), []);
  assert.deepEqual(await refusals(await signed(claimsOf(server), {})), ["signature"]);
  assert.deepEqual(await refusals(await signed(claimsOf("other@acme"), {})), ["key"]);
});

test("nbf is judged as iat is", async () => {
  for (const [nbf, rules] of [
    [now, []], [now - 9000, []], [now + 600, []], [now + 601, ["issuedAt"]], ["1", ["payload"]], [null, ["payload"]], [1.5, ["payload"]],
  ]) {
    assert.deepEqual(await refusals(await signed({ ...claimsOf(driver), nbf })), rules, String(nbf));
  }
});

test("a time is a whole number that is written as one", async () => {
  const text = JSON.stringify(claimsOf(driver));
  for (const [from, to, rules] of [
    [`${now + 3300}`, `${now + 3300}.0`, ["payload"]], [`${now - 300}`, `${now - 300}.0`, ["payload"]],
    [`${now + 3300}`, "17672289e2", ["payload"]], ["{\"iss\"", "{\"nbf\":-0,\"iss\"", []],
    ["{\"iss\"", "{\"a\":{\"iat\":1.0},\"b\":[2.0],\"iss\"", []], ["{\"iss\"", "{\"a\":\"\\\"iat\\\":1.0\",\"iss\"", []],
  ]) {
    assert.ok(text.includes(from));
    assert.deepEqual(await refusals(await signed(text.replace(from, to))), rules, to);
  }
});

test("a token that lives too long is told by what makes it so", async () => {
  const detail = async (changes) => (await inspect(await signed({ ...claimsOf(driver), ...changes }), { now, keys: published }))
    .checks.find((check) => check.rule === "expiryCeiling").detail;
  assert.equal(await detail({ exp: now + 3700 }), "exp lies 3700 s ahead; at most 3600 s are allowed.");
  assert.equal(await detail({ iat: now - 4000, exp: now + 3000 }), "exp lies 7000 s after iat; at most 4200 s are allowed.");
});

/** What a rule says of a token with these changes of its payload. */
async function said(rule, changes) {
  const { checks } = await inspect(await signed({ ...claimsOf(driver), ...changes }), { now, keys: published });
  return checks.find((check) => check.rule === rule).detail;
}

test("claims that are ignored are named, and only the others are shown as claims", async () => {
  assert.equal(await said("claims", { authorization: { vehicleId: "veh-1" } }), "{}; ignored: vehicleId");
  const claims = { vehicleid: "veh-1", taskIds: ["a"], depot: 1, deliveryvehicleid: "dv-1" };
  assert.equal(await said("claims", { authorization: claims }), '{"deliveryvehicleid":"dv-1","vehicleid":"veh-1"}; ignored: depot, taskIds');
  assert.equal(await said("claims", { authorization: {} }), "{}");
});

test("a wildcard among other tasks is told by its rule", async () => {
  for (const taskids of [["*", "a"], ["a", "*"], ["*", "*"]]) {
    assert.match(await said("claims", { authorization: { taskids } }), /taskids holds "\*" beside others; .* only element\.$/);
  }
});

test("it is told whether a claim is missing, in milliseconds or of another type", async () => {
  for (const [changes, detail] of [
    [{ iat: undefined }, "iat is missing."], [{ aud: undefined }, "aud is missing."], [{ sub: undefined }, "sub is missing."],
    [{ iat: 1_795_434_251_000 }, "iat, 1795434251000, looks like milliseconds; write seconds."],
    [{ exp: 253_402_300_800 }, "exp, 253402300800, looks like milliseconds; write seconds."],
    [{ exp: 253_402_300_800_000 }, "exp is not a whole number of Unix seconds."],
    [{ iat: "1" }, "iat is not a whole number of Unix seconds."], [{ iat: -1 }, "iat is not a whole number of Unix seconds."],
    [{ iat: null }, "iat is not a whole number of Unix seconds."], [{ aud: [] }, "aud is not a string."],
  ]) assert.equal(await said("payload", changes), detail);
});

test("claims that count for nothing reach nothing", () => {
  for (const [claims, isAny] of [
    [undefined, false], [{}, false], [{ taskIds: ["a"] }, false], [{ taskids: ["a"] }, true], [{ vehicleId: "v" }, false], [{ own: "x" }, false],
    [{ tripid: "t" }, true], [{ own: "x", vehicleid: "v" }, true],
  ]) assert.equal(reaches(claims, "tripSearchedFor"), isAny);
  for (const rule of ["vehicle", "everyVehicle", "trip", "tripOrItsVehicle"]) assert.equal(reaches({ vehicleId: "v" }, rule), false);
});
