// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Makes and changes elements. Everything from outside goes in as text, never as markup.

const svgNamespace = "http://www.w3.org/2000/svg";

/** An element: `el("p", { class: "note", onclick }, "text", child)`. */
export function el(name, attributes = {}, ...children) {
  return build(document.createElement(name), attributes, children);
}

/** An SVG element, likewise. */
export function svg(name, attributes = {}, ...children) {
  return build(document.createElementNS(svgNamespace, name), attributes, children);
}

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
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
 * @param {Element} parent
 * @param {Array} items
 * @param {(item) => string} key
 * @param {(item) => Element} create
 * @param {(node: Element, item) => void} update
 */
export function reconcile(parent, items, key, create, update) {
  const old = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  let next = parent.firstElementChild;
  for (const item of items) {
    const id = key(item);
    let node = old.get(id);
    if (node) {
      old.delete(id);
    } else {
      node = create(item);
      node.dataset.key = id;
    }
    update(node, item);
    if (node === next) next = next.nextElementSibling;
    else parent.insertBefore(node, next);
  }
  for (const node of old.values()) node.remove();
}

/** Puts a text in, unless it is there. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
