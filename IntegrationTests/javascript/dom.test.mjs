// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";

import { el } from "../../Sources/FleetEngine/Page/Web/dom.js";

test("an attribute of truth is there or not, and one of ARIA's says which in a word", (context) => {
  const attributes = new Map();
  const node = { setAttribute: (name, value) => attributes.set(name, String(value)), append() {} };
  globalThis.document = { createElement: () => node };
  context.after(() => { delete globalThis.document; });
  el("p", {
    hidden: true, disabled: false, title: undefined, "aria-hidden": true, "aria-expanded": false, "aria-label": "a sign", "aria-level": undefined,
  });
  assert.deepEqual(Object.fromEntries(attributes), { hidden: "", "aria-hidden": "true", "aria-expanded": "false", "aria-label": "a sign" });
});
