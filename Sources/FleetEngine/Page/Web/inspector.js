// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Reads a pasted token in this page alone. The keys are asked for when the view opens, when the text was emptied and when
// the empty text gets the focus, while there is no token, and no request is made afterwards; the text is dropped when the
// view or the page is left. A token is read again each second while it is there, as it ends by itself.

import { byID, el, fill } from "./dom.js";
import { fieldWords, openedRows, requirementOf } from "./matrix.js";
import { checkList, updateChecks } from "./refusals.js";
import { inspect, latestTime, reaches } from "./token-rules.js";
import { clockTime, roleWords, visible } from "./words.js";

/** How long what was read stays as it is. In milliseconds. */
const interval = 1000;

export class Inspector {
  #keys;
  #round = 0;
  #timer;
  /** The text whose parts are shown. */
  #text = "";
  /** What was said but for the seconds in it. */
  #said = "";

  constructor(live, matrix, provider) {
    this.live = live;
    this.matrix = matrix;
    this.accounts = matrix.roles.map((role) => `${role}@${provider}.iam.gserviceaccount.com`);
    byID("token-text").oninput = () => { this.#read(); this.open(); };
    // Keys may have come since the view opened, and whoever pastes a token comes here first.
    byID("token-text").onfocus = () => this.open();
    byID("token-clear").onclick = () => { this.clear(); this.open(); };
    addEventListener("pagehide", () => this.clear());
  }

  /** Gets the keys, while there is no token to be sent anywhere. */
  async open() {
    if (byID("token-text").value !== "") return;
    this.#keys = await publishedKeys(this.accounts);
    byID("token-keys").textContent = this.#keys
      ? `Signatures are verified with the ${this.#keys.length} keys of this server.` : "This server's keys could not be had; signatures are not verified.";
    this.#read();
  }

  clear() {
    byID("token-text").value = "";
    this.#read();
  }

  async #read() {
    const text = byID("token-text").value.trim().replace(/^bearer\s+/i, "");
    const round = (this.#round += 1);
    clearTimeout(this.#timer);
    if (text === "") {
      this.#text = this.#said = "";
      byID("token-parts").replaceChildren();
      byID("token-result").replaceChildren(el("p", { class: "hint" }, "The checks show here, in the engine's order."));
      return;
    }
    const now = Math.floor(this.live.now / 1000);
    const read = await inspect(text, { now });
    const { checks, header, payload, account } = await inspect(text, { now, ...this.#keysFor(read) });
    if (round !== this.#round) return;
    this.#timer = setTimeout(() => this.#read(), interval);
    if (text !== this.#text) {
      this.#text = text;
      this.#said = "";
      byID("token-parts").replaceChildren(
        ...[["Header", header], ["Payload", payload]].filter(([, part]) => part).map(([title, part]) =>
          el("figure", {}, el("figcaption", {}, title), el("pre", {}, visible(JSON.stringify(part, undefined, 2))))));
    }
    this.#show(checks, payload, account);
  }

  /** The keys to verify a token with, or why there are none, as the rules take them. */
  #keysFor({ header, payload }) {
    const iss = nameOf(payload?.iss);
    const isPublished = ({ kid, account }) => kid === header?.kid || account === iss;
    if (!iss || !this.#keys || this.#keys.some(isPublished)) return { keys: this.#keys };
    // The engine takes accounts by other ways, too.
    return { lack: `this server publishes no keys of ${iss}; the engine has them where it trusts that account, as by --trust` };
  }

  #show(checks, payload, account) {
    const role = this.#roleOf(payload);
    const all = [...checks, role
      ? { rule: "role", outcome: "passed", detail: `${role}, by the account's name; the engine knows it from the key` }
      : { rule: "role", outcome: "unknown", detail: "the account's name names no role; the engine knows it from the key" }];
    const refused = all.find((check) => check.outcome === "refused");
    const isSigned = all.some((check) => check.rule === "signature" && check.outcome === "passed");
    const isVerified = isSigned && account !== undefined;
    const rows = role && !refused ? openedRows(this.matrix.rows, role, (rule) => reaches(payload.authorization, rule)) : undefined;
    const isIdle = rows?.length === 0;
    const verdict = refused ? "The engine would refuse it"
      : isVerified ? (isIdle ? "A valid signature, but it opens nothing" : "A good token")
      : `Nothing wrong is seen; ${isSigned ? "whose key signed it is not known here" : "the signature was not verified"}`;
    const times = isTime(payload?.iat) && isTime(payload.exp)
      ? `Issued ${clockTime(payload.iat * 1000, this.live.now)}, ends ${clockTime(payload.exp * 1000, this.live.now)}.` : "";
    const node = byID("token-result");
    const said = [verdict, times, ...all.map(({ outcome }) => outcome)].join("\n");
    if (said === this.#said) return updateChecks(node.querySelector(".checks"), all);
    this.#said = said;
    fill(node,
      el("h2", { class: refused || (isVerified && isIdle) ? "bad" : isVerified ? "good" : "" }, verdict),
      times && el("p", { class: "lead" }, times), checkList(all), rows && this.#opened(role, rows));
  }

  #roleOf(payload) {
    const name = nameOf(payload?.iss).split("@")[0];
    return this.matrix.roles.find((role) => role === name);
  }

  #opened(role, rows) {
    return el("section", { class: "opened" }, el("h3", {}, `What it opens, as ${roleWords(role)}`),
      rows.length === 0 ? el("p", {}, "Nothing: the role and the claims do not fit each other.")
        : el("ul", {}, rows.map((row) => el("li", {},
          el("b", {}, row.method), fieldWords(row) && el("small", {}, fieldWords(row)),
          el("span", {}, requirementOf(row, this.matrix.rows))))));
  }
}

/** The account that a claim names, or an empty text where it names none. */
const nameOf = (claim) => (typeof claim === "string" ? claim : "");

/** Whether a claim is Unix seconds as the engine reads them. */
const isTime = (claim) => Number.isInteger(claim) && claim >= 0 && claim <= latestTime;

/** The keys that the token server here publishes, each with the account that owns it where it is one of these. */
async function publishedKeys(accounts) {
  const keysAt = async (path) => {
    try {
      return (await (await fetch(path, { cache: "no-store", credentials: "omit" })).json()).keys;
    } catch {
      return undefined;
    }
  };
  const all = await keysAt("/.well-known/jwks.json");
  if (!all) return undefined;
  const owned = await Promise.all(accounts.map((account) => keysAt(`/.well-known/jwks/${encodeURIComponent(account)}`)));
  const owners = new Map(owned.flatMap((keys, index) => (keys ?? []).map((key) => [key.kid, accounts[index]])));
  return all.map((key) => ({ ...key, account: owners.get(key.kid) }));
}
