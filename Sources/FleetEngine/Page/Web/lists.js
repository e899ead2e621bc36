// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// The lists beside the map, with filters, and the details of what is chosen.

import { Listbox, byID, el, reconcile, setText } from "./dom.js";
import { lanesOf, laneRow, storyOf } from "./timeline.js";
import { ago, clockTime, count, emptyWords, idWords, isFinished, visible } from "./words.js";

const lists = {
  vehicles: {
    name: "Vehicles", key: "v", icon: "▲", state: (it) => it.state,
    text: (it) => it.trips.map(idWords).join(", ") || (it.type === "unknown" ? "no trip" : it.type),
    aside: (it, now) => speedWords(it, now) ?? ago(it.reported, now),
    rank: (it) => (it.state === "online" ? 0 : 1),
  },
  trips: {
    name: "Trips", key: "r", icon: "●", state: (it) => it.status,
    text: (it) => (it.vehicle ? `with ${idWords(it.vehicle)}` : "no vehicle yet"),
    aside: () => "",
    rank: (it) => (it.isUnderway ? 0 : isFinished(it.status) ? 2 : 1),
  },
  deliveryVehicles: {
    name: "Deliveries", key: "d", icon: "■", state: (it) => (it.stops.length > 0 ? "on its way" : "no stops"),
    text: (it) => count(it.stops.length, "stop") + " ahead",
    aside: (it, now) => ago(it.reported, now),
    rank: (it) => (it.stops.length > 0 ? 0 : 1),
  },
  tasks: {
    name: "Tasks", key: "s", icon: "◆", state: (it) => it.state,
    text: (it) => [it.type, it.outcome === "unspecified" ? "" : it.outcome, it.vehicle && `with ${idWords(it.vehicle)}`].filter(Boolean).join(" · "),
    aside: (it) => visible(it.tracking),
    rank: (it) => (it.state === "open" ? 0 : 1),
  },
};
const truncatedNames = { vehicles: "vehicle", trips: "trip", deliveryVehicles: "delivery_vehicle", tasks: "task" };
const shownRows = 200;
/** How long a vehicle is taken to go on as it reported. In milliseconds. */
const freshness = 60_000;

/** How fast a vehicle is, where that is known of now. */
function speedWords({ speed, state, reported }, now) {
  const isKnown = speed !== undefined && state === "online" && now - reported < freshness;
  return isKnown ? `${Math.round(speed)} km/h` : undefined;
}

