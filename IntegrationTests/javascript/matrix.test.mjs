// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";

import { openedRows, requirementOf } from "../../Sources/FleetEngine/Page/Web/matrix.js";

const row = (method, fields, claim, rolesWithoutClaims = ["admin"]) => (
  { method, ...(fields && { fields }), claim, requirement: `${claim} must fit`, roles: ["server", "admin"], rolesWithoutClaims });
// One method has a row for every call and one for some fields, the other has rows for fields alone.
const create = row("CreateTrip", undefined, "trip");
const createWithStops = row("CreateTrip", ["vehicle_waypoints"], "vehicle");
const update = row("UpdateTrip", [], "trip");
const updateStops = row("UpdateTrip", ["vehicle_waypoints"], "vehicle");
const rows = [create, createWithStops, update, updateStops];

test("a call with some fields takes what every call of its method takes as well", () => {
  const opened = (role, ...claims) => openedRows(rows, role, (claim) => claims.includes(claim));
  assert.deepEqual(opened("server", "vehicle"), [updateStops]);
  assert.deepEqual(opened("server", "trip"), [create, update]);
  assert.deepEqual(opened("server", "trip", "vehicle"), rows);
  assert.deepEqual(opened("admin"), rows);
  assert.deepEqual(opened("stranger", "trip", "vehicle"), []);
});

test("what a call takes is told in full, and for fields alone where no row is for every call", () => {
  assert.deepEqual(rows.map((row) => requirementOf(row, rows)), [
    "trip must fit", "trip must fit, and vehicle must fit", "trip must fit", "vehicle must fit",
  ]);
});
