// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const readAt = (path) => readFileSync(new URL(`../../Sources/${path}`, import.meta.url), "utf8").replaceAll(/\/\*.*?\*\//gs, "");
const read = (name) => readAt(`FleetEngine/Page/Web/${name}`);
const css = read("page.css");
const forcedPart = (text) => text.split("@media (forced-colors: active) {")[1].split("\n}")[0];

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
  const forced = forcedPart(css);
  assert.match(declared("nav a[aria-current]", forced), /text-decoration: underline/);
  assert.match(declared(".tabs button", forced), /border-color: Canvas/);
  assert.match(declared('.tabs button[aria-selected="true"]', forced), /border-color: Highlight/);
});

test("where colours are forced, the signs of the legends and the steps of a share page are seen", () => {
  const forced = forcedPart(css);
  assert.match(declared(".sign", forced), /forced-color-adjust: none/);
  // Each colour of the page's own that a sign has is one of the system's then.
  const bodies = [...css.matchAll(/^\.sign\b[^{]*\{([^}]*)\}/gm)].map(([, body]) => body).join();
  const own = new Set([...bodies.matchAll(/var\((--[a-z]+)\)/g)].map(([, name]) => name));
  assert.ok(own.size > 2);
  for (const name of own) assert.match(declared(".sign", forced), new RegExp(`${name}: Canvas`));
  const steps = forcedPart(read("share.css"));
  assert.match(declared(".steps li", steps), /border-color: GrayText/);
  for (const state of ["done", "now"]) assert.match(declared(`.steps li.${state}`, steps), /border-color: Highlight/);
});

test("the legend has the map's own signs, and each has a form of its own", () => {
  const [, legend] = read("page.html").match(/<ul class="legend" aria-label="Signs on the map">(.*?)<\/ul>/s);
  const signs = [...legend.matchAll(/<i class="map-sign (\w+)" aria-hidden="true">(\w)<\/i>/g)].map(([, name, text]) => [name, text]);
  assert.deepEqual(signs, [["pickup", "P"], ["dropoff", "D"], ["stop", "1"]]);
  for (const [name, letter] of signs.slice(0, 2)) assert.match(read("map.js"), new RegExp(`\\["${name}", "${letter}", trip\\.${name}\\]`));
  // What is said of those in the legend is their size, and their colour.
  const own = [...css.matchAll(/([^{}]+)\{([^{}]*)\}/g)].filter(([, selector]) => /\.(legend|sign)\b.*\b(map-sign|pickup|dropoff|stop)\b/.test(selector));
  assert.deepEqual(own.map(([, selector]) => selector.trim()), [".legend .map-sign"]);
  assert.deepEqual([...own[0][2].matchAll(/([\w-]+):/g)].map(([, name]) => name), ["--c", "position", "width", "height", "border-width", "font-size"]);
  assert.match(declared(".map-sign"), /border-radius: 50%; border: 2\.5px solid var\(--c\)/);
  assert.match(declared(".map-sign.stop"), /border-style: dashed/);
  // A drop-off stands on its corner; a delivery vehicle, on the map as in the legend, does not.
  assert.match(declared(".map-sign.dropoff::before"), /transform: rotate\(45deg\)/);
  assert.doesNotMatch(declared(".sign.delivery"), /transform/);
});

/** The relative luminance of a colour, given as its three parts of 255. */
function luminance(colour) {
  const [red, green, blue] = colour.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

for (const [index, scheme] of ["light", "dark"].entries()) {
  test(`the status of a refusal can be read in the ${scheme}, whatever it stands on`, () => {
    const colourOf = (name) => css.match(new RegExp(`${name}: light-dark\\(#(\\w{6}), #(\\w{6})\\)`))[index + 1]
      .match(/../g).map((part) => parseInt(part, 16));
    for (const selector of [".code", ".code.s403"]) {
      const body = declared(selector);
      const [, ink] = body.match(/[^-]color: var\((--[a-z-]+)\)/);
      const [, tint, share, ground] = body.match(/background: color-mix\(in srgb, var\((--[a-z]+)\) (\d+)%, var\((--[a-z]+)\)\)/) ?? [];
      const paper = tint
        ? colourOf(tint).map((part, at) => (part * share + colourOf(ground)[at] * (100 - share)) / 100)
        : colourOf(body.match(/background: var\((--[a-z-]+)\)/)[1]);
      const [dark, bright] = [colourOf(ink), paper].map(luminance).sort((one, other) => one - other);
      assert.ok((bright + 0.05) / (dark + 0.05) >= 4.5, selector);
    }
  });
}

for (const path of ["FleetEngine/Page/Web/page.css", "FleetTokenServer/Admin/Page/admin.css"]) {
  test(`${path} has each colour in the light for browsers that do not know light-dark`, () => {
    const [plain, both] = readAt(path).split("@supports (color: light-dark(#000, #fff)) {").map((part) => declared(":root", part));
    const colours = [...both.matchAll(/(--[a-z0-9-]+): light-dark\((#\w+), #\w+\);/g)].map(([, name, light]) => `${name}: ${light};`);
    assert.ok(colours.length > 8);
    assert.deepEqual(plain.match(/--[a-z0-9-]+: #\w+;/g), colours);
    assert.match(plain, /color-scheme: light;/);
    assert.doesNotMatch(plain, /light-dark/);
    assert.equal(both.match(/light-dark/g).length, colours.length);
  });
}
