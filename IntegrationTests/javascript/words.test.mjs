// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";

import { clockTime, minuteTime } from "../../Sources/FleetEngine/Page/Web/words.js";

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
