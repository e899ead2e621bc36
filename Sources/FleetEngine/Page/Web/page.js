// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Puts the page together: views, keys, theme.

import { byID, setText } from "./dom.js";
import { Deviations } from "./deviations.js";
import { Inspector } from "./inspector.js";
import { Lists } from "./lists.js";
import { Live, get } from "./live.js";
import { FleetMap, loadLeaflet, missingMap } from "./map.js";
import { Matrix } from "./matrix.js";
import { Refusals } from "./refusals.js";
import { Timeline } from "./timeline.js";
import { useTheme } from "./theme.js";
import { count, fleetWords, visible } from "./words.js";

const views = ["live", "tokens", "refusals", "deviations", "matrix", "inspect"];
const nextTheme = useTheme(byID("theme"));
const silentEngine = "The engine does not answer; trying again";
const [settings, matrixData] = await Promise.all(["/page/settings", "/page/matrix"].map((path) => get(path, () => {
  byID("status").dataset.state = "lost";
  setText(byID("status-text"), silentEngine);
})));

const live = new Live();
let map;
const lists = new Lists(live, {
  colour: (id) => map?.colour(id) ?? "",
  onChoose: (choice) => {
    const places = choice ? placesOf(choice) : [];
    if (places.length > 0) map?.reveal(places);
    map?.draw(live, choice);
  },
});
const matrix = new Matrix(matrixData);
const timeline = new Timeline(live, (id) => { goTo("refusals"); refusals.point(id); });
const refusals = new Refusals(live, matrix.roles, (method, role) => { goTo("matrix"); matrix.point(method, role); });
const deviations = new Deviations(live, settings.profile);
const inspector = new Inspector(live, matrix, settings.provider);
let view = "live";

/** What is to be in sight when something is chosen: it, and where it is going. */
function placesOf({ kind, id }) {
  const it = live.state[kind].get(id) ?? {};
  const trips = (it.trips ?? []).map((trip) => live.state.trips.get(trip)).filter(Boolean);
  const holder = live.state[kind === "tasks" ? "deliveryVehicles" : "vehicles"].get(it.vehicle);
  return [it, ...trips].flatMap((one) => [one.place, one.pickup, one.dropoff])
    .concat(holder?.place, (it.stops ?? []).map((stop) => stop.place ?? stop)).filter(Boolean);
}

function draw() {
  if (view === "live") {
    map?.draw(live, lists.choice);
    lists.draw();
  }
  if (view === "tokens") timeline.draw();
  if (view === "refusals") refusals.draw();
  if (view === "deviations") deviations.draw();
  drawBadge("refusal-count", live.state.refusals.size);
  drawBadge("deviation-count", deviations.ruleCount);
}

/** Says that things go wrong on purpose, so that nobody looks for another cause. */
function drawChaos() {
  const notice = byID("chaos");
  notice.hidden = live.chaos.length === 0;
  setText(notice, `Chaos by script: ${live.chaos.map((it) => `${visible(it.step)} ${it.state}, ${count(it.strikes, "call")}`).join(" · ")}`);
}

function drawBadge(id, number) {
  const badge = byID(id);
  badge.hidden = number === 0;
  setText(badge, String(number));
}

function drawStatus() {
  byID("status").dataset.state = live.isConnected ? "live" : "lost";
  setText(byID("status-text"), live.isConnected ? `${settings.provider} · ${fleetWords(live)}` : silentEngine);
}

/** Goes to a view at once, so that something in it can be pointed at; a new fragment would take the focus later. */
function goTo(name) {
  history.pushState(null, "", `#${name}`);
  show();
}

function show() {
  const wanted = location.hash.slice(1).split("/")[0];
  const last = view;
  view = views.includes(wanted) ? wanted : "live";
  for (const name of views) byID(name).hidden = name !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash !== `#${view}`) link.removeAttribute("aria-current");
    else {
      link.setAttribute("aria-current", "page");
      // On the narrowest screens the links do not all fit.
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }
  if (last === "inspect" && view !== "inspect") inspector.clear();
  if (view === "inspect") inspector.open();
  if (view === "matrix") byID("matrix-grid").querySelector(".cell.chosen")?.scrollIntoView({ block: "nearest" });
  draw();
}

function onKey(event) {
  const isTyping = event.target.closest("input, textarea, select, dialog");
  if (["Escape", "Enter"].includes(event.key) && isTyping?.matches("input")) {
    isTyping.blur();
    if (event.key === "Enter") listOf(view)?.move(-Infinity);
  }
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  const use = keyUses()[event.key] ?? (Lists.kindOf(event.key) && view === "live" && (() => lists.show(Lists.kindOf(event.key))));
  if (!use) return;
  event.preventDefault();
  use();
}

const listOf = (name) => ({ live: lists, refusals, deviations })[name];

function keyUses() {
  const filter = { live: "filter", tokens: "token-filter", refusals: "refusal-filter", deviations: "deviation-filter", inspect: "token-text" }[view];
  const list = listOf(view);
  return {
    ...Object.fromEntries(views.map((name, index) => [String(index + 1), () => { location.hash = name; }])),
    "?": () => byID("keys").showModal(),
    t: nextTheme,
    ...(filter && { "/": () => byID(filter).focus() }),
    ...(list && { j: () => list.move(1), k: () => list.move(-1) }),
    ...(view === "live" && { f: () => map?.fit(), Escape: () => lists.choose(undefined) }),
  };
}

live.addEventListener("change", draw);
live.addEventListener("change", drawStatus);
live.addEventListener("change", drawChaos);
live.addEventListener("connection", drawStatus);
addEventListener("hashchange", show);
addEventListener("keydown", onKey);
byID("help").onclick = () => byID("keys").showModal();
// A fragment names a view, so the link may not leave one.
document.querySelector(".skip").onclick = (event) => {
  event.preventDefault();
  byID("main").focus();
};

show();
live.connect();
// What says how long ago something was moves without news, too.
setInterval(draw, 5000);

if (await loadLeaflet(settings)) {
  map = new FleetMap(byID("map"), settings, (kind, id) => lists.choose(kind, id));
  draw();
} else {
  byID("map-missing").hidden = false;
  byID("map").hidden = true;
  byID("map-missing").replaceChildren(...missingMap(settings.leafletFolder));
}
