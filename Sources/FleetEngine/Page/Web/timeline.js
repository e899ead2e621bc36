// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Time lines of tokens: one lane for each vehicle, trip, shipment or backend, drawn around the present.

import { byID, el, reconcile, setText, svg } from "./dom.js";
import { clockTime, count, duration, emptyWords, roleClass, roleWords, subjectWords, visible } from "./words.js";

const order = ["vehicle", "deliveryVehicle", "trip", "shipment", "task", "fleet"];
const minute = 60_000;

/**
 * Groups tokens and refusals by what they reach.
 *
 * @param {import("./live.js").Live} live
 * @param {(subject) => boolean} wanted
 */
export function lanesOf(live, wanted = () => true) {
  const lanes = new Map();
  const lane = (subject, role) => {
    const key = `${subject.kind} ${subject.id || role}`;
    if (!lanes.has(key)) lanes.set(key, { key, subject, roles: new Set(), tokens: [], refusals: [] });
    return lanes.get(key);
  };
  for (const token of live.state.tokens.values()) {
    if (!wanted(token.subject)) continue;
    const found = lane(token.subject, token.role);
    found.roles.add(token.role);
    found.tokens.push(token);
  }
  for (const refusal of live.state.refusals.values()) {
    const subject = [refusal.subject, refusal.addressed].find((it) => it && wanted(it));
    const unknown = { kind: "fleet", id: "" };
    if (subject) lane(subject, "").refusals.push(refusal);
    else if (!refusal.subject && !refusal.addressed && wanted(unknown)) lane(unknown, "nobody").refusals.push(refusal);
  }
  for (const { tokens, refusals } of lanes.values()) {
    tokens.sort((a, b) => startOf(a) - startOf(b));
    refusals.sort((a, b) => a.time - b.time);
  }
  const newest = (lane) => Math.max(0, ...lane.tokens.map(startOf));
  return [...lanes.values()].sort((a, b) => order.indexOf(a.subject.kind) - order.indexOf(b.subject.kind)
    // Vehicles stay where they are; trips and the like come and go, the last on top.
    || (a.subject.kind.toLowerCase().endsWith("vehicle") ? 0 : newest(b) - newest(a))
    || a.key.localeCompare(b.key, "en", { numeric: true }));
}

const startOf = (token) => token.issued ?? token.firstUse ?? token.expires;

/** Draws a lane into a row: its name, its bars, and how long its token lives. */
export function laneRow(row, lane, now, span) {
  if (!row.firstElementChild) row.append(el("div", { class: "lane-name" }), svg("svg", { class: "bars", role: "img" }), el("div", { class: "lane-aside" }));
  const [name, bars, aside] = row.children;
  const role = [...lane.roles].map(roleWords).join(", ");
  if (name.dataset.text !== lane.key + role) {
    name.dataset.text = lane.key + role;
    const title = visible(lane.subject.id) || (role ? `backend (${role})` : "no token, or none that can be read");
    name.replaceChildren(el("strong", {}, title), el("small", {}, lane.subject.id ? [lane.subject.kind === "deliveryVehicle" ? "delivery vehicle" : lane.subject.kind, role && ` · ${role}`] : "whole fleet"));
  }
  const last = lane.tokens.at(-1);
  const left = last ? last.expires - now : undefined;
  setText(aside, left === undefined ? "" : left > 0 ? `${duration(left)} left` : "expired");
  aside.className = `lane-aside ${left !== undefined && left < 5 * minute ? "bad" : ""}`;

  const from = now - (span * minute) / 2;
  const at = (time) => ((time - from) / (span * minute)) * 100;
  const clamp = (percent) => Math.min(101, Math.max(-1, percent));
  const shapes = [svg("line", { class: "now", x1: "50%", x2: "50%", y1: 0, y2: "100%" })];
  for (const [index, token] of lane.tokens.entries()) {
    const y = 5 + (index % 2) * 11;
    // A bar ends where the next one of its row begins.
    const until = Math.min(token.expires, lane.tokens[index + 2] ? startOf(lane.tokens[index + 2]) : Infinity);
    const [start, end] = [clamp(at(startOf(token))), clamp(at(until))];
    if (end <= 0 || start >= 100) continue;
    shapes.push(svg("rect", { class: `life ${roleClass(token.role)}`, x: `${start}%`, width: `${Math.max(0.3, end - start)}%`, y, height: 8, rx: 4 }));
    if (token.firstUse) {
      const [first, lastUse] = [clamp(at(token.firstUse)), clamp(at(Math.min(token.lastUse, until)))];
      shapes.push(svg("rect", { class: `used ${roleClass(token.role)}`, x: `${first}%`, width: `${Math.max(0.3, lastUse - first)}%`, y, height: 8, rx: 4 }));
    }
    if (token.issued) {
      const shape = token.replaced ? svg("path", { d: "M0 -6 L6 0 L0 6 L-6 0 Z" }) : svg("circle", { r: 4.5 });
      shapes.push(mark(at(token.issued), y + 4, `${token.replaced ? "refreshed" : "fetched"} ${roleClass(token.role)}`, shape,
        `${token.replaced ? "refreshed" : "fetched"} ${token.fingerprint} at ${clockTime(token.issued, now)}`));
    }
  }
  let lastMark = -Infinity;
  for (const refusal of lane.refusals) {
    const x = at(refusal.time);
    // Signs that would hide each other are one.
    if (x < 0 || x - lastMark < 1.4) continue;
    lastMark = x;
    shapes.push(mark(x, 31, "refused", svg("path", { d: "M-4 -4 L4 4 M4 -4 L-4 4" }), `refused ${refusal.reason} at ${clockTime(refusal.time, now)}`));
  }
  // A click is lost where what was pressed is gone when it is let go.
  if (!bars.matches(":active")) bars.replaceChildren(...shapes);
  bars.setAttribute("aria-label", `${subjectWords(lane.subject)}: ${count(lane.tokens.length, "token")}, ${count(lane.refusals.length, "refusal")}`);
}

