// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";

import { errorWords, isRefusal, isResource, shipmentView, tripView, troubleWords } from "../../Sources/FleetEngine/Page/Web/share-views.js";

test("a trip's way is the engine's route", () => {
  const route = [{ latitude: 37.1, longitude: -122 }, { latitude: 37.2, longitude: -122.1 }, { latitude: 37.3, longitude: -122.1 }];
  assert.deepEqual(tripView({ tripStatus: "ENROUTE_TO_PICKUP", route }).way, [[37.1, -122], [37.2, -122.1], [37.3, -122.1]]);
  assert.deepEqual(tripView({ tripStatus: "NEW" }).way, []);
});

test("a new trip looks for a driver until it has a vehicle", () => {
  for (const trip of [{}, { tripStatus: "NEW" }, { tripStatus: "NEW", vehicleId: "" }]) {
    assert.equal(tripView(trip).headline, "Looking for a driver");
  }
  for (const trip of [{ vehicleId: "veh-1" }, { tripStatus: "NEW", vehicleId: "veh-1" }]) {
    const { headline, steps } = tripView(trip);
    assert.deepEqual([headline, steps[0]], ["Your driver was found", { name: "Asked for", state: "now" }]);
  }
  assert.equal(tripView({ tripStatus: "ENROUTE_TO_PICKUP", vehicleId: "veh-1" }).headline, "Your driver is on the way");
});

test("a trip tells of its own next stop, not of another's that comes first", () => {
  const stop = (tripId, eta, distanceMeters) => ({ tripId, eta: `2026-01-01T00:${eta}Z`, distanceMeters });
  const trip = {
    name: "providers/acme/trips/trip-7", tripStatus: "ENROUTE_TO_PICKUP", route: [{ latitude: 1, longitude: 1 }, { latitude: 2, longitude: 2 }],
    remainingTimeToFirstWaypoint: "119.5s", remainingDistanceMeters: 900,
  };
  const own = [stop("trip-7", "09:30", 2000), stop("trip-7", "20:00", 5000)];
  const said = (remainingWaypoints, changes) => tripView({ ...trip, remainingWaypoints, ...changes }).sub;
  const others = [stop("trip-8", "02:00", 900), stop("trip-9", "05:00.5", 1100)];
  assert.equal(said([...others, ...own]), "Another stop comes first · 9 min · 4.0 km");
  assert.equal(tripView({ ...trip, remainingWaypoints: [...others, ...own] }).way, undefined);
  // Where it comes first, or nothing is known of the stops, it is as the trip says.
  for (const stops of [[own[0], others[0], own[1]], [], undefined]) {
    assert.equal(said(stops), "2 min · 900 m");
    assert.equal(tripView({ ...trip, remainingWaypoints: stops }).way.length, 2);
  }
  // What is not known of the way is left out.
  const { eta, ...untimed } = own[0];
  assert.equal(said([others[0], untimed]), "Another stop comes first · 2.9 km");
  assert.equal(said([{ tripId: "trip-8" }, own[0]], { remainingTimeToFirstWaypoint: undefined }), "Another stop comes first");
  assert.equal(said([others[0], own[0]], { tripStatus: "CANCELED" }), "");
});

test("a shipment's way is the engine's route", () => {
  const routePolylinePoints = [{ latitude: 37.1, longitude: -122 }, { latitude: 37.2, longitude: -122.1 }];
  assert.deepEqual(shipmentView({ routePolylinePoints }).way, [[37.1, -122], [37.2, -122.1]]);
});

test("a shipment's outcome is its end, also while its task is still open", () => {
  for (const state of ["OPEN", "CLOSED"]) {
    for (const [taskOutcome, headline, last] of [
      ["SUCCEEDED", "Delivered", "Delivered"], ["FAILED", "The delivery did not work out", "Not delivered"],
    ]) {
      const view = shipmentView({ state, taskOutcome });
      assert.deepEqual([view.isOver, view.headline, view.sub], [true, headline, ""]);
      assert.deepEqual(view.steps.map((step) => step.state), ["done", "done", "done", "done"]);
      assert.equal(view.steps.at(-1).name, last);
    }
  }
});

test("an outcome of a later engine is an end that promises nothing", () => {
  const view = shipmentView({ state: "CLOSED", taskOutcome: "SWALLOWED_BY_A_WHALE" });
  assert.deepEqual([view.isOver, view.headline, view.steps], [true, "No longer on its way", []]);
});

for (const taskOutcome of [undefined, "TASK_OUTCOME_UNSPECIFIED"]) {
  test(`a shipment that was closed with the outcome ${taskOutcome} is asked for again`, () => {
    const location = { latitude: 37.1, longitude: -122 };
    const view = shipmentView({ state: "CLOSED", taskOutcome, remainingStopCount: 1, vehicleLocation: { location } });
    assert.deepEqual([view.isOver, view.headline, view.steps], [false, "No longer on its way", []]);
    assert.equal(view.sub, "What became of it is not known yet");
    assert.equal(view.vehicle, undefined);
  });
}

test("a shipment on its way tells how far it is", () => {
  for (const [info, headline, now] of [
    [{}, "On the list", 0], [{ remainingStopCount: 3 }, "Out for delivery", 1], [{ remainingStopCount: 1 }, "You are next", 2],
  ]) {
    const view = shipmentView({ state: "OPEN", taskOutcome: "TASK_OUTCOME_UNSPECIFIED", ...info });
    assert.deepEqual([view.isOver, view.headline], [false, headline]);
    assert.equal(view.steps.findIndex((step) => step.state === "now"), now);
  }
});

