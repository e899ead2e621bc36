// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// The checks of a Fleet Engine token, in the engine's order, for a page: nothing here sends or keeps anything.
// A test compares them with `fleetpass explain` on many tokens.

const audience = "https://fleetengine.googleapis.com/";
const maximumBytes = 12 * 1024;
const lifetime = 3600;
const tolerance = 600;
const leeway = 0;
const maximumDepth = 16;
/** The latest time that is read, in Unix seconds. */
export const latestTime = 253_402_300_799;
const idClaims = ["vehicleid", "tripid", "deliveryvehicleid", "taskid", "trackingid"];

export const rules = [
  "size", "form", "encoding", "header", "algorithm", "type", "critical", "key", "signature", "payload", "claims",
  "issuer", "audience", "issuedAt", "expiry", "expiryCeiling", "revocation",
];

/** Thrown where nothing further can be read. */
class Stop extends Error {}

/**
 * Checks a token.
 *
 * @param {string} text The compact JWS.
 * @param {{now: number, keys?: (JsonWebKey & {account?: string | null})[], lack?: string}} options Unix seconds; the keys
 *   to verify with, each with the account that owns it where that is known, `null` for one other than the token's; and
 *   why there are no keys.
 * @returns {Promise<{checks: Array, header?: object, payload?: object, keyID?: string, account?: string | null}>}
 */
export async function inspect(text, { now, keys, lack = "this server's keys could not be had" }) {
  const found = new Map();
  const pass = (rule, detail) => { if (found.get(rule)?.outcome !== "refused") found.set(rule, { rule, outcome: "passed", detail }); };
  const refuse = (rule, detail, fix) => found.set(rule, { rule, outcome: "refused", detail, fix });
  const skip = (rule, detail) => found.set(rule, { rule, outcome: "notReached", detail });
  const require = (rule, holds, detail, refusal, fix) => (holds ? pass(rule, detail) : refuse(rule, refusal, fix));
  const stop = (rule, detail, fix) => { refuse(rule, detail, fix); throw new Stop(); };
  const result = {};
  try {
    const parts = readParts(text, { pass, stop });
    result.header = readObject(parts.header, (why) => stop("header", `The header is not strict JSON: ${why}.`, "Mint it with a library."));
    pass("header", "JSON object");
    checkHeader(result.header, { pass, require, refuse });
    const payload = readObject(parts.payload, () => undefined);
    await checkKey(parts, result, payload, { keys, lack }, { pass, refuse, skip });
    result.payload = readObject(parts.payload, (why) => stop("payload", `The payload is not strict JSON: ${why}.`, "Mint it with a library."));
    checkPayload(result.payload, numberTexts(new TextDecoder().decode(parts.payload)), { pass, stop });
    checkClaims(result.payload.authorization, { pass, stop });
    checkAccount(result.payload, result.account, { require });
    checkTimes(result.payload, now, { require });
    skip("revocation", "withdrawals are not looked at here");
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
  }
  return {
    ...result,
    checks: rules.map((rule) => found.get(rule) ?? { rule, outcome: "notReached", detail: "an earlier check stopped the reading" }),
  };
}

function readParts(text, { pass, stop }) {
  const bytes = new TextEncoder().encode(text).length;
  if (bytes > maximumBytes) stop("size", `The token has ${bytes} bytes; at most ${maximumBytes} are read.`, "Send one compact JWS and nothing else.");
  pass("size", `${bytes} bytes`);
  const parts = text.split(".");
  if (parts.length !== 3) stop("form", "The token is not three parts with dots between them.", "Paste all of it, and nothing else.");
  pass("form", "three parts");
  const [header, payload, signature] = parts.map(decodeBase64URL);
  if (!header || !payload || !signature) {
    stop("encoding", "A part is not base64url as RFC 7515 writes it (no padding, no other characters).", "Send the token unchanged.");
  }
  pass("encoding", "strict base64url");
  return { header, payload, signature, signed: new TextEncoder().encode(`${parts[0]}.${parts[1]}`) };
}

function checkHeader(header, { pass, require, refuse }) {
  const { alg, typ, kid } = header;
  require("algorithm", alg === "RS256", "RS256", `alg is ${typeof alg === "string" ? `"${alg.slice(0, 32)}"` : "missing"}; Fleet Engine takes RS256.`, "Sign with the service account's RSA key.");
  require("type", typ === undefined || (typeof typ === "string" && typ.toUpperCase() === "JWT"), typ ?? "absent", "typ is not JWT.", "Set typ to JWT.");
  require("critical", !("crit" in header), "none", "The token names critical header parameters; none is supported.", "Leave crit out.");
  if (kid === undefined) return;
  const size = typeof kid === "string" ? new TextEncoder().encode(kid).length : 0;
  if (size < 1 || size > 256) refuse("header", "kid is not a string of 1 to 256 bytes.", "Set kid to the key's id.");
}

