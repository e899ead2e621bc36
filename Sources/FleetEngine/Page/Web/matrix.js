// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// A picture of the permission matrix, from the table that decides.

import { byID, el, setText } from "./dom.js";
import { roleWords } from "./words.js";

const signs = { claim: "●", free: "◆", no: "·" };

/** What a role can do with a row: `claim` with the right claim, `free` without any, or `no`. */
export function cellOf(row, role) {
  if (!row.roles.includes(role)) return "no";
  return row.rolesWithoutClaims.includes(role) ? "free" : "claim";
}

export function fieldWords(row) {
  if (!row.fields) return "";
  return row.fields.length > 0 ? row.fields.join(", ") : "any other field";
}

/** The rows that a call must meet for which there is this one; a method's row for every call comes on top. */
const rowsMet = (row, rows) => rows.filter((it) => it === row || (it.method === row.method && !it.fields));

/** What the claims must be for a call for which there is this row. */
export function requirementOf(row, rows) {
  return rowsMet(row, rows).map((it) => it.requirement).join(", and ");
}

/** The rows that a role with some claims opens, by the inspector's judgement of the claims. */
export function openedRows(rows, role, reaches) {
  return rows.filter((row) => {
    const cell = cellOf(row, role);
    return cell === "free" || (cell === "claim" && rowsMet(row, rows).every((it) => reaches(it.claim)));
  });
}

export class Matrix {
  #matrix;
  #focus = { row: 0, column: 0 };

  /** @param matrix what the server drew from its table */
  constructor(matrix) {
    this.#matrix = matrix;
    const { roles, rows } = matrix;
    const groups = [[false, "On-demand trips"], [true, "Scheduled tasks"]];
    const table = el("table", {},
      el("thead", {}, el("tr", {}, el("td", {}), roles.map(({ role, iam }, column) =>
        el("th", { scope: "col", "data-column": column, title: iam }, el("span", {}, roleWords(role)))))),
      groups.map(([isDelivery, title]) => el("tbody", {},
        el("tr", { class: "group" }, el("th", { colspan: roles.length + 1, scope: "rowgroup" }, title)),
        rows.map((row, index) => row.isDelivery === isDelivery && el("tr", {},
          el("th", { scope: "row" }, row.method, row.fields && el("small", { title: fieldWords(row) }, row.fields.length > 0 ? shortFields(row.fields) : "any other field")),
          roles.map(({ role }, column) => el("td", {}, el("button", {
            type: "button", class: `cell ${cellOf(row, role)}`, tabindex: -1, "data-row": index, "data-column": column,
            "aria-label": `${row.method} ${fieldWords(row)}, ${roleWords(role)}: ${{ claim: "with the claim", free: "without any claim", no: "no" }[cellOf(row, role)]}`,
            onclick: () => this.#choose(index, column, true),
          }, signs[cellOf(row, role)]))))))));
    table.onkeydown = (event) => this.#onKey(event);
    table.onmouseover = (event) => this.#light(event.target.closest("[data-column]")?.dataset.column);
    byID("matrix-grid").replaceChildren(table, el("ul", { class: "legend flat" },
      el("li", {}, el("b", { class: "cell claim" }, signs.claim), "with the right claim"),
      el("li", {}, el("b", { class: "cell free" }, signs.free), "without any claim"),
      el("li", {}, el("b", { class: "cell no" }, signs.no), "never")));
    this.#choose(0, 0, false);
  }

  /** Points at what a role may not do: at the first such row of a method, or at its first where there is none. */
  point(method, role) {
    const { rows, roles } = this.#matrix;
    const ofMethod = rows.filter((it) => it.method === method);
    const row = ofMethod.find((it) => cellOf(it, role) === "no") ?? ofMethod[0];
    const column = roles.findIndex((it) => it.role === role);
    if (row && column >= 0) this.#choose(rows.indexOf(row), column, true);
  }

  get rows() {
    return this.#matrix.rows;
  }

  get roles() {
    return this.#matrix.roles.map(({ role }) => role);
  }

  #cell(row, column) {
    return byID("matrix-grid").querySelector(`.cell[data-row="${row}"][data-column="${column}"]`);
  }

  #choose(row, column, moveFocus) {
    this.#cell(this.#focus.row, this.#focus.column).tabIndex = -1;
    this.#focus = { row, column };
    const cell = this.#cell(row, column);
    cell.tabIndex = 0;
    for (const node of byID("matrix-grid").querySelectorAll(".chosen")) node.classList.remove("chosen");
    cell.classList.add("chosen");
    this.#light(column);
    const words = byID("matrix-words");
    setText(words, this.#words(this.#matrix.rows[row], this.#matrix.roles[column]));
    if (words.offsetHeight > 0) words.parentNode.style.setProperty("--words", `${words.offsetHeight}px`);
    if (!moveFocus) return;
    cell.focus({ preventScroll: true });
    cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  #light(column) {
    for (const node of byID("matrix-grid").querySelectorAll("[data-column]")) node.classList.toggle("lit", node.dataset.column === String(column));
  }

  #words(row, { role, iam, permissions }) {
    const call = row.method + (row.fields ? ` (${fieldWords(row)})` : "");
    const lacking = row.permissions.filter((it) => !permissions.includes(it)).map((it) => `fleetengine.${it}`);
    const who = `${roleWords(role)}, ${iam ?? "no IAM role"},`;
    switch (cellOf(row, role)) {
      case "no": return `${who} may not call ${call}: it lacks ${lacking.join(" and ")}.`;
      case "free": return `${who} may call ${call} without any claim.`;
      default: return `${who} may call ${call}; ${requirementOf(row, this.#matrix.rows)}.`;
    }
  }

  #onKey(event) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const { rows, roles } = this.#matrix;
    const order = rows.map((_, index) => index).sort((a, b) => rows[a].isDelivery - rows[b].isDelivery || a - b);
    const at = order.indexOf(this.#focus.row);
    const row = order[Math.min(rows.length - 1, Math.max(0, at + step[0]))];
    this.#choose(row, Math.min(roles.length - 1, Math.max(0, this.#focus.column + step[1])), true);
  }
}

function shortFields(fields) {
  return fields.length > 2 ? `${fields.slice(0, 2).join(", ")} … ${fields.length} fields` : fields.join(", ");
}
