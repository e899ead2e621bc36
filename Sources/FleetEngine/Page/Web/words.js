// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// How things are said: times, ids, subjects, roles.

/** A time of day to the second, with its date where that is not today, by the clock that the time is of. */
export function clockTime(milliseconds, now) {
  return timeOfDay(milliseconds, now, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}

/** A time of day to the minute, likewise, as people tell it. */
export function minuteTime(milliseconds, now) {
  return timeOfDay(milliseconds, now, { hour: "2-digit", minute: "2-digit" });
}

function timeOfDay(milliseconds, now, parts) {
  const isToday = dayOf(milliseconds) === dayOf(now);
  return new Date(milliseconds).toLocaleTimeString([], { ...(!isToday && { year: "numeric", month: "short", day: "numeric" }), ...parts });
}

/** The day of a time, here: what was said of times is said anew when it is another one. */
export const dayOf = (milliseconds) => new Date(milliseconds).toDateString();

export function duration(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

export function ago(milliseconds, now) {
  return milliseconds > 0 ? `${duration(now - milliseconds)} ago` : "never";
}

/** So many of something; `areMore` where there are more than this page was told of. */
export function count(number, noun, areMore = false) {
  return `${number.toLocaleString("en")}${areMore ? "+" : ""} ${noun}${number === 1 && !areMore ? "" : "s"}`;
}

/** Why nothing is listed, which cannot be said while nothing is known; `none` where no filter is in the way. */
export function emptyWords({ isUnknown }, isFiltered, none) {
  return isUnknown ? "" : isFiltered ? "Nothing fits the filter." : none;
}

/** What is at work, in words. Of vehicles the server tells those online first: there are more of them where it told of no others. */
export function fleetWords({ state, truncated }) {
  const online = [...state.vehicles.values()].filter((it) => it.state === "online").length;
  const areMore = (truncated.includes("vehicle") && online === state.vehicles.size) || truncated.includes("delivery_vehicle");
  return `${count(online + state.deliveryVehicles.size, "vehicle", areMore)} · ${count(state.tokens.size, "token", truncated.includes("token"))}`;
}

/** A text from outside in which marks that would turn the direction of writing are seen, as `\u{202E}`. */
export function visible(text) {
  return text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (mark) => `\\u{${mark.codePointAt(0).toString(16).toUpperCase()}}`);
}

/** An id as it stands in a sentence, whose other words stay where they are whatever the id is written in. */
export function idWords(id) {
  return /^[ -~]*$/.test(id) ? id : `\u2068${visible(id)}\u2069`;
}

const kinds = {
  vehicle: "vehicle", trip: "trip", deliveryVehicle: "delivery vehicle", task: "task", shipment: "shipment", fleet: "fleet",
};

/** A subject in words: `trip trip-7`. */
export function subjectWords(subject) {
  if (!subject) return "unknown";
  return subject.id ? `${kinds[subject.kind] ?? subject.kind} ${idWords(subject.id)}` : "the whole fleet";
}

export const roleWords = (role) => role.replaceAll("_", " ") || "no role";

/** The colour family of a role, as a class. */
export function roleClass(role) {
  if (role.includes("admin") || role.includes("server")) return "role-server";
  if (role.includes("reader")) return "role-reader";
  if (role.includes("consumer")) return "role-consumer";
  return role.includes("driver") ? "role-driver" : "role-other";
}

export const isFinished = (status) => ["complete", "canceled"].includes(status);

const ruleWords = {
  size: "size", form: "three parts", encoding: "base64url", header: "header", algorithm: "alg", type: "typ",
  critical: "crit", key: "key", signature: "signature", payload: "payload", claims: "claims", issuer: "iss = sub",
  audience: "aud", issuedAt: "iat", expiry: "exp", expiryCeiling: "exp − iat", revocation: "not withdrawn", role: "role", provider: "provider",
  permission: "permission", coverage: "claims reach it",
};
export const ruleName = (rule) => ruleWords[rule] ?? rule;