async function checkKey(parts, result, payload, { keys, lack }, { pass, refuse, skip }) {
  if (!keys) {
    skip("key", lack);
    skip("signature", "no keys");
    return;
  }
  const { kid, alg } = result.header;
  // Without kid only the keys of the account are tried that the token claims to be of, and with it before all others.
  const isOwn = ({ account }) => account === undefined || isSame(account, payload?.iss);
  const named = keys.filter((key) => kid === undefined ? isOwn(key) : isSame(key.kid, kid));
  const own = typeof payload?.iss === "string" ? named.filter(isOwn) : named;
  const refuseKey = (why) => {
    refuse("key", why, "Sign with a key that is registered and not withdrawn.");
    skip("signature", "no key was found");
  };
  if (named.length === 0) {
    return refuseKey(kid === undefined ? "There is no kid, and iss has no key that this server publishes." : "kid names no key that this server publishes.");
  }
  if (!globalThis.crypto?.subtle) {
    skip("key", "this browser verifies only on pages of this machine or over https");
    skip("signature", "not verified");
    return;
  }
  if (alg !== "RS256") return skip("signature", "not RS256"), pass("key", "not asked");
  const fits = [];
  for (const key of own.length > 0 ? own : named) {
    if (await isSignedBy(key, parts)) fits.push(key);
  }
  if (fits.length === 0 && own.length === 0) return refuseKey("kid names no key of iss that this server publishes.");
  pass("key", kid === undefined ? "no kid; the issuer's keys" : `kid ${String(kid).slice(0, 64)}`);
  if (fits.length === 0) return refuse("signature", "The signature does not fit the key.", "Send the token unchanged.");
  const key = fits.find((it) => isSame(it.account, payload?.iss)) ?? fits[0];
  result.keyID = key.kid;
  result.account = key.account;
  pass("signature", `RS256 by ${String(key.kid).slice(0, 64)}${key.account ? ` (${key.account})` : ""}`);
}

async function isSignedBy({ kty, n, e }, { signature, signed }) {
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  try {
    const key = await crypto.subtle.importKey("jwk", { kty, n, e, alg: "RS256", ext: true }, algorithm, false, ["verify"]);
    return await crypto.subtle.verify(algorithm, key, signature, signed);
  } catch {
    return false;
  }
}

function checkPayload(payload, numbers, { pass, stop }) {
  for (const name of ["iss", "iat", "exp", "sub", "aud", ..."nbf" in payload ? ["nbf"] : []]) {
    const value = payload[name];
    const refuse = (what) => stop("payload", `${name}${what}.`, "Mint it with a Fleet Engine library.");
    if (!(name in payload)) refuse(" is missing");
    if (!["iat", "exp", "nbf"].includes(name)) {
      if (typeof value !== "string" || value === "") refuse(" is not a string");
      continue;
    }
    // 1767225600.0 is a whole number in JavaScript, and none to the engine.
    const isWhole = /^-?\d+$/.test(numbers.get(name));
    if (isWhole && value > latestTime && Math.floor(value / 1000) <= latestTime) refuse(`, ${value}, looks like milliseconds; write seconds`);
    if (!isWhole || value < 0 || value > latestTime) refuse(" is not a whole number of Unix seconds");
  }
  pass("payload", "JSON object with iss, sub, aud, iat, exp");
}

function checkClaims(claims, { pass, stop }) {
  if (claims === undefined) return pass("claims", "none");
  const refuse = (why) => stop("claims", `The authorization claims break a rule: ${why}.`, "Mint the token with the claims of its type only.");
  if (claims === null || typeof claims !== "object" || Array.isArray(claims)) refuse("authorization is not an object");
  for (const name of idClaims) {
    if (!(name in claims)) continue;
    if (typeof claims[name] !== "string") refuse(`${name} is not a string`);
    if (claims[name] !== "*" && !isID(claims[name])) refuse(`${name} is not an id`);
  }
  const { taskids, trackingid, taskid, deliveryvehicleid } = claims;
  if (taskids !== undefined) {
    if (!Array.isArray(taskids) || !taskids.every((id) => typeof id === "string")) refuse("taskids is not an array of strings");
    const isWildcard = taskids.length === 1 && taskids[0] === "*";
    if (!isWildcard && taskids.includes("*")) refuse('taskids holds "*" beside others; the wildcard must be its only element');
    if (!isWildcard && !taskids.every(isID)) refuse("taskids holds something that is no id");
    if (taskids.length === 0) refuse("taskids is empty");
    if (idClaims.some((name) => name in claims)) refuse("taskids stands alone");
  }
  const others = [deliveryvehicleid, taskid].filter((id) => id !== undefined);
  if (trackingid !== undefined && trackingid !== "*" && others.length > 0) refuse("trackingid is not combined with deliveryvehicleid or taskid");
  if (trackingid === "*" && others.some((id) => id !== "*")) refuse("a wildcard trackingid is combined with wildcards only");
  const isKnown = (name) => name === "taskids" || idClaims.includes(name);
  const counted = Object.fromEntries(Object.entries(claims).filter(([name]) => isKnown(name)).sort());
  const ignored = Object.keys(claims).filter((name) => !isKnown(name)).sort().map((name) => name.slice(0, 64));
  pass("claims", JSON.stringify(counted) + (ignored.length > 0 ? `; ignored: ${ignored.join(", ")}` : ""));
}

