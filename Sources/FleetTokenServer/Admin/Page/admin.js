// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0
"use strict";

const find = (id) => document.getElementById(id);
// Kept in this page's memory alone; a reload forgets it.
let secret = "";

// MARK: Requests

async function call(path, body) {
  const answer = await fetch(`/admin/api/${path}`, {
    method: body ? "POST" : "GET",
    headers: { Authorization: `Bearer ${secret}`, ...(body && { "Content-Type": "application/json" }) },
    body: body && JSON.stringify(body),
    cache: "no-store",
    credentials: "omit",
  });
  const content = await answer.json();
  if (answer.ok) return content;
  if (answer.status === 401) close();
  throw new Error(content.detail || `The server answered with ${answer.status}.`);
}

function say(text, isBad = false) {
  find("message").textContent = text;
  find("message").className = isBad ? "bad" : "";
}

/// Does something that can fail, and says what came of it.
async function attempt(action, success = "") {
  try {
    const text = await action();
    say(text ?? success);
  } catch (error) {
    say(error.message, true);
  }
}

/// What a form holds, without what is empty.
const fields = (form) => Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));

function onSubmit(id, action) {
  find(id).addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(() => action(event.target));
  });
}

// MARK: Tables

function element(name, content, className = "") {
  const node = document.createElement(name);
  if (className) node.className = className;
  node.append(...[content].flat());
  return node;
}

const code = (text) => element("code", text ?? "");
const longCode = (text) => element("code", text, "long");

