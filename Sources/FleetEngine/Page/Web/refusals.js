// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Refused calls, each explained check by check.

import { Listbox, byID, el, fill, setText } from "./dom.js";
import { ago, clockTime, dayOf, emptyWords, idWords, ruleName, subjectWords, visible } from "./words.js";

const signs = { passed: "✓", refused: "✗", notReached: "–", unknown: "?" };

/** A list of checks; the first that refuses is the engine's answer. */
export function checkList(checks) {
  const first = checks.findIndex((check) => check.outcome === "refused");
  return el("ol", { class: "checks" }, checks.map((check, index) =>
    el("li", { class: `${check.outcome} ${index === first ? "first" : ""}` },
      el("i", { role: "img", "aria-label": { passed: "passed", refused: "refused", notReached: "not reached", unknown: "not known here" }[check.outcome] }, signs[check.outcome]),
      el("b", {}, ruleName(check.rule)),
      el("span", {}, wordsOf(check)))));
}

/** Says of checks whose outcomes are the same what is true by now; no screen reader tells each second that goes by. */
export function updateChecks(list, checks) {
  for (const [index, check] of checks.entries()) {
    const words = list.children[index].lastElementChild;
    if (words.textContent === visible(`${check.detail}${check.fix ?? ""}`)) continue;
    words.setAttribute("aria-live", "off");
    fill(words, wordsOf(check));
  }
}

const wordsOf = (check) => [visible(check.detail), check.fix && el("em", {}, visible(check.fix))];

export class Refusals {
  /** The refusal that the reader chose, or the first one that was shown; it stays while others come and go. */
  #shown;
  #drawn;
  #drawnOn = "";
  #reasons = "";
  #box = new Listbox(byID("refusal-list"), {
    key: keyOf,
    isChosen: (it) => this.#isShown(it),
    choose: (it) => this.choose(it.id),
    create: (it) => [
      el("i", { class: `code s${it.status}` }, String(it.status)),
      el("span", { class: "body" }, el("strong", {}, it.reason), el("small", {}, `${it.method} · ${whoWords(it)}`)), el("span", { class: "aside" }),
    ],
    update: (row, it) => setText(row.children[2], ago(it.time, this.live.now)),
  });

  /**
   * @param {import("./live.js").Live} live
   * @param {string[]} roles those that can be shown in the matrix
   * @param {(method: string, role: string) => void} onPermission
   */
  constructor(live, roles, onPermission) {
    this.live = live;
    this.roles = roles;
    this.onPermission = onPermission;
    byID("refusal-filter").oninput = () => this.#filter();
    byID("refusal-reason").onchange = () => this.#filter();
  }

  choose(id) {
    this.#shown = this.live.state.refusals.get(id);
    this.draw();
    this.#box.reveal();
  }

  /** Leads to a refusal from elsewhere, also to one that the filter hides. */
  point(id) {
    byID("refusal-filter").value = "";
    byID("refusal-reason").value = "";
    this.choose(id);
    this.#box.focus();
  }

  move(step) {
    this.#box.move(step);
  }

  #isShown(it) {
    return this.#shown !== undefined && keyOf(it) === keyOf(this.#shown);
  }

  #filter() {
    if (!this.#found().some((it) => this.#isShown(it))) this.#shown = undefined;
    this.draw();
  }

  #found() {
    const wanted = byID("refusal-filter").value.trim().toLowerCase();
    const reason = byID("refusal-reason").value;
    return [...this.live.state.refusals.values()]
      .filter((it) => (!reason || it.reason === reason) && (!wanted || textOf(it).includes(wanted)))
      .sort((a, b) => b.time - a.time || b.id - a.id);
  }

  draw() {
    this.#drawReasons();
    const found = this.#found();
    this.#shown = found.find((it) => this.#isShown(it)) ?? this.#shown ?? found[0];
    this.#box.draw(found, emptyWords(this.live, this.live.state.refusals.size > 0, "Nothing was refused yet."));
    this.#drawDetail(this.#shown);
  }

  #drawReasons() {
    const reasons = [...new Set([...this.live.state.refusals.values()].map((it) => it.reason))].sort();
    if (this.#reasons === reasons.join()) return;
    this.#reasons = reasons.join();
    const select = byID("refusal-reason");
    const { value } = select;
    select.replaceChildren(el("option", { value: "" }, "any reason"), ...reasons.map((reason) => el("option", {}, reason)));
    select.value = reasons.includes(value) ? value : "";
  }

  #drawDetail(it) {
    const node = byID("refusal-detail");
    const day = dayOf(this.live.now);
    if (this.#drawn === it && this.#drawnOn === day) return;
    this.#drawn = it;
    this.#drawnOn = day;
    if (!it) return node.replaceChildren();
    const facts = [
      ["time", clockTime(it.time, this.live.now)], ["call", it.method], ["of", it.addressed && subjectWords(it.addressed)],
      ["token", it.fingerprint ?? "none"], ["signed by", it.account && visible(it.account)], ["claims", it.claims && visible(it.claims)],
    ].filter(([, value]) => value);
    const role = roleWithout(it);
    fill(node,
      el("h2", {}, el("i", { class: `code s${it.status}` }, String(it.status)), ` ${it.reason}`),
      el("p", { class: "lead" }, visible(it.message)), el("p", { class: "fix" }, visible(it.fix)),
      el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, el("code", {}, value))))),
      this.roles.includes(role) && el("p", {}, el("button", { type: "button", onclick: () => this.onPermission(it.method, role) }, "Show it in the matrix")),
      it.checks.length > 0 ? checkList(checksWithAnswer(it)) : el("p", { class: "hint" }, it.fingerprint ? "Many calls were refused in that second; this one was not explained." : "Without a token there is nothing to check."));
  }
}

/** Tells a refusal from any other: an engine that started again counts from the beginning once more. */
const keyOf = (it) => `${it.id} ${it.time}`;

/** The checks, and the answer itself where it comes from none of them, as where a script refuses. */
function checksWithAnswer(it) {
  const isExplained = it.checks.some((check) => check.reason === it.reason);
  return isExplained ? it.checks : [{ rule: "engine", outcome: "refused", detail: it.message, fix: it.fix }, ...it.checks];
}

/** The role that lacks the permission, as the checks found it; its account may have any name. */
function roleWithout(it) {
  const of = (rule) => it.checks.find((check) => check.rule === rule);
  const isFound = it.reason === "ROLE_LACKS_PERMISSION" && of("permission")?.outcome === "refused";
  return isFound ? of("role").detail : undefined;
}

function whoWords(it) {
  const name = (subject) => idWords(subject.id) || "the whole fleet";
  const who = it.subject ? name(it.subject) : it.fingerprint ? it.fingerprint.slice(0, 8) : "no token";
  return it.addressed ? `${who} → ${name(it.addressed)}` : who;
}

function textOf(it) {
  return `${it.reason} ${it.method} ${whoWords(it)} ${it.fingerprint} ${it.account} ${it.message}`.toLowerCase();
}