function checkAccount({ iss, sub, aud }, account, { require }) {
  require("issuer", isSame(iss, sub) && (account === undefined || isSame(iss, account)), iss,
    isSame(iss, sub) ? "iss is not the account that owns the signing key." : "sub differs from iss.",
    "Set both to the e-mail of the service account that signs.");
  require("audience", aud === audience, aud, `aud is not ${audience}.`, "Write it with the final slash, as one string.");
}

function checkTimes({ iat, exp, nbf = iat }, now, { require }) {
  const isAhead = Math.max(iat, nbf) > now + tolerance;
  require("issuedAt", !isAhead && iat >= now - lifetime - tolerance, `${now - iat} s ago`,
    !isAhead ? `iat lies ${now - iat} s back; no token lives that long.`
      : iat > now + tolerance ? `iat lies ${iat - now} s ahead; at most ${tolerance} s are tolerated.` : `nbf lies ahead by more than ${tolerance} s.`,
    isAhead ? "Set the clock of the signing server, or backdate iat." : "Mint a new token.");
  const isOver = exp + leeway <= now;
  require("expiry", !isOver && exp > iat, `${exp - now} s left`,
    isOver ? `It expired ${now - exp} s ago.` : "exp is not after iat, so that it never holds.",
    isOver ? "Fetch a new one, and refresh while 5 minutes are left." : "Set exp to iat + 3600 s.");
  require("expiryCeiling", exp <= now + lifetime + leeway && exp - iat <= lifetime + tolerance, `lifetime ${exp - iat} s`,
    exp > now + lifetime + leeway ? `exp lies ${exp - now} s ahead; at most ${lifetime} s are allowed.`
      : `exp lies ${exp - iat} s after iat; at most ${lifetime + tolerance} s are allowed.`, "Set exp to iat + 3600 s, and backdate iat.");
}

/** Whether two values are the same text to the engine, which does not tell apart how its characters are composed. */
const isSame = (one, other) => typeof one === "string" && typeof other === "string" && one.normalize() === other.normalize();

function isID(received) {
  const text = received.normalize("NFC");
  return text.length > 0 && [...text].length <= 64 && !["*", ".", ".."].includes(text)
    && !/[/:?,#\u0000-\u001f\u007f-\u009f]/u.test(text);
}

/** Strict base64url: no padding, no other characters, no bits left over. */
function decodeBase64URL(text) {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
  const again = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return again === text ? bytes : undefined;
}

function readObject(bytes, refuse) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const value = JSON.parse(text);
    if (value === null || typeof value !== "object" || Array.isArray(value)) return refuse("it is not an object");
    const fault = faultOf(text);
    return fault === undefined ? value : refuse(fault);
  } catch (error) {
    if (error instanceof Stop) throw error;
    return refuse("it cannot be read");
  }
}

/** What the engine does not read in a valid JSON text, and a parser passes over. */
function faultOf(text) {
  const levels = [];
  for (const [token, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g)) {
    if (token === "{" || token === "[") {
      levels.push(new Set());
      if (levels.length > maximumDepth) return "its nesting is too deep";
    } else if (token === "}" || token === "]") {
      levels.pop();
    } else {
      const content = JSON.parse(token.slice(0, token.lastIndexOf('"') + 1));
      if (/\p{Surrogate}/u.test(content)) return "half of a surrogate pair is missing";
      if (!colon) continue;
      const name = content.normalize();
      if (levels.at(-1).has(name)) return `the name "${name}" stands twice`;
      levels.at(-1).add(name);
    }
  }
  return undefined;
}

/** The numbers in a valid JSON object, as they are written there, by their names. */
function numberTexts(text) {
  const numbers = new Map();
  let depth = 0;
  let name;
  for (const [token, colon] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]|-?\d[\d.eE+-]*/g)) {
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") depth -= 1;
    else if (depth === 1 && colon) name = JSON.parse(token.slice(0, token.lastIndexOf('"') + 1));
    else if (depth === 1 && !token.startsWith('"')) numbers.set(name, token);
  }
  return numbers;
}

/** Whether claims could reach something by a rule of the matrix; the id itself is the caller's business. */
export function reaches(claims, rule) {
  const { vehicleid, tripid, deliveryvehicleid, taskid, taskids, trackingid } = claims ?? {};
  switch (rule) {
    case "none": return true;
    case "vehicle": case "vehicleSearched": case "vehicleOfTrip": return vehicleid !== undefined;
    case "everyVehicle": return vehicleid === "*";
    case "trip": return tripid !== undefined;
    case "tripOrItsVehicle": return tripid !== undefined || vehicleid !== undefined;
    // Any claim will do that counts to the engine.
    case "tripSearchedFor": return ["taskids", ...idClaims].some((name) => claims?.[name] !== undefined);
    case "deliveryVehicle": return deliveryvehicleid !== undefined;
    case "everyDeliveryVehicle": return deliveryvehicleid === "*";
    case "task": return taskid !== undefined;
    case "everyTask": return taskid === "*";
    case "taskList": return taskids !== undefined;
    case "tracking": return trackingid !== undefined;
    default: return false;
  }
}
