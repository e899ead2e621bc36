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
const [settings, matrixData] = await Promise.all(["/page/settings", "/page/matrix"].map((path) => get(path, showSilence)));

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

/** Says that things go wrong on purpose, so that nobody looks for another cause; no screen reader tells each call. */
function drawChaos() {
  const words = (wordsOf) => (live.chaos.length > 0 ? `Chaos by script: ${live.chaos.map(wordsOf).join(" · ")}` : "");
  const spoken = (it) => `${visible(JSON.stringify(it.step))} ${it.state}`;
  byID("chaos").hidden = live.chaos.length === 0;
  setText(byID("chaos"), words((it) => `${spoken(it)}, ${count(it.strikes, "call")}`));
  setText(byID("chaos-spoken"), words(spoken));
}

function drawBadge(id, number) {
  const badge = byID(id);
  badge.hidden = number === 0;
  setText(badge, String(number));
}

/** Loads the page again where the engine has other settings since it started again; much of the page is made of them. */
async function readSettings() {
  const found = await get("/page/settings", () => {});
  if (JSON.stringify(found) !== JSON.stringify(settings)) location.reload();
}

function drawStatus() {
  if (!live.isConnected) return showSilence();
  showStatus("live", `${settings.provider} · ${fleetWords(live)}`, `Connected to ${settings.provider}`);
}

function showSilence() {
  showStatus("lost", "The engine does not answer; trying again");
}

/** Shows how the connection is; a screen reader tells of that alone, and not of what is counted beside it. */
function showStatus(state, text, spoken = text) {
  byID("status").dataset.state = state;
  setText(byID("status-text"), text);
  setText(byID("status-spoken"), spoken);
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
  // What ends the composition of a word is no key of the page's.
  if (event.isComposing) return;
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
live.addEventListener("restart", readSettings);
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
  byID("map-missing").replaceChildren(...missingMap(settings));
}