export class Lists {
  kind = "vehicles";
  choice = undefined;
  #states = "";
  #box = new Listbox(byID("list"), {
    key: (it) => `${this.kind} ${it.id}`,
    isChosen: (it) => this.choice?.kind === this.kind && this.choice.id === it.id,
    choose: (it) => {
      this.choose(this.kind, it.id);
      // On a phone it is below the list.
      byID("detail").scrollIntoView({ block: "nearest" });
    },
    create: (it) => [
      el("i", {}, lists[this.kind].icon), el("span", { class: "body" }, el("strong", {}, visible(it.id)), el("small", {})), el("span", { class: "aside" }),
    ],
    update: (row, it) => this.#update(row, it),
  });

  constructor(live, { colour, onChoose }) {
    this.live = live;
    this.colour = colour;
    this.onChoose = onChoose;
    byID("list-tabs").replaceChildren(...Object.entries(lists).map(([kind, list]) =>
      el("button", {
        type: "button", role: "tab", id: `tab-${kind}`, "aria-controls": "list-panel", title: `${list.name} (${list.key})`,
        onclick: () => this.show(kind),
      }, list.name, el("b", {}))));
    byID("list-tabs").onkeydown = (event) => this.#onTabKey(event);
    byID("filter").oninput = () => this.draw();
    byID("filter-state").onchange = () => this.draw();
  }

  /** The kind of list that a key stands for. */
  static kindOf(key) {
    return Object.keys(lists).find((kind) => lists[kind].key === key);
  }

  show(kind) {
    this.kind = kind;
    byID("filter-state").value = "";
    this.draw();
  }

  choose(kind, id) {
    this.choice = kind ? { kind, id } : undefined;
    if (kind) this.kind = kind;
    this.onChoose(this.choice);
    this.draw();
    this.#box.reveal();
  }

  /** Follows a link, which is gone by then: the focus goes on to what it led to, for a screen reader to tell of. */
  #follow(kind, id) {
    this.choose(kind, id);
    if (this.#box.showsChoice) this.#box.focus();
    else byID("detail").firstElementChild.focus();
  }

  /** Chooses the next entry, or the one so many further. */
  move(step) {
    this.#box.move(step);
  }

  /** The arrows go through the tabs, of which only the chosen one is a stop of the tab key. */
  #onTabKey(event) {
    const kinds = Object.keys(lists);
    const at = kinds.indexOf(this.kind);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined || event.altKey) return;
    event.preventDefault();
    this.show(kinds.at(to % kinds.length));
    byID(`tab-${this.kind}`).focus();
  }

  /** Whether there are more of a kind than this page was told of. */
  #isTruncated(kind) {
    return this.live.truncated.includes(truncatedNames[kind]);
  }

  #found() {
    const list = lists[this.kind];
    const wanted = byID("filter").value.trim().toLowerCase();
    const state = byID("filter-state").value;
    return [...this.live.state[this.kind].values()]
      .filter((it) => (!state || list.state(it) === state)
        && (!wanted || `${it.id} ${it.tracking ?? ""} ${list.state(it)} ${list.text(it)}`.toLowerCase().includes(wanted)))
      .sort((a, b) => list.rank(a) - list.rank(b) || a.id.localeCompare(b.id, "en", { numeric: true }))
      .slice(0, shownRows);
  }

  draw() {
    const list = lists[this.kind];
    for (const kind of Object.keys(lists)) {
      const tab = byID(`tab-${kind}`);
      tab.setAttribute("aria-selected", kind === this.kind);
      tab.tabIndex = kind === this.kind ? 0 : -1;
      const size = `${this.live.state[kind].size}${this.#isTruncated(kind) ? "+" : ""}`;
      setText(tab.querySelector("b"), this.live.isUnknown ? "" : size);
    }
    byID("list-panel").setAttribute("aria-labelledby", `tab-${this.kind}`);
    this.#drawStates(list);
    const found = this.#found();
    this.#box.draw(found);
    this.#drawNote(found);
    this.#drawDetail();
  }

  #update(row, it) {
    const list = lists[this.kind];
    const [icon, body, aside] = row.children;
    icon.className = `icon ${this.#colourOf(it)}`;
    row.dataset.state = list.state(it);
    setText(body.children[1], `${list.state(it)} · ${list.text(it)}`);
    setText(aside, list.aside(it, this.live.now));
  }

  #colourOf(it) {
    if (this.kind === "vehicles") return it.state === "online" ? this.colour(it.id) : "off";
    if (this.kind === "deliveryVehicles") return this.colour(`delivery ${it.id}`);
    if (this.kind === "trips") return it.isUnderway && it.vehicle ? this.colour(it.vehicle) : "off";
    return it.state === "open" && it.vehicle ? this.colour(`delivery ${it.vehicle}`) : "off";
  }

  #drawStates(list) {
    const states = [...new Set([...this.live.state[this.kind].values()].map(list.state))].sort();
    const text = [this.kind, ...states].join();
    if (this.#states === text) return;
    this.#states = text;
    const select = byID("filter-state");
    const { value } = select;
    select.replaceChildren(el("option", { value: "" }, "any state"), ...states.map((state) => el("option", { value: state }, state)));
    select.value = states.includes(value) ? value : "";
  }

  #drawNote(found) {
    const notes = [];
    if (found.length === 0) {
      notes.push(emptyWords(this.live, this.live.state[this.kind].size > 0, `There are no ${lists[this.kind].name.toLowerCase()} yet.`));
    }
    if (this.#isTruncated(this.kind)) notes.push("There are more than this page shows; those at work come first.");
    if (found.length === shownRows) notes.push(`The first ${shownRows} are listed; filter for others.`);
    setText(byID("list-note"), notes.join(" "));
    byID("list-note").hidden = byID("list-note").textContent === "";
  }

  /** Why nothing is told of what is chosen. */
  #lack() {
    if (!this.choice) return "Choose a vehicle, a trip or a stop: in the list, or on the map.";
    const { kind, id } = this.choice;
    if (!this.#isTruncated(kind)) return `${idWords(id)} is no longer there.`;
    return `${idWords(id)} is not among the ${this.live.state[kind].size} that this page shows.`;
  }

  #drawDetail() {
    const node = byID("detail");
    const it = this.choice && this.live.state[this.choice.kind].get(this.choice.id);
    if (!it) {
      node.dataset.of = this.choice ? "absent" : "none";
      const text = this.#lack();
      if (node.textContent !== text) node.replaceChildren(el("p", { class: "hint", tabindex: -1 }, text));
      return;
    }
    const { kind } = this.choice;
    if (node.dataset.of !== `${kind} ${it.id}`) {
      node.dataset.of = `${kind} ${it.id}`;
      node.replaceChildren(
        el("h2", { tabindex: -1 }, visible(it.id)), el("dl", { class: "facts" }), el("div", { class: "lanes" }), el("ol", { class: "story" }));
    }
    const [, facts, lanes, story] = node.children;
    reconcile(facts, factsOf(kind, it, this.live, (kind, id) => this.#follow(kind, id)), ([name]) => name,
      ([name]) => el("div", {}, el("dt", {}, name), el("dd", {})), updateFact);
    const found = lanesOf(this.live, (subject) => belongs(subject, kind, it, this.live));
    reconcile(lanes, found, (lane) => lane.key, () => el("div", { class: "lane" }), (row, lane) => laneRow(row, lane, this.live.now, 60));
    const entries = storyOf(found, this.live.now).slice(0, 40);
    reconcile(story, entries, (entry) => entry.key, () => el("li", {}, el("time", {}), el("i", {}), el("span", {})), (row, entry) => {
      row.className = entry.kind;
      setText(row.children[0], clockTime(entry.time, this.live.now));
      setText(row.children[1], entry.word);
      setText(row.children[2], entry.text);
    });
  }
}