function moment(value) {
  if (value === undefined) return "";
  const date = new Date(value);
  const node = element("time", date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" }));
  node.dateTime = date.toISOString();
  return node;
}

function fill(id, rows, empty) {
  const lines = rows.map((cells) => element("tr", cells.map((cell) => cell.tagName === "TD" ? cell : element("td", cell))));
  if (!lines.length) {
    const cell = element("td", empty, "empty");
    cell.colSpan = find(id).parentElement.tHead.rows[0].cells.length;
    lines.push(element("tr", cell));
  }
  find(id).replaceChildren(...lines);
}

async function showAssignments() {
  const query = new URLSearchParams({ limit: "1000", ending_after: new Date().toISOString() });
  const { assignments } = await call(`assignments?${query}`);
  fill("assignments", assignments.map((one) => {
    const button = element("button", "End");
    button.setAttribute("aria-label", `End ${one.holder} ${one.kind} ${one.id}`);
    button.addEventListener("click", () => attempt(async () => {
      await call("assignments/end", { holder: one.holder, kind: one.kind, id: one.id });
      await showAssignments();
      return `${one.holder} no longer holds ${one.id}.`;
    }));
    return [code(one.holder), one.kind.replace("_", " "), longCode(one.id), moment(one.start),
      one.end ? moment(one.end) : "open", element("td", button, "action")];
  }), "Nobody holds anything.");
}

async function showDecisions() {
  const query = new URLSearchParams({ limit: "50", ...fields(find("search")) });
  const { decisions } = await call(`decisions?${query}`);
  fill("decisions", decisions.map(({ record }) => [
    moment(record.time_ms),
    longCode(record.subject === record.caller ? record.caller : `${record.caller} (${record.issuer}/${record.subject})`),
    record.role.replaceAll("_", " "), longCode(JSON.stringify(record.claims)),
    element("span", record.decision, record.decision === "granted" ? "good" : "bad"),
    [record.rule, record.reason].filter(Boolean).join(": "), code(record.fingerprint),
  ]), "There are none.");
}

async function showRevocations() {
  const { revocations } = await call("revocations");
  fill("revocations", revocations.map((one) => [one.kind, code(one.value), moment(one.ends_at)]), "None is withdrawn.");
}

async function showKeys() {
  const { keys } = await call("keys");
  fill("keys", keys.map((key) => [
    key.role.replaceAll("_", " "), code(key.key_id), element("span", key.state, key.state === "signing" ? "good" : ""),
    key.signs_from ? moment(key.signs_from) : "the beginning", moment(key.retired_from),
  ]), "There are none.");
}

// MARK: Coming and going

function open() {
  find("records").hidden = false;
  find("sign-in").hidden = true;
  find("sign-out").hidden = false;
}

function close() {
  secret = "";
  find("records").hidden = true;
  find("sign-in").hidden = false;
  find("sign-out").hidden = true;
  for (const id of ["assignments", "decisions", "revocations", "keys"]) find(id).replaceChildren();
  find("secret").focus();
}

onSubmit("sign-in", async () => {
  secret = find("secret").value.trim();
  find("secret").value = "";
  await showAssignments();
  await Promise.all([showDecisions(), showRevocations(), showKeys()]);
  open();
});
onSubmit("sign-out", async () => close());
onSubmit("search", showDecisions);
onSubmit("assign", async (form) => {
  const assignment = fields(form);
  if (assignment.end) assignment.end = new Date(assignment.end).toISOString().replace(/\.\d+/, "");
  const added = await call("assignments", assignment);
  form.reset();
  await showAssignments();
  return `${added.holder} holds ${added.id}.`;
});
onSubmit("revoke", async (form) => {
  const { revocations } = await call("revocations", fields(form));
  await showRevocations();
  return revocations.length ? `Withdrew ${revocations.length}.` : "No living token is known.";
});

// MARK: The inspector

const roles = {
  vehicleid: "vehicle", tripid: "trip", deliveryvehicleid: "delivery vehicle", taskid: "task", taskids: "tasks",
  trackingid: "tracking id",
};

function bytes(part) {
  if (!/^[A-Za-z0-9_-]+$/.test(part)) throw new Error("is not base64url");
  return Uint8Array.from(atob(part.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
}

const json = (part) => JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes(part)));

function span(seconds) {
  const minutes = Math.floor(Math.abs(seconds) / 60);
  return minutes ? `${minutes} min ${Math.abs(seconds) % 60} s` : `${Math.abs(seconds)} s`;
}

/// What a token's header and claims say, each as [holds, words]; `undefined` for what is neither good nor bad.
function explain(header, claims, now) {
  const findings = [];
  const note = (holds, text) => findings.push([holds, text]);
  note(header.alg === "RS256", `Signed with ${header.alg}${header.alg === "RS256" ? "" : "; Fleet Engine takes RS256 only"}.`);
  if (!header.kid) note(false, "It names no key (kid).");
  const audience = "https://fleetengine.googleapis.com/";
  if (claims.aud !== audience) note(false, `Its audience is ${JSON.stringify(claims.aud)}, not ${audience}.`);
  note(claims.iss && claims.iss === claims.sub,
    claims.iss === claims.sub ? `Made for the account ${claims.iss}.` : `Issuer ${claims.iss} and subject ${claims.sub} differ.`);
  const { iat, exp, nbf = iat } = claims;
  if (!Number.isInteger(iat) || !Number.isInteger(exp)) {
    note(false, "It lacks iat or exp in whole seconds.");
  } else {
    note(exp > now, exp > now ? `Good for another ${span(exp - now)}.` : `Ended ${span(now - exp)} ago.`);
    if (iat > now + 600) note(false, `Issued ${span(iat - now)} in the future.`);
    else if (!(nbf <= now + 600)) note(false, `Not good before ${span(nbf - now)} from now.`);
    if (exp - iat > 3600) note(false, `It lives ${span(exp - iat)}; an hour is the most.`);
  }
  const granted = Object.entries(claims.authorization ?? {});
  if (!granted.length) note(undefined, "It has no authorization claims; only an administrator's token needs none.");
  for (const [name, value] of granted) {
    const every = [value].flat().includes("*");
    note(undefined, `It reaches ${every ? `every ${roles[name] ?? name}` : `the ${roles[name] ?? name} ${[value].flat().join(", ")}`}.`);
  }
  note(undefined, "What it may do there is decided by the role of the account that signed, which no token tells.");
  return findings;
}

async function fingerprint(token) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
  return [...digest.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/// Whether a published key of the token's own account verifies it; only the account's key set is asked for.
async function verify(header, claims, parts) {
  const answer = await fetch(`/.well-known/jwks/${encodeURIComponent(claims.iss)}`, { credentials: "omit" });
  const { keys } = answer.ok ? await answer.json() : { keys: [] };
  const key = keys.find((one) => one.kid === header.kid);
  if (!key) return [false, `No published key of ${claims.iss} has the id ${header.kid}.`];
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("jwk", { kty: key.kty, n: key.n, e: key.e }, algorithm, false, ["verify"]);
  const signed = new TextEncoder().encode(`${parts[0]}.${parts[1]}`);
  const holds = await crypto.subtle.verify(algorithm, imported, bytes(parts[2]), signed);
  return [holds, holds ? `The key ${header.kid} of this server signed it.` : "The signature does not hold."];
}

function show(findings) {
  find("findings").replaceChildren(...findings.map(([holds, text]) =>
    element("li", text, holds === undefined ? "" : holds ? "good" : "bad")));
}

async function inspect() {
  const token = find("token").value.trim();
  find("content").hidden = true;
  if (!token) return show([]);
  const parts = token.split(".");
  if (parts.length !== 3) return show([[false, `A token has three parts with dots between; this has ${parts.length}.`]]);
  let header, claims;
  try {
    [header, claims] = [json(parts[0]), json(parts[1])];
  } catch {
    return show([[false, "Header or claims are not JSON in base64url; is the token cut off?"]]);
  }
  find("content").textContent = `${JSON.stringify(header, null, 2)}\n${JSON.stringify(claims, null, 2)}`;
  find("content").hidden = false;
  const findings = explain(header, claims, Math.floor(Date.now() / 1000));
  if (globalThis.crypto?.subtle) {
    findings.push([undefined, `Its fingerprint is ${await fingerprint(token)}.`]);
    findings.unshift(await verify(header, claims, parts).catch(() => [undefined, "The signature could not be checked."]));
  } else {
    findings.unshift([undefined, "The signature is not checked: the browser does that over HTTPS or on localhost only."]);
  }
  // Another token may have been pasted in the meantime.
  if (find("token").value.trim() === token) show(findings);
}

find("token").addEventListener("input", inspect);
