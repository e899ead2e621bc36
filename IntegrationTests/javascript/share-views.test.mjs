// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";

import { shipmentView, tripView } from "../../Sources/FleetEngine/Page/Web/share-views.js";

test("a trip's way is the engine's route", () => {
  const route = [{ latitude: 37.1, longitude: -122 }, { latitude: 37.2, longitude: -122.1 }, { latitude: 37.3, longitude: -122.1 }];
  assert.deepEqual(tripView({ tripStatus: "ENROUTE_TO_PICKUP", route }).way, [[37.1, -122], [37.2, -122.1], [37.3, -122.1]]);
  assert.deepEqual(tripView({ tripStatus: "NEW" }).way, []);
});

test("a shipment's way is the engine's route", () => {
  const routePolylinePoints = [{ latitude: 37.1, longitude: -122 }, { latitude: 37.2, longitude: -122.1 }];
  assert.deepEqual(shipmentView({ routePolylinePoints }).way, [[37.1, -122], [37.2, -122.1]]);
});
