// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import { inspect as examine } from "./token-rules.js";

const find = (id) => document.getElementById(id);
// Kept in this page's memory alone; a reload forgets it.
let secret = "";
/// Counts how often the secret changed; an answer to what was asked with another is thrown away.
let session = 0;
/// The filter by which assignments are listed, and the last one that was answered.
let wanted = {};
let shown = wanted;
/// How often each table was asked for; only the answer to the last question is shown.
const questions = new Map();
/// As many as the server lists at most.
const mostAssignments = 1000;
/// How far the server's clock is ahead of this machine's, as its answers tell. In milliseconds.
let ahead = 0;
/// What is withdrawn, as it was listed last; `undefined` where nobody is signed in.
let withdrawn;
/// How far an answer's Date may lag behind that clock: it is cut to a second, and made once a second. In milliseconds.
const dateLag = 2000;

// MARK: Requests

/// Takes a secret, or none.
function use(text) {
  secret = text;
  session += 1;
}

/// The time by the server's clock, in Unix milliseconds: assignments and tokens end by it.
const serverTime = () => Date.now() + ahead;

/// Takes the time from an answer of the server; one that a cache kept has a time of before.
function readClock({ headers }) {
  const time = Date.parse(headers.get("Date"));
  if (Number.isFinite(time) && !headers.has("Age")) ahead = time - Date.now();
}

async function call(path, body) {
  if (!secret) throw new Error("Enter the administrator's secret.");
  const begun = session;
  const answer = await fetch(`/admin/api/${path}`, {
    method: body ? "POST" : "GET",
    headers: { Authorization: `Bearer ${secret}`, ...(body && { "Content-Type": "application/json" }) },
    body: body && JSON.stringify(body),
    cache: "no-store",
    credentials: "omit",
  });
  readClock(answer);
  // A proxy before the server may answer with a page of its own.
  const content = await answer.json().catch(() => undefined);
  if (session !== begun) throw new Error("The page was closed before the server answered.");
  if (answer.ok && content) return content;
  if (answer.status === 401) close();
  throw new Error(visible(content?.detail ?? "") || `The server answered with ${answer.status}${content ? "" : ", and not in JSON"}.`);
}

/// A query as the server reads it, to which a plus is a plus and no space.
const query = (parameters) => String(new URLSearchParams(parameters)).replaceAll("+", "%20");

function say(text, isBad = false) {
  find("message").textContent = text;
  find("message").className = isBad ? "bad" : "";
}

/// Does something that can fail, and says what came of it.
async function attempt(action) {
  // Not at its end: what was begun later may have said something by then.
  say("");
  try {
    const text = await action();
    if (text) say(text);
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

/// A text from outside in which marks that would turn the direction of writing are seen, as `\u{202E}`.
function visible(text) {
  return text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (mark) => `\\u{${mark.codePointAt(0).toString(16).toUpperCase()}}`);
}

/// A name as it stands in a sentence, whose other words stay where they are whatever the name is written in.
const nameWords = (name) => /^[ -~]*$/.test(name) ? name : `\u2068${visible(name)}\u2069`;

const code = (text) => element("code", visible(text ?? ""));
const longCode = (text) => element("code", visible(text), "long");

const timeWords = (value) => new Date(value).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });

function moment(value) {
  if (value === undefined) return "";
  const node = element("time", timeWords(value));
  node.dateTime = new Date(value).toISOString();
  return node;
}

/// Puts rows in the place of a table's. Where one of those had the focus, the row that comes in its place gets it.
function fill(id, rows, empty) {
  const body = find(id);
  const lines = rows.map((cells) => element("tr", cells.map((cell) => cell.tagName === "TD" ? cell : element("td", cell))));
  if (!lines.length) {
    const cell = element("td", empty, "empty");
    cell.colSpan = body.parentElement.tHead.rows[0].cells.length;
    lines.push(element("tr", cell));
  }
  const focused = [...body.children].findIndex((line) => line.contains(document.activeElement));
  body.replaceChildren(...lines);
  if (focused < 0) return;
  (lines[focused]?.querySelector("button") ?? body.closest(".rows")).focus();
}