test("a place on the equator or the first meridian is one, though JSON leaves the 0 out", () => {
  const trip = {
    tripStatus: "ENROUTE_TO_PICKUP", lastLocation: { location: { latitude: 51.5 } }, route: [{ longitude: 9.4 }, {}],
    pickupPoint: { point: { longitude: 9.4 } }, dropoffPoint: { point: {} },
  };
  const { vehicle, way, signs } = tripView(trip);
  assert.deepEqual(vehicle, [51.5, 0]);
  assert.deepEqual(way, [[0, 9.4], [0, 0]]);
  assert.deepEqual(signs.map((sign) => sign.place), [[0, 9.4], [0, 0]]);
  assert.equal(tripView({ tripStatus: "ENROUTE_TO_PICKUP", lastLocation: {} }).vehicle, undefined);
  assert.deepEqual(tripView({ pickupPoint: {} }).signs, []);
});

test("a recipient hears of the stops before and of the time of arrival", () => {
  const estimatedArrivalTime = new Date().toISOString();
  const words = (remainingStopCount) => shipmentView({ state: "OPEN", remainingStopCount, estimatedArrivalTime }).spoken;
  assert.match(words(3), /^2 stops before you · expected \d/);
  assert.match(words(2), /^1 stop before you · expected \d/);
  assert.match(words(1), /^expected \d/);
});

test("an arrival on another day tells which", () => {
  const view = (time) => shipmentView({ state: "OPEN", estimatedArrivalTime: new Date(time).toISOString() });
  assert.match(view(Date.now() + 400 * 86_400_000).sub, /^expected .*20\d\d/);
  assert.doesNotMatch(view(Date.now()).sub, /20\d\d/);
});

test("what a screen reader speaks is another one where stops or minutes are, and not with each metre", () => {
  const trip = (remainingDistanceMeters, more) => tripView({ tripStatus: "ENROUTE_TO_PICKUP", remainingTimeToFirstWaypoint: "119.5s", remainingDistanceMeters, ...more });
  assert.deepEqual([900, 890].map((metres) => [trip(metres).sub, trip(metres).spoken]), [["2 min · 900 m", "2 min"], ["2 min · 890 m", "2 min"]]);
  assert.equal(trip(900, { remainingTimeToFirstWaypoint: "61s" }).spoken, "1 min");
  assert.deepEqual([trip(900, { tripStatus: "COMPLETE" }).sub, trip(900, { tripStatus: "COMPLETE" }).spoken], ["", ""]);
  const shipment = (more) => shipmentView({ state: "OPEN", remainingDrivingDistanceMeters: 2345, ...more });
  const driven = shipment({ remainingStopCount: 3, estimatedArrivalTime: new Date().toISOString() });
  assert.equal(driven.sub, `${driven.spoken} · 2.3 km`);
  assert.deepEqual([shipment().sub, shipment().spoken], ["2.3 km", ""]);
  const expected = shipmentView({ state: "OPEN", estimatedArrivalTime: new Date().toISOString() });
  assert.match(expected.spoken, /^expected /);
  assert.equal(expected.sub, expected.spoken);
  const closed = shipment({ state: "CLOSED" });
  assert.deepEqual([closed.sub, closed.spoken], ["What became of it is not known yet", "What became of it is not known yet"]);
});

test("what is refused is told from what merely failed", () => {
  for (const status of [401, 403, 404]) assert.equal(isRefusal({ status }), true, String(status));
  for (const status of [429, 500, 503]) assert.equal(isRefusal({ status }), false, String(status));
  for (const code of ["refused", "invalidArgument", "tooManyRefusals"]) assert.equal(isRefusal({ code }), true, code);
  for (const code of ["unavailable", "timeout", "invalidAnswer"]) assert.equal(isRefusal({ code }), false, code);
  assert.equal(isRefusal(new TypeError("fetch failed")), false);
});

test("what has no name is nothing that the engine tells of", () => {
  assert.equal(isResource({ name: "providers/acme/trips/trip-7" }), true);
  for (const answer of [undefined, null, [], {}, "name", 7, { name: 7 }, { error: null }]) assert.equal(isResource(answer), false);
});

test("an error says what the engine said of it, where that is a text", () => {
  assert.equal(errorWords({ error: { message: "There is no such trip." } }, 404), "There is no such trip.");
  for (const answer of [undefined, null, [], {}, { error: null }, { error: "gone" }, { error: { message: { a: 1 } } }, { error: { message: "" } }]) {
    assert.equal(errorWords(answer, 502), "The engine answered 502.");
  }
});

test("what is said of a failure is whole sentences", () => {
  const failure = (message) => Object.assign(new Error(message), { status: 503 });
  assert.equal(troubleWords(failure("Too many requests"), false), "Too many requests. Trying again.");
  assert.equal(troubleWords(failure("Is it full?"), true), "This is the last that was heard. Is it full? Trying again.");
  for (const message of ["There is no such trip", "There is no such trip."]) {
    assert.equal(troubleWords(Object.assign(new Error(message), { status: 404 }), true), "There is no such trip.");
  }
  assert.equal(troubleWords(failure("veh-\u202e1."), false), "veh-\\u{202E}1. Trying again.");
});