/** A sign at a place in per cent; nested, as paths know no per cent. */
function mark(x, y, className, shape, title) {
  return svg("svg", { x: `${x}%`, y, overflow: "visible", class: `mark ${className}` }, svg("title", {}, title), shape);
}

/** The scale above lanes. */
export function axis(span) {
  const words = [-0.5, -0.25, 0, 0.25, 0.5].map((share) => {
    const minutes = share * span;
    const text = minutes === 0 ? "now" : `${minutes > 0 ? "+" : "−"}${Math.abs(minutes).toLocaleString("en")} min`;
    return svg("text", { x: `${(share + 0.5) * 100}%`, y: 12, "text-anchor": share === -0.5 ? "start" : share === 0.5 ? "end" : "middle" }, text);
  });
  return [el("div", { class: "lane-name" }), svg("svg", { class: "axis", "aria-hidden": true }, words), el("div", { class: "lane-aside" })];
}

/** What happened in lanes, the last first. */
export function storyOf(lanes, now) {
  const entries = [];
  for (const lane of lanes) {
    for (const token of lane.tokens) {
      const { fingerprint, role } = token;
      if (token.issued) {
        const [kind, text] = token.replaced
          ? ["refreshed", `${fingerprint} (${roleWords(role)}) takes over from ${token.replaced}`]
          : ["fetched", `${fingerprint} (${roleWords(role)}) for ${subjectWords(token.subject)}`];
        entries.push({ key: `${kind} ${fingerprint}`, time: token.issued, kind, word: kind, text });
      }
      if (token.firstUse) {
        entries.push({ key: `used ${fingerprint}`, time: token.lastUse, kind: "used", word: "used",
          text: `${fingerprint} · ${count(token.count, "call")}, last ${token.lastMethod}` });
      }
      if (token.expires <= now) {
        entries.push({ key: `expired ${fingerprint}`, time: token.expires, kind: "expired", word: "ended", text: fingerprint });
      }
    }
    for (const refusal of lane.refusals) {
      entries.push({ key: `refused ${refusal.id}`, time: refusal.time, kind: "refused", word: "refused",
        text: `${refusal.reason} · ${refusal.method}${refusal.addressed ? ` of ${subjectWords(refusal.addressed)}` : ""} · ${refusal.fingerprint ?? "no token"}`, refusal: refusal.id });
    }
  }
  return entries.sort((a, b) => b.time - a.time);
}

/** The view of all lanes. */
export class Timeline {
  #open = new Set();

  constructor(live, onRefusal) {
    this.live = live;
    this.onRefusal = onRefusal;
    byID("token-filter").oninput = () => this.draw();
    byID("token-span").onchange = () => this.draw();
  }

  draw() {
    const wanted = byID("token-filter").value.trim().toLowerCase();
    const span = Number(byID("token-span").value);
    const now = this.live.now;
    const lanes = lanesOf(this.live).filter((lane) => !wanted || textOf(lane).includes(wanted));
    const axisLane = { key: `axis ${span}` };
    reconcile(byID("lanes"), [axisLane, ...lanes], (lane) => lane.key,
      (lane) => (lane === axisLane ? el("div", { class: "lane axis-row" }, axis(span)) : this.#row(lane)),
      (row, lane) => { if (lane !== axisLane) this.#update(row, lane, now, span); });
    byID("token-note").hidden = !this.live.truncated.includes("token");
    if (lanes.length === 0) byID("lanes").append(el("p", { class: "hint" }, emptyWords(this.live, wanted, "No token was fetched or used yet.")));
  }

  #row(lane) {
    const toggle = () => {
      if (!this.#open.delete(lane.key)) this.#open.add(lane.key);
      this.draw();
    };
    return el("div", { class: "lane-box" },
      el("button", { type: "button", class: "lane", onclick: toggle }), el("ol", { class: "story", hidden: true }));
  }

  #update(box, lane, now, span) {
    const [row, story] = box.children;
    const isOpen = this.#open.has(lane.key);
    laneRow(row, lane, now, span);
    row.setAttribute("aria-expanded", isOpen);
    story.hidden = !isOpen;
    if (!isOpen) return;
    reconcile(story, storyOf([lane], now).slice(0, 60), (entry) => entry.key,
      (entry) => el("li", {}, el("time", {}), el("i", {}), entry.refusal
        ? el("button", { type: "button", class: "link", onclick: () => this.onRefusal(entry.refusal) }) : el("span", {})),
      (node, entry) => {
        node.className = entry.kind;
        setText(node.children[0], clockTime(entry.time, now));
        setText(node.children[1], entry.word);
        setText(node.children[2], entry.text);
      });
  }
}

function textOf(lane) {
  return [lane.key, ...lane.roles, ...lane.tokens.map((it) => it.fingerprint), ...lane.refusals.map((it) => `${it.reason} ${it.fingerprint}`)]
    .join(" ").toLowerCase();
}
