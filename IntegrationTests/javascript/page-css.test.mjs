// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const page = new URL("../../Sources/FleetEngine/Page/Web/page.css", import.meta.url);
const css = readFileSync(page, "utf8").replaceAll(/\/\*.*?\*\//gs, "");

/** What the rules of one selector declare, in some part of the style sheet. */
const declared = (selector, part = css) => [...part.matchAll(/([^{}]+)\{([^{}]*)\}/g)]
  .filter(([, selectors]) => selectors.split(",").some((it) => it.trim() === selector))
  .map(([, , body]) => body).join(" ");

for (const selector of ['.row[aria-selected="true"]', ".cell.chosen", ".map-sign.chosen"]) {
  test(`${selector} is seen by more than a background, which forced colours take away`, () => {
    assert.match(declared(selector), /outline: \d+px solid var\(--(accent|ink)\)/);
  });
}

test("the outline of a list's row lies within the row, as the list cuts off what is beyond it", () => {
  assert.match(declared('.row[aria-selected="true"]'), /outline-offset: -\d+px/);
});

test("where colours are forced, the view and the list that are shown are marked without one of the page's own", () => {
  const [, forced] = css.split("@media (forced-colors: active) {");
  assert.match(declared("nav a[aria-current]", forced), /text-decoration: underline/);
  assert.match(declared(".tabs button", forced), /border-color: Canvas/);
  assert.match(declared('.tabs button[aria-selected="true"]', forced), /border-color: Highlight/);
});
