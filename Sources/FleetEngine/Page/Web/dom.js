// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Makes and changes elements. Everything from outside goes in as text, never as markup.

const svgNamespace = "http://www.w3.org/2000/svg";

/** An element: `el("p", { class: "note", onclick }, "text", child)`. An attribute that is true or false is there or not. */
export function el(name, attributes = {}, ...children) {
  return build(document.createElement(name), attributes, children);
}

/** An SVG element, likewise. */
export function svg(name, attributes = {}, ...children) {
  return build(document.createElementNS(svgNamespace, name), attributes, children);
}

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    // To ARIA, nothing is neither true nor false.
    const isWord = name.startsWith("aria-");
    if (value === undefined || value === null || (value === false && !isWord)) continue;
    if (typeof value === "function") node[name] = value;
    else node.setAttribute(name, value === true && !isWord ? "" : value);
  }
  node.append(...present(children));
  return node;
}

/** Puts children in the place of those that are there; what is absent or false is left out. */
export function fill(node, ...children) {
  node.replaceChildren(...present(children));
}

function present(children) {
  return children.flat().filter((child) => child !== undefined && child !== null && child !== false && child !== "");
}

export const byID = (id) => document.getElementById(id);

/**
 * Makes a parent's children equal to a list, keeping those that are there, so that focus and scrolling survive.
 *
 * What is absent goes first, so that nothing else has to move for it; a child that has to move gets its focus back.
 *
 * @param {Element} parent
 * @param {Array} items
 * @param {(item) => string} key
 * @param {(item) => Element} create
 * @param {(node: Element, item) => void} update
 */
export function reconcile(parent, items, key, create, update) {
  const focused = parent.contains(document.activeElement) ? document.activeElement : undefined;
  const wanted = new Set(items.map(key));
  for (const node of [...parent.children]) if (!wanted.has(node.dataset.key)) node.remove();
  const old = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  let next = parent.firstElementChild;
  for (const item of items) {
    const id = key(item);
    let node = old.get(id);
    if (!node) {
      node = create(item);
      node.dataset.key = id;
    }
    update(node, item);
    if (node === next) next = next.nextElementSibling;
    else parent.insertBefore(node, next);
  }
  if (focused?.isConnected && focused !== document.activeElement) focused.focus({ preventScroll: true });
}

let optionCount = 0;

/** A list of which one entry is chosen. The focus stays on the list, which names that entry to a screen reader. */
export class Listbox {
  #node;
  #parts;
  #items = [];

  /**
   * @param {Element} node
   * @param {{key: (item) => string, isChosen: (item) => boolean, choose: (item) => void, create: (item) => Array, update: (row: Element, item) => void}} parts
   *   `create` gives what a row holds.
   */
  constructor(node, parts) {
    this.#node = node;
    this.#parts = parts;
    node.onkeydown = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
      if (!step) return;
      event.preventDefault();
      this.move(step);
    };
  }

  /** Shows items, or why there are none. */
  draw(items, nothing) {
    const { key, isChosen, choose, create, update } = this.#parts;
    this.#items = items;
    reconcile(this.#node, items, key, (item) => {
      optionCount += 1;
      return el("div", { class: "row", role: "option", id: `option-${optionCount}`, onclick: () => choose(item) }, create(item));
    }, (row, item) => {
      row.setAttribute("aria-selected", isChosen(item));
      update(row, item);
    });
    if (items.length === 0 && nothing) this.#node.append(el("p", { class: "hint" }, nothing));
    const id = this.#chosen?.id;
    if (!id) this.#node.removeAttribute("aria-activedescendant");
    else if (this.#node.getAttribute("aria-activedescendant") !== id) this.#node.setAttribute("aria-activedescendant", id);
  }

  /** Chooses the item that is so many further, and takes the focus; `Infinity` is the last, `-Infinity` the first. */
  move(step) {
    const items = this.#items;
    if (items.length === 0) return;
    const at = items.findIndex(this.#parts.isChosen);
    this.#parts.choose(items[Math.min(items.length - 1, Math.max(0, at + step))]);
    this.focus();
  }

  focus() {
    this.#node.focus({ preventScroll: true });
  }

  /** Whether what is chosen is among what is listed. */
  get showsChoice() {
    return Boolean(this.#chosen);
  }

  /** Brings the chosen row into sight. */
  reveal() {
    this.#chosen?.scrollIntoView({ block: "nearest" });
  }

  get #chosen() {
    return this.#node.querySelector("[aria-selected=true]");
  }
}

/** Puts a text in, unless it is there. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