/// What a table is to show; `undefined` where it was asked for once more meanwhile, as by another filter.
async function list(id, path = id) {
  const question = (questions.get(id) ?? 0) + 1;
  questions.set(id, question);
  const begun = session;
  const isLast = () => questions.get(id) === question;
  try {
    const content = await call(path);
    return isLast() ? content[id] : undefined;
  } catch (error) {
    // That the page was closed counts for whatever was asked for before.
    if (isLast() || session !== begun) throw error;
  }
}

async function showAssignments(filter = wanted) {
  // At once, so that what changes meanwhile is listed by it, too.
  wanted = filter;
  // What was ended just now is over, however far its answer's Date lagged behind.
  const end = new Date(serverTime() + dateLag).toISOString();
  const path = `assignments?${query({ limit: String(mostAssignments), ending_after: end, ...filter })}`;
  const assignments = await list("assignments", path).catch((error) => {
    wanted = shown;
    throw error;
  });
  if (!assignments) return;
  shown = filter;
  fill("assignments", assignments.map((one) => {
    const button = element("button", "End");
    const [holder, id] = [nameWords(one.holder), nameWords(one.id)];
    button.setAttribute("aria-label", `End ${holder} ${one.kind} ${id} from ${timeWords(one.start)}`);
    button.addEventListener("click", () => attempt(async () => {
      // Without its start, whatever the holder has of it ends, other shifts too.
      await call("assignments/end", { holder: one.holder, kind: one.kind, id: one.id, start: one.start });
      await showAssignments();
      return `What ${holder} had of ${id} from ${timeWords(one.start)} is ended.`;
    }));
    // The key that pressed it may be held still when another row's button has come in its place.
    button.addEventListener("keydown", (event) => { if (event.repeat) event.preventDefault(); });
    return [longCode(one.holder), one.kind.replace("_", " "), longCode(one.id), moment(one.start),
      one.end ? moment(one.end) : "open", element("td", button, "action")];
  }), Object.keys(filter).length ? "There is none." : "Nobody holds anything.");
  find("assignments-note").hidden = assignments.length < mostAssignments;
}

async function showDecisions() {
  const decisions = await list("decisions", `decisions?${query({ limit: "50", ...fields(find("search")) })}`);
  if (!decisions) return;
  fill("decisions", decisions.map(({ record }) => [
    moment(record.time_ms),
    longCode(record.subject === record.caller ? record.caller : `${record.caller} (${record.issuer}/${record.subject})`),
    record.role.replaceAll("_", " "), longCode(JSON.stringify(record.claims)),
    element("span", record.decision, record.decision === "granted" ? "good" : "bad"),
    visible([record.rule, record.reason].filter(Boolean).join(": ")), code(record.fingerprint),
  ]), "There are none.");
}

async function showRevocations() {
  const revocations = await list("revocations");
  if (!revocations) return;
  withdrawn = revocations;
  fill("revocations", revocations.map((one) => [one.kind, code(one.value), moment(one.ends_at)]), "None is withdrawn.");
}

async function showKeys() {
  const keys = await list("keys");
  if (!keys) return;
  fill("keys", keys.map((key) => [
    key.role.replaceAll("_", " "), code(key.key_id), element("span", key.state, key.state === "signing" ? "good" : ""),
    moment(key.signs_from), moment(key.retired_from),
  ]), "There are none.");
}

// MARK: Coming and going

function open() {
  const isHere = find("sign-in").contains(document.activeElement);
  find("records").hidden = false;
  find("sign-in").hidden = true;
  find("sign-out").hidden = false;
  if (isHere) find("assignments-title").focus();
}

