// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Where calls depart from the documentation though the service lets them pass, by rule.

import { Listbox, byID, el, fill, setText } from "./dom.js";
import { ago, clockTime, count, dayOf, emptyWords, roleWords, subjectWords } from "./words.js";

const words = {
  real: "Where calls depart from the documentation. The service lets it pass, and so does this engine; with --profile strict it tells callers, too.",
  strict: "Where calls depart from the documentation. This engine is strict: each call's answer says so, and some are refused.",
};

export class Deviations {
  /** The rule that the reader chose, or the first one that was shown; it stays when others are broken later. */
  #chosen;
  #drawn = "";
  #box = new Listbox(byID("deviation-list"), {
    key: (it) => it.id,
    isChosen: (it) => it.id === this.#chosen,
    choose: (it) => this.choose(it.id),
    create: (it) => [
      el("i", { class: "code" }), el("span", { class: "body" }, el("strong", {}, it.id), el("small", {}, it.what)),
      el("span", { class: "aside" }),
    ],
    update: (row, it) => {
      setText(row.children[0], `${it.count} ×`);
      setText(row.children[2], it.last > 0 ? ago(it.last, this.live.now) : "");
    },
  });

  constructor(live, profile) {
    this.live = live;
    setText(byID("deviation-words"), words[profile] ?? words.real);
    byID("deviation-filter").oninput = () => this.draw();
  }

  /** How many rules are not kept. */
  get ruleCount() {
    return this.live.state.rules.size;
  }

  choose(rule) {
    this.#chosen = rule;
    this.draw();
    this.#box.reveal();
  }

  move(step) {
    this.#box.move(step);
  }

  /** The rules with what is shown of each, the last seen first. Where only some of it fits the filter, that is counted. */
  #rules() {
    const wanted = byID("deviation-filter").value.trim().toLowerCase();
    const found = new Map();
    for (const it of this.live.state.deviations.values()) {
      if (!found.has(it.rule)) found.set(it.rule, []);
      found.get(it.rule).push(it);
    }
    return [...this.live.state.rules.values()].map((rule) => {
      const isWhole = `${rule.id} ${rule.what}`.toLowerCase().includes(wanted);
      const findings = (found.get(rule.id) ?? []).filter((it) => isWhole || textOf(it).includes(wanted))
        .sort((a, b) => b.last - a.last || a.id.localeCompare(b.id));
      const calls = isWhole ? rule.count : findings.reduce((sum, it) => sum + it.count, 0);
      return { ...rule, findings, count: calls, last: findings[0]?.last ?? 0 };
    }).filter((it) => it.count > 0).sort((a, b) => b.last - a.last || a.id.localeCompare(b.id));
  }

  draw() {
    const rules = this.#rules();
    const chosen = rules.find((it) => it.id === this.#chosen) ?? rules[0];
    this.#chosen = chosen?.id;
    byID("deviation-note").hidden = !this.live.truncated.includes("deviation");
    this.#box.draw(rules, emptyWords(this.live, this.live.state.rules.size > 0, "Nothing departs from the documentation so far."));
    this.#drawDetail(chosen);
  }

  #drawDetail(chosen) {
    const node = byID("deviation-detail");
    const { now } = this.live;
    const drawn = chosen ? JSON.stringify([dayOf(now), chosen]) : "";
    if (this.#drawn === drawn) return;
    this.#drawn = drawn;
    if (!chosen) return node.replaceChildren();
    fill(node,
      el("h2", {}, chosen.id), el("p", { class: "lead" }, chosen.what), el("p", {}, chosen.why), el("p", { class: "fix" }, chosen.fix),
      el("dl", { class: "facts" },
        el("div", {}, el("dt", {}, "source"), el("dd", {}, chosen.source)),
        el("div", {}, el("dt", {}, "in strict"), el("dd", {}, chosen.isRefusedInStrict ? "refused" : "a warning"))),
      el("ul", { class: "findings" }, chosen.findings.slice(0, 50).map((it) => el("li", {},
        el("b", {}, subjectWords(it.subject)), ` ${count(it.count, "call")} since ${clockTime(it.first, now)}, the last at ${clockTime(it.last, now)}`,
        el("small", {}, [it.method, it.role && roleWords(it.role), it.fingerprint && `token ${it.fingerprint}`].filter(Boolean).join(" · "))))),
      chosen.findings.length > 50 && el("p", { class: "hint" }, `and ${chosen.findings.length - 50} more`));
  }
}

function textOf(it) {
  return `${it.subject.kind} ${it.subject.id} ${it.role} ${it.method} ${it.fingerprint}`.toLowerCase();
}