/** Whether a token or a refusal belongs to what is chosen: its own, and those of a vehicle's trips. */
function belongs(subject, kind, it, live) {
  if (!subject) return false;
  switch (kind) {
    case "vehicles":
      return (subject.kind === "vehicle" && subject.id === it.id)
        || (subject.kind === "trip" && (it.trips.includes(subject.id) || live.state.trips.get(subject.id)?.vehicle === it.id));
    case "trips": return subject.kind === "trip" && subject.id === it.id;
    case "deliveryVehicles": return subject.kind === "deliveryVehicle" && subject.id === it.id;
    default: return (subject.kind === "task" && subject.id === it.id) || (subject.kind === "shipment" && Boolean(it.tracking) && subject.id === it.tracking);
  }
}

function factsOf(kind, it, live, follow) {
  const now = live.now;
  const link = (target, id) => el("button", { type: "button", class: "link", onclick: () => follow(target, id) }, visible(id));
  const place = it.place && `${it.place.latitude.toFixed(5)}, ${it.place.longitude.toFixed(5)}`;
  const share = (path) => el("a", { href: path, target: "_blank", rel: "noopener" }, "open the share page");
  const facts = {
    vehicles: () => [
      ["state", it.state], ["type", it.type], ["place", place], ["speed", speedWords(it, now)],
      ["reported", ago(it.reported, now)], ["trips", it.trips.length > 0 ? it.trips.map((id) => link("trips", id)) : "none"],
    ],
    trips: () => [
      ["status", it.status], ["vehicle", it.vehicle ? link("vehicles", it.vehicle) : "none"],
      ["customer", share(`/share/trips/${encodeURIComponent(it.id)}`)],
    ],
    deliveryVehicles: () => [
      ["place", place], ["reported", ago(it.reported, now)],
      ["stops", it.stops.length === 0 ? "none" : el("ol", { class: "stops" }, it.stops.map((stop) =>
        el("li", { class: stop.state }, stop.state, " ", stop.tasks.map((id) => link("tasks", id)))))],
    ],
    tasks: () => [
      ["type", it.type], ["state", it.state], ["outcome", it.outcome === "unspecified" ? undefined : it.outcome],
      ["vehicle", it.vehicle ? link("deliveryVehicles", it.vehicle) : "none"],
      ["recipient", it.tracking ? share(`/share/shipments/${encodeURIComponent(it.tracking)}`) : "no tracking id"],
    ],
  }[kind]();
  return facts.filter(([, value]) => value !== undefined);
}

/** Keeps links that did not change, so that they keep the focus. */
function updateFact(node, [, value]) {
  const [, place] = node.children;
  if (typeof value === "string") return place.firstElementChild ? place.replaceChildren(value) : setText(place, value);
  const made = el("dd", {}, value);
  if (made.innerHTML !== place.innerHTML) place.replaceChildren(...made.childNodes);
}