function close() {
  use("");
  withdrawn = undefined;
  find("records").hidden = true;
  find("sign-in").hidden = false;
  find("sign-out").hidden = true;
  for (const id of ["assignments", "decisions", "revocations", "keys"]) find(id).replaceChildren();
  find("secret").focus();
}

onSubmit("sign-in", async () => {
  use(find("secret").value.trim());
  find("secret").value = "";
  // First what asks for no time: its answer tells the server's.
  await showKeys();
  await Promise.all([showAssignments(), showDecisions(), showRevocations()]);
  open();
});
onSubmit("sign-out", async () => close());
onSubmit("filter", async (form) => {
  const filter = fields(form);
  if (!filter.kind !== !filter.id) throw new Error("A kind and an id go together.");
  await showAssignments(filter);
});
onSubmit("search", showDecisions);
onSubmit("assign", async (form) => {
  const assignment = fields(form);
  if (assignment.end) assignment.end = new Date(assignment.end).toISOString().replace(/\.\d+/, "");
  const added = await call("assignments", assignment);
  form.reset();
  await showAssignments();
  return `${nameWords(added.holder)} holds ${nameWords(added.id)}.`;
});
onSubmit("revoke", async (form) => {
  const { revocations, left_out: leftOut } = await call("revocations", fields(form));
  await showRevocations();
  const done = revocations.length ? `Withdrew ${revocations.length}.` : "No living token is known.";
  return leftOut ? `${done} The signed list has no room for ${leftOut}; withdraw the key.` : done;
});

// MARK: The inspector

const kinds = {
  vehicleid: "vehicle", tripid: "trip", deliveryvehicleid: "delivery vehicle", taskid: "task", taskids: "tasks",
  trackingid: "tracking id",
};

