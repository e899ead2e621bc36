// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";

import { clockTime, count, fleetWords, idWords, minuteTime, subjectWords, visible } from "../../Sources/FleetEngine/Page/Web/words.js";

for (const [name, tell] of Object.entries({ clockTime, minuteTime })) {
  test(`${name} tells the date of another day, and of no time today`, () => {
    const noon = new Date(2031, 4, 17, 12, 30).getTime();
    assert.doesNotMatch(tell(noon, noon + 3_600_000), /2031|17/);
    assert.match(tell(noon, noon + 86_400_000), /17/);
    assert.match(tell(noon, noon + 86_400_000), /2031/);
    // The same time of day in another month is another day.
    assert.match(tell(noon, new Date(2031, 5, 17, 12, 30).getTime()), /2031/);
  });
}

test("of what there is more than was told, the count says so", () => {
  assert.deepEqual([count(0, "call"), count(1, "call"), count(1200, "call")], ["0 calls", "1 call", "1,200 calls"]);
  assert.deepEqual([count(1, "call", true), count(500, "call", true)], ["1+ calls", "500+ calls"]);
});

test("what is at work is counted to its end, or to where the page was told of no more", () => {
  const some = (number, it) => new Map(Array.from({ length: number }, (_, index) => [`${it?.state} ${index}`, it]));
  const [online, offline] = [some(3, { state: "online" }), some(2, { state: "offline" })];
  const words = (vehicles, ...truncated) => fleetWords({ state: { vehicles, deliveryVehicles: some(4), tokens: some(1) }, truncated });
  const both = new Map([...online, ...offline]);
  assert.equal(words(both), "7 vehicles · 1 token");
  assert.equal(words(online, "vehicle", "trip", "token"), "7+ vehicles · 1+ tokens");
  assert.equal(words(both, "delivery_vehicle"), "7+ vehicles · 1 token");
  // Those online came first, and others after them.
  assert.equal(words(both, "vehicle"), "7 vehicles · 1 token");
});

test("marks that turn the direction of writing are seen, and nothing else of an id changes", () => {
  const marks = [0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069];
  for (const mark of marks) {
    assert.equal(visible(`a${String.fromCodePoint(mark)}b`), `a\\u{${mark.toString(16).toUpperCase()}}b`);
  }
  for (const id of ["veh-1", "אבג-12", "\u200d\u200b", "車両 🚕", "\\u{202E}", ""]) assert.equal(visible(id), id);
});

test("an id leaves the words around it where they are, and one of plain characters is as it is", () => {
  assert.equal(subjectWords({ kind: "trip", id: "trip-7 (b)" }), "trip trip-7 (b)");
  assert.equal(subjectWords({ kind: "vehicle", id: "אבג-12" }), "vehicle \u2068אבג-12\u2069");
  assert.equal(idWords("veh-\u2069\u202e1"), "\u2068veh-\\u{2069}\\u{202E}1\u2069");
});

for (const locale of ["en-US", "de", "ja", "en-u-hc-h12"]) {
  test(`the hour after midnight is 00 to clockTime in ${locale}`, (context) => {
    const tell = Date.prototype.toLocaleTimeString;
    context.mock.method(Date.prototype, "toLocaleTimeString", function (_, options) {
      return tell.call(this, locale, options);
    });
    const midnight = new Date(2031, 4, 17, 0, 0, 5).getTime();
    assert.equal(clockTime(midnight, midnight), "00:00:05");
    assert.match(clockTime(midnight, midnight + 86_400_000), /2031.*00:00:05/);
    assert.equal(clockTime(midnight - 6000, midnight - 6000), "23:59:59");
  });
}
