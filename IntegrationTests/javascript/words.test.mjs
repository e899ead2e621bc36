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
