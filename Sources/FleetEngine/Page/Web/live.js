// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// What this page knows of the engine: its settings, and its state, kept up to date by server-sent events.

const kinds = ["vehicles", "trips", "deliveryVehicles", "tasks", "tokens", "refusals", "rules", "deviations"];
const trailPoints = 600;
/** The server sends something every ten seconds at least. In milliseconds. */
const silence = 30_000;
/** The longest wait between two questions after failures. In milliseconds. */
const longestWait = 30_000;

/**
 * Asks this server for JSON until it is there, more and more seldom.
 *
 * @param {string} path
 * @param {() => void} onFailure is told of each failure
 */
export async function get(path, onFailure) {
  for (let wait = 1000; ; wait = Math.min(longestWait, wait * 2)) {
    try {
      const answer = await fetch(path, { signal: AbortSignal.timeout(10_000) });
      if (answer.ok) return await answer.json();
    } catch {
      // It is told below, as an answer of another kind is.
    }
    onFailure();
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/**
 * Tells by `change` of news, by `connection` of one that came or went, and by `restart` of a whole state after another,
 * as an engine sends that started again.
 */
export class Live extends EventTarget {
  /** Each kind is a Map by id. */
  state = Object.fromEntries(kinds.map((kind) => [kind, new Map()]));
  /** Places by vehicle, oldest first: `{vehicles, deliveryVehicles}`, each a Map of arrays. */
  trails = { vehicles: new Map(), deliveryVehicles: new Map() };
  truncated = [];
  /** The steps of the script that lets things go wrong, where one is set. */
  chaos = [];
  /** `undefined` until it is known. */
  isConnected = undefined;
  /** Whether no state has come yet, so that nothing can be said of what it lacks. */
  isUnknown = true;
  #hasBegun = false;
  #ahead = 0;
  #source;
  #watchdog;

  /** The server's time in Unix milliseconds. */
  get now() {
    return Date.now() + this.#ahead;
  }

  /**
   * Follows the engine from now on, while the page can be seen.
   *
   * A browser makes six connections or so to a server over HTTP/1.1, for all its tabs: those that nobody sees leave theirs
   * to the others.
   */
  connect() {
    // Settings that were read long before anybody sees the page may be those of a former engine.
    this.#hasBegun = document.hidden;
    const follow = () => (document.hidden ? this.#close() : this.#open());
    document.addEventListener("visibilitychange", follow);
    follow();
  }

  #close() {
    clearTimeout(this.#watchdog);
    this.#source?.close();
    this.#source = undefined;
  }

  #open() {
    this.#source?.close();
    const source = new EventSource("/page/events");
    this.#source = source;
    const parts = [];
    source.addEventListener("part", (event) => this.#take(event, ({ state }) => parts.push(state)));
    source.addEventListener("snapshot", (event) => {
      this.#read(event, ({ state }) => this.#replace(parts.splice(0), state));
      if (this.#hasBegun) this.dispatchEvent(new Event("restart"));
      this.#hasBegun = true;
    });
    source.addEventListener("trails", (event) => this.#take(event, ({ trails }) => this.#addTrails(trails)));
    source.addEventListener("change", (event) => this.#read(event, (data) => this.#apply(data.changes)));
    source.addEventListener("beat", (event) => this.#read(event, () => {}));
    source.addEventListener("error", () => {
      // Whoever comes back to the middle of a snapshot gets it from the beginning.
      parts.length = 0;
      this.#connected(false);
      // A browser gives up where the server answered with an error, such as too many readers.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => this.#source === source && this.#open(), 5000);
    });
    this.#watch();
  }

  #watch() {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => {
      // Closing a source raises no event.
      this.#connected(false);
      this.#open();
    }, silence);
  }

  /** Takes what shows nothing new by itself: a part of a snapshot, or trails, which come with the next event that does. */
  #take(event, use) {
    const data = JSON.parse(event.data);
    this.#ahead = data.now - Date.now();
    use(data);
    this.#watch();
  }

  #read(event, use) {
    this.#take(event, use);
    this.#connected(true);
    this.dispatchEvent(new Event("change"));
  }

  #connected(isConnected) {
    if (this.isConnected === isConnected) return;
    this.isConnected = isConnected;
    this.dispatchEvent(new Event("connection"));
  }

  /** Takes a state in the place of the one that is here; the last part of it completes it. */
  #replace(parts, last) {
    for (const kind of kinds) this.state[kind] = new Map([...parts, last].flatMap((part) => Object.entries(part[kind])));
    this.isUnknown = false;
    this.truncated = last.truncated;
    this.chaos = last.chaos;
    // Those of what stays are shown until the new ones come.
    for (const [kind, trails] of Object.entries(this.trails)) {
      for (const id of trails.keys()) if (!this.state[kind].has(id)) trails.delete(id);
    }
  }

  #addTrails(trails) {
    for (const kind of Object.keys(this.trails)) {
      for (const [id, trail] of Object.entries(trails[kind])) this.trails[kind].set(id, trail);
    }
  }

  #apply(changes) {
    for (const kind of kinds) {
      const { put = {}, drop = [] } = changes[kind] ?? {};
      for (const [id, entry] of Object.entries(put)) {
        this.state[kind].set(id, entry);
        if (this.trails[kind] && entry.place) this.#extend(this.trails[kind], id, entry.place);
      }
      for (const id of drop) {
        this.state[kind].delete(id);
        this.trails[kind]?.delete(id);
      }
    }
    this.truncated = changes.truncated ?? this.truncated;
    this.chaos = changes.chaos ?? this.chaos;
  }

  #extend(trails, id, place) {
    const trail = trails.get(id) ?? [];
    const last = trail.at(-1);
    if (last && last.latitude === place.latitude && last.longitude === place.longitude) return;
    trail.push(place);
    if (trail.length > trailPoints) trail.shift();
    trails.set(id, trail);
  }
}
