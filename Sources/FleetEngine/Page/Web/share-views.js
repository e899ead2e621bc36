// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// What the engine says of a trip or a shipment, in the words of the one who waits. The distance is another one at each
// question, so it is left out of what a screen reader speaks.

import { count, minuteTime, visible } from "./words.js";

const tripSteps = [
  ["NEW", "Asked for"], ["ENROUTE_TO_PICKUP", "On the way to you"], ["ARRIVED_AT_PICKUP", "At the pick-up"],
  ["ENROUTE_TO_DROPOFF", "On board"], ["COMPLETE", "Arrived"],
];
const tripHeadlines = {
  NEW: "Looking for a driver", ENROUTE_TO_PICKUP: "Your driver is on the way", ARRIVED_AT_PICKUP: "Your driver is here",
  ARRIVED_AT_INTERMEDIATE_DESTINATION: "At a stop on the way", ENROUTE_TO_INTERMEDIATE_DESTINATION: "On your way",
  ENROUTE_TO_DROPOFF: "On your way", COMPLETE: "You have arrived", CANCELED: "This trip was cancelled",
};

/** Whether the engine or the token server refused, and did not merely fail to answer. */
export function isRefusal(error) {
  return [401, 403, 404].includes(error.status) || ["refused", "invalidArgument", "tooManyRefusals"].includes(error.code);
}

/** Whether an answer is something with a name, as what the engine tells of is; others on the way may answer with anything. */
export const isResource = (answer) => typeof answer?.name === "string";

/** What the engine says where it answered with an error. */
export function errorWords(answer, status) {
  const message = answer?.error?.message;
  return typeof message === "string" && message !== "" ? message : `The engine answered ${status}.`;
}

/** What is said of a failure; `isShown` where something that was heard before it is still there. */
export function troubleWords(error, isShown) {
  const said = visible(error.message);
  const sentences = isRefusal(error) ? [said] : [isShown && "This is the last that was heard.", said, "Trying again."];
  return sentences.filter(Boolean).map((text) => (/[.!?…]$/.test(text) ? text : `${text}.`)).join(" ");
}

/** A trip as `GetTrip` answers it. */
export function tripView(trip) {
  const status = trip.tripStatus ?? "NEW";
  const stage = { ENROUTE_TO_INTERMEDIATE_DESTINATION: "ENROUTE_TO_DROPOFF", ARRIVED_AT_INTERMEDIATE_DESTINATION: "ENROUTE_TO_DROPOFF" }[status] ?? status;
  const at = tripSteps.findIndex(([name]) => name === stage);
  const isOver = ["COMPLETE", "CANCELED"].includes(status);
  const { time, distance, isAfterOthers } = ahead(trip);
  const spoken = isOver ? "" : joined(isAfterOthers && "Another stop comes first", seconds(time));
  return {
    isOver,
    headline: tripHeadline(status, trip.vehicleId),
    sub: isOver ? "" : joined(spoken, metres(distance)),
    spoken,
    steps: status === "CANCELED" ? [] : tripSteps.map(([, name], index) => ({ name, state: index < at || status === "COMPLETE" ? "done" : index === at ? "now" : "next" })),
    vehicle: isOver ? undefined : point(trip.lastLocation?.location),
    vehicleID: trip.vehicleId,
    heading: trip.lastLocation?.heading,
    // The route leads to the other's stop, which is no business of this one's.
    way: isAfterOthers ? undefined : (trip.route ?? []).map(point).filter(Boolean),
    signs: [["P", "pickup", trip.pickupPoint], ["D", "dropoff", trip.dropoffPoint]]
      .map(([letter, name, place]) => ({ letter, name, place: point(place?.point) })).filter(({ place }) => place),
  };
}

/** A vehicle may be found while it is still with others; the trip is as new as before then. */
function tripHeadline(status, vehicleID) {
  return status === "NEW" && vehicleID ? "Your driver was found" : tripHeadlines[status] ?? "On the way";
}

/**
 * How far it is to the trip's own next stop.
 *
 * What the engine tells of the time and the distance ahead ends at the vehicle's next stop, which may be another trip's.
 * Times from one stop to another are by the engine's clock alone.
 */
function ahead({ name = "", remainingWaypoints: stops = [], remainingTimeToFirstWaypoint: time, remainingDistanceMeters: distance }) {
  const id = name.split("/").at(-1);
  const own = stops.findIndex((stop) => stop.tripId === id);
  if (own <= 0) return { time, distance, isAfterOthers: false };
  return {
    time: Number.parseFloat(time) + (Date.parse(stops[own].eta) - Date.parse(stops[0].eta)) / 1000,
    distance: stops.slice(0, own + 1).reduce((sum, stop) => sum + stop.distanceMeters, 0),
    isAfterOthers: true,
  };
}

const deliverySteps = ["On the list", "Out for delivery", "You are next", "Delivered"];
const deliveryOutcomes = { SUCCEEDED: "Delivered", FAILED: "The delivery did not work out" };

/**
 * A shipment as `GetTaskTrackingInfo` answers it.
 *
 * A task that was closed without an outcome does not end it: the outcome may follow, or another task with the same
 * tracking id.
 */
export function shipmentView(info) {
  const outcome = info.taskOutcome === "TASK_OUTCOME_UNSPECIFIED" ? undefined : info.taskOutcome;
  const isOver = Boolean(outcome);
  const isOpen = !isOver && info.state !== "CLOSED";
  const stops = info.remainingStopCount;
  const vehicle = point(info.vehicleLocation?.location ?? info.vehicleLocation?.rawLocation);
  const isNear = stops !== undefined && stops <= 1;
  const spoken = isOver ? "" : !isOpen ? "What became of it is not known yet"
    : joined(stops > 1 && `${count(stops - 1, "stop")} before you`, arrival(info));
  const distance = isOpen ? metres(info.remainingDrivingDistanceMeters) : "";
  const at = isOver ? 3 : isNear ? 2 : vehicle || stops !== undefined ? 1 : 0;
  return {
    isOver,
    headline: isOpen ? deliverySteps[at] : deliveryOutcomes[outcome] ?? "No longer on its way",
    sub: joined(spoken, distance),
    spoken,
    steps: !isOpen && !deliveryOutcomes[outcome] ? [] : deliverySteps.map((name, index) => ({
      name: index === 3 && outcome === "FAILED" ? "Not delivered" : name, state: index < at || isOver ? "done" : index === at ? "now" : "next",
    })),
    vehicle: isOpen ? vehicle : undefined,
    heading: info.vehicleLocation?.heading,
    way: (info.routePolylinePoints ?? []).map(point).filter(Boolean),
    signs: [{ letter: "D", name: "dropoff", place: point(info.plannedLocation?.point) }].filter(({ place }) => place),
  };
}

/** A place as the map takes it; JSON leaves out a coordinate that is 0. */
function point(place) {
  return place && [place.latitude ?? 0, place.longitude ?? 0];
}

const joined = (...parts) => parts.filter(Boolean).join(" · ");

function seconds(text) {
  const number = Number.parseFloat(text);
  if (!Number.isFinite(number)) return "";
  return number < 60 ? "less than a minute" : `${Math.round(number / 60)} min`;
}

function metres(number) {
  if (!Number.isFinite(number)) return "";
  return number < 950 ? `${Math.round(number / 10) * 10} m` : `${(number / 1000).toFixed(1)} km`;
}

function arrival(info) {
  const time = Date.parse(info.estimatedArrivalTime ?? "");
  return Number.isFinite(time) ? `expected ${minuteTime(time, Date.now())}` : "";
}
