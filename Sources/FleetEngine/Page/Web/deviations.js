// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Where calls depart from the documentation though the service lets them pass, by rule.

import { Listbox, byID, el, fill, setText } from "./dom.js";
import { ago, clockTime, count, roleWords, subjectWords } from "./words.js";

const words = {
  real: "Where calls depart from the documentation. The service lets it pass, and so does this engine; with --profile strict it tells callers, too.",
  strict: "Where calls depart from the documentation. This engine is strict: each call's answer says so, and some are refused.",
};

export class Deviations {
  /** The rule that the reader chose, or the first one that was shown; it stays when others are broken later. */
  #chosen;
  #drawn = "";
  #box = new Listbox(byID("deviation-list"), {
    key: (it) => it.rule,
    isChosen: (it) => it.rule === this.#chosen,
    choose: (it) => this.choose(it.rule),
    create: (it) => [
      el("i", { class: "code" }), el("span", { class: "body" }, el("strong", {}, it.rule), el("small", {}, it.findings[0].what)),
      el("span", { class: "aside" }),
    ],
    update: (row, it) => {
      setText(row.children[0], `${it.count} ×`);
      setText(row.children[2], ago(it.last, this.live.now));
    },
  });

  constructor(live, profile) {
    this.live = live;
    setText(byID("deviation-words"), words[profile] ?? words.real);
    byID("deviation-filter").oninput = () => this.draw();
  }

  /** How many rules are not kept. */
  get ruleCount() {
    return new Set([...this.live.state.deviations.values()].map((it) => it.rule)).size;
  }

  choose(rule) {
    this.#chosen = rule;
    this.draw();
    this.#box.reveal();
  }

  move(step) {
    this.#box.move(step);
  }

  /** The rules with what was found of each, the last seen first. */
  #rules() {
    const wanted = byID("deviation-filter").value.trim().toLowerCase();
    const found = Map.groupBy(
      [...this.live.state.deviations.values()].filter((it) => !wanted || textOf(it).includes(wanted)), (it) => it.rule);
    return [...found].map(([rule, findings]) => ({
      rule,
      findings: findings.sort((a, b) => b.last - a.last || a.id.localeCompare(b.id)),
      count: findings.reduce((sum, it) => sum + it.count, 0),
      last: Math.max(...findings.map((it) => it.last)),
    })).sort((a, b) => b.last - a.last || a.rule.localeCompare(b.rule));
  }

  draw() {
    const rules = this.#rules();
    const chosen = rules.find((it) => it.rule === this.#chosen) ?? rules[0];
    this.#chosen = chosen?.rule;
    this.#box.draw(rules, this.live.state.deviations.size > 0 ? "Nothing fits the filter." : "Nothing departs from the documentation so far.");
    this.#drawDetail(chosen);
  }

  #drawDetail(chosen) {
    const node = byID("deviation-detail");
    const drawn = chosen ? JSON.stringify(chosen) : "";
    if (this.#drawn === drawn) return;
    this.#drawn = drawn;
    if (!chosen) return node.replaceChildren();
    const rule = chosen.findings[0];
    fill(node,
      el("h2", {}, rule.rule), el("p", { class: "lead" }, rule.what), el("p", {}, rule.why), el("p", { class: "fix" }, rule.fix),
      el("dl", { class: "facts" },
        el("div", {}, el("dt", {}, "source"), el("dd", {}, rule.source)),
        el("div", {}, el("dt", {}, "in strict"), el("dd", {}, rule.isRefusedInStrict ? "refused" : "a warning"))),
      el("ul", { class: "findings" }, chosen.findings.slice(0, 50).map((it) => el("li", {},
        el("b", {}, subjectWords(it.subject)), ` ${count(it.count, "call")} since ${clockTime(it.first)}, the last at ${clockTime(it.last)}`,
        el("small", {}, [it.method, it.role && roleWords(it.role), it.fingerprint && `token ${it.fingerprint}`].filter(Boolean).join(" · "))))),
      chosen.findings.length > 50 && el("p", { class: "hint" }, `and ${chosen.findings.length - 50} more`));
  }
}

function textOf(it) {
  return `${it.rule} ${it.what} ${it.subject.kind} ${it.subject.id} ${it.role} ${it.method} ${it.fingerprint}`.toLowerCase();
}