function span(seconds) {
  const minutes = Math.floor(seconds / 60);
  return minutes ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

/// The keys to verify a token with, or why there are none, as the rules take them.
async function keysFor({ header: { kid }, payload: { iss } }) {
  const keysAt = async (path) => {
    const answer = await fetch(`/.well-known/${path}`, { cache: "no-store", credentials: "omit" });
    readClock(answer);
    return answer.status === 404 ? [] : (await answer.json()).keys;
  };
  try {
    const isNamed = typeof iss === "string" && iss !== "";
    const [all, own] = await Promise.all([keysAt("jwks.json"), isNamed ? keysAt(`jwks/${encodeURIComponent(iss)}`) : []]);
    // An account may sign without any key here, through IAM.
    if (isNamed && !own.length && !all.some((key) => key.kid === kid)) return { lack: `this server publishes no keys of ${iss}` };
    return { keys: [...own.map((key) => ({ ...key, account: iss })), ...all.map((key) => ({ ...key, account: null }))] };
  } catch {
    return {};
  }
}

/// What a token's checks say, each as [holds, words]; `undefined` for what is neither good nor bad.
function explain({ checks, header, payload, keyID }, mark, now) {
  const of = (rule) => checks.find((check) => check.rule === rule);
  const isPassed = (rule) => of(rule).outcome === "passed";
  const findings = checks.filter((check) => check.outcome === "refused").map(({ detail, fix }) => [false, visible(`${detail} ${fix}`)]);
  if (isPassed("signature")) findings.unshift([true, `The key ${nameWords(keyID)} of this server signed it.`]);
  else if (payload && !findings.length) findings.push([undefined, `The signature was not verified: ${visible(of("key").detail)}.`]);
  if (!payload) return findings;
  if (isPassed("issuer")) findings.push([true, `Made for the account ${nameWords(payload.iss)}.`]);
  const withdrawal = withdrawalOf(mark, [header.kid, keyID], keyID ? undefined : payload.iss, now);
  findings.push(withdrawal);
  const isGood = isPassed("expiry") && isPassed("expiryCeiling") && findings.every(([holds]) => holds !== false);
  if (isGood) findings.push([true, `Good for another ${span(payload.exp - now)}.`]);
  if (isPassed("claims")) findings.push(...reached(payload.authorization ?? {}));
  findings.push([undefined, "What it may do there is decided by the role of the account that signed, which no token tells."]);
  if (mark) findings.push([undefined, `Its fingerprint is ${mark}.`]);
  return findings;
}

/// Whether a token is withdrawn, by its fingerprint or by its key, as far as the list of withdrawn tokens tells; keys without
/// an id of their own are withdrawn by their account, which is given where the key is not known.
function withdrawalOf(mark, keyIDs, account, now) {
  const living = (withdrawn ?? []).filter((one) => Date.parse(one.ends_at) > now * 1000);
  const token = living.find((one) => one.kind === "fingerprint" && one.value === mark);
  const key = living.find((one) => one.kind === "key" && keyIDs.includes(one.value));
  const unnamed = living.find((one) => one.kind === "key" && account !== undefined && one.value === account);
  if (token) return [false, `It is withdrawn until ${timeWords(token.ends_at)}.`];
  if (key) return [false, `Its key ${nameWords(key.value)} is withdrawn until ${timeWords(key.ends_at)}.`];
  if (unnamed) return [false, `It is withdrawn until ${timeWords(unnamed.ends_at)}, unless its key is known by an id.`];
  if (withdrawn && mark) return [undefined, "Neither it nor its key is among the withdrawn tokens above."];
  const lack = withdrawn ? "its fingerprint" : "the administrator's secret";
  return [undefined, `Whether it is withdrawn is not looked at here without ${lack}.`];
}

function reached(claims) {
  const known = Object.entries(claims).filter(([name]) => Object.hasOwn(kinds, name));
  if (!known.length) return [[undefined, "It has no authorization claims; only an administrator's token needs none."]];
  return known.map(([name, value]) => {
    const ids = [value].flat();
    return [undefined, `It reaches ${ids.includes("*") ? `every ${kinds[name]}` : `the ${kinds[name]} ${ids.map(nameWords).join(", ")}`}.`];
  });
}

async function fingerprint(token) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token)));
  return [...digest.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/// How often a token was put in; only the last one is told of.
let reading = 0;
const serverSeconds = () => Math.floor(serverTime() / 1000);

async function inspect() {
  const token = find("token").value.trim();
  const round = reading += 1;
  find("content").hidden = true;
  find("findings").replaceChildren();
  if (!token) return;
  // The account alone leaves the page, to ask for its keys; their answers tell the server's time, too.
  const read = await examine(token, { now: serverSeconds() });
  const keys = read.payload && await keysFor(read);
  const mark = read.payload && globalThis.crypto?.subtle ? await fingerprint(token) : undefined;
  // Another token may have been pasted in the meantime.
  if (round !== reading) return;
  const parts = [read.header, read.payload].filter(Boolean);
  find("content").textContent = parts.map((part) => visible(JSON.stringify(part, null, 2))).join("\n");
  find("content").hidden = !parts.length;
  await tell(round, token, keys, mark);
}

/// Tells what is found of a token by now, and each second again while it is there, as it ends by itself and may be
/// withdrawn. Where the outcomes are those of before, a screen reader is not told of the seconds that went by.
async function tell(round, token, keys, mark, told = {}) {
  const now = serverSeconds();
  const result = await examine(token, { now, ...keys });
  if (round !== reading) return;
  const findings = explain(result, mark, now);
  const outcomes = [...result.checks.map((check) => check.outcome), ...findings.map(([holds]) => holds)].join();
  const list = find("findings");
  if (outcomes !== told.outcomes) {
    list.replaceChildren(...findings.map(([holds, text]) => element("li", text, holds === undefined ? "" : holds ? "good" : "bad")));
  } else {
    for (const [index, [, text]] of findings.entries()) {
      if (text === told.findings[index][1]) continue;
      list.children[index].setAttribute("aria-live", "off");
      list.children[index].textContent = text;
    }
  }
  setTimeout(() => tell(round, token, keys, mark, { outcomes, findings }), 1000);
}

find("token").addEventListener("input", inspect);
