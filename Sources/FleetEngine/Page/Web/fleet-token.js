// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Fetches, keeps and refreshes Fleet Engine tokens in a browser. No dependencies; see docs/fleet-token.md.
//
//   const tokens = new FleetTokens({ url: "https://tokens.example", headers: async () => ({ Authorization: … }) });
//   const { token, expiresInSeconds } = await tokens.token({ kind: "consumer", id: "trip-7" });
//   new google.maps.journeySharing.FleetEngineTripLocationProvider({ authTokenFetcher: tokens.authTokenFetcher, … });
//
// The rules: one fetch at a time for each subject, whoever asks; a refresh in the background before a token gets short;
// a life counted by the monotonic clock from the start of the fetch; back-off with jitter after a failure; and a valid
// token is never hidden by an error.

/** Why there is no token: `code` for programs, `message` for people; neither holds a token. */
export class FleetTokenError extends Error {
  /**
   * @param {"invalidArgument"|"refused"|"unavailable"|"timeout"|"invalidAnswer"|"tooManyRefusals"} code
   * @param {string} message
   * @param {{status?: number, retryAfterSeconds?: number, cause?: unknown}} details
   *   `retryAfterSeconds` is how long to wait, where the server asked for it; from a FleetTokens, what is left of the
   *   wait that it keeps to.
   */
  constructor(code, message, { status, retryAfterSeconds, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "FleetTokenError";
    this.code = code;
    this.status = status;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The claim that holds the id of each kind. */
const idClaims = new Map([
  ["driver", "vehicleid"], ["consumer", "tripid"], ["delivery_driver", "deliveryvehicleid"],
  ["delivery_consumer", "trackingid"], ["fleet_reader", undefined],
]);
/** The claims that reach a resource; custom claims reach none. */
const claimNames = ["vehicleid", "tripid", "deliveryvehicleid", "taskid", "taskids", "trackingid"];
/** How far `iat` is assumed to lie before the minting when nothing tells. In seconds. */
const assumedBackdating = 300;
/** A token that comes with less than this beyond the minimum is not replaced at once again. In seconds. */
const shortWindow = 60;
/** By how much two answers about one token may differ: they come within a fetch's time, and tell whole seconds. */
const agreement = 10;
const longestAnswer = 64 * 1024;
/** The lowest and the highest value of each option that is a number; seconds, unless it counts something. */
const ranges = {
  minimumLife: [0, 1800], refreshBefore: [0, 3600], fetchTimeout: [0.001, 3600], backOffBase: [0.001, 3600],
  backOffCap: [0.001, 3600], retryAfterLimit: [0, 86_400], refusalsPerMinute: [1, 1000], capacity: [1, 1_000_000],
};
const counts = ["refusalsPerMinute", "capacity"];
const credentialModes = ["omit", "same-origin", "include"];

/** The browser's clock. A page that slept shows on the wall clock only: the monotonic one may stand still meanwhile. */
const browserClock = {
  monotonic: () => performance.now() / 1000,
  wall: () => Date.now() / 1000,
  after: (seconds, run) => setTimeout(run, seconds * 1000),
  cancel: (timer) => clearTimeout(timer),
};

/** A cache of tokens by subject. A subject is `{kind, id, task}`: kind is the token server's route, such as `consumer`. */
export class FleetTokens {
  #entries = new Map();
  #settings;

  /**
   * An option that is undefined counts as absent; one that makes no sense throws `invalidArgument`.
   *
   * @param {object} options
   * @param {string|URL} options.url The token server: tokens come from `URL/token/KIND/ID`.
   * @param {() => HeadersInit|Promise<HeadersInit>} [options.headers] What identifies the app's user, asked at each fetch.
   *   A FleetTokenError that it throws is the callers' error too. What `fetch` throws without a network or when it is
   *   aborted becomes `unavailable`, and so does every TypeError, as that of a lost network looks like any other. Anything
   *   else becomes `refused`.
   * @param {RequestCredentials} [options.credentials] Whether cookies go along; `same-origin` unless told.
   * @param {number} [options.minimumLife] Seconds that every token has while the server answers: 300.
   * @param {number} [options.refreshBefore] Seconds before the end at which a refresh may begin: 600.
   * @param {number} [options.fetchTimeout] Seconds that one fetch may take: 8.
   * @param {number} [options.backOffBase] The longest wait after the first failure, in seconds: 1.
   * @param {number} [options.backOffCap] What that grows to: 60.
   * @param {number} [options.retryAfterLimit] The longest wait that a server may ask for: 600.
   * @param {number} [options.refusalsPerMinute] How many refused tokens of a subject are replaced in a minute: 5.
   * @param {number} [options.capacity] How many subjects are remembered, but for those whose fetch is under way: 100.
   * @param {typeof fetch} [options.fetch] For tests.
   * @param {() => number} [options.random] For tests: from 0 to below 1.
   * @param {typeof browserClock} [options.clock] For tests.
   */
  constructor(options) {
    this.#settings = { ...settingsOf(options ?? {}), base: serverURL(options?.url) };
    /** What the Maps JavaScript library takes as `authTokenFetcher`. */
    this.authTokenFetcher = async (asked) => this.token(subjectOf(asked ?? {}));
  }

  /**
   * A token that lives at least the minimum life while the server answers.
   *
   * @param {{kind: string, id?: string, task?: string}} subject
   * @returns {Promise<{token: string, expiresInSeconds: number}>}
   */
  async token(subject) {
    const entry = this.#entry(subject);
    const now = this.#now();
    const held = this.#valid(entry, now);
    const stage = held ? this.#stage(held, now) : "none";
    if (stage === "fresh") return this.#hand(held, now);
    if (stage === "stale") {
      if (!this.#isBackingOff(entry, now)) this.#fetch(entry).catch(() => {});
      return this.#hand(held, now);
    }
    if (this.#isBackingOff(entry, now)) {
      if (held) return this.#hand(held, now);
      throw failureOf(entry, now);
    }
    try {
      await this.#fetch(entry);
    } catch (error) {
      const still = this.#valid(entry, this.#now());
      if (!still) throw error;
      return this.#hand(still, this.#now());
    }
    const fetched = this.#valid(entry, this.#now());
    if (!fetched) throw new FleetTokenError("unavailable", "The token was refused or forgotten while it was fetched; ask again.");
    return this.#hand(fetched, this.#now());
  }

  /**
   * Tells that the service refused a token with 401, or with 403 though it was not sent before and nothing was denied since
   * the last success, so that the next caller gets another. Does nothing when that token was replaced meanwhile, so several refused calls cost one fetch.
   */
  invalidate(subject, token) {
    const entry = this.#entry(subject);
    if (entry.held?.token !== token) return;
    const { refusalsPerMinute } = this.#settings;
    const now = this.#now();
    entry.held = undefined;
    const recent = entry.refused.filter((refusal) => now.monotonic - refusal.at < 60);
    if (recent.length >= refusalsPerMinute) {
      const wait = 60 - (now.monotonic - recent[0].at);
      const failure = new FleetTokenError(
        "tooManyRefusals", "The service keeps refusing new tokens of this subject; see why before asking again.",
        { retryAfterSeconds: Math.ceil(wait) });
      this.#backOff(entry, failure, now);
    }
    // Whatever their age: a token that was refused once is not handed out again.
    entry.refused = [...entry.refused, { token, at: now.monotonic }].slice(-refusalsPerMinute);
  }

  /**
   * Ends the pauses after failures, so that the next call fetches at once.
   *
   * For what this cannot know: that the user has signed in again, or that the network is back. A wait that the server asked
   * for ends too, so do not call it after each error. Tokens in hand are kept, a fetch under way goes on, and nothing is
   * fetched before somebody asks. When the next fetch fails, the pauses go on growing; when one under way does, they begin
   * anew. The one with `tooManyRefusals` holds.
   */
  retryNow() {
    const now = this.#now();
    for (const entry of this.#entries.values()) {
      // It may fail for what was so before.
      if (entry.flight) entry.failures = 0;
      if (this.#isBackingOff(entry, now) && entry.failure.code !== "tooManyRefusals") entry.retryAt = now.monotonic;
    }
  }

  /**
   * Forgets every token and failure, and what fetches bring that are under way: for another user of the app, who signs in
   * or whose predecessor signs out. Who waits for such a fetch gets `unavailable`; who asks from now on begins another.
   */
  forget() {
    for (const entry of this.#entries.values()) {
      entry.held = undefined;
      entry.isForgotten = true;
    }
    this.#entries.clear();
  }

  #entry({ kind, id, task } = {}) {
    // The caller's object may change while a token is fetched, and before the next is.
    const subject = { kind, id, task };
    const key = keyOf(subject);
    const entry = this.#entries.get(key) ?? { subject, held: undefined, flight: undefined, failures: 0, retryAt: 0, refused: [] };
    // A Map keeps its order, so the first key is the one that was not asked for the longest.
    this.#entries.delete(key);
    // One whose fetch is under way stays: who asks for it meanwhile would begin another.
    for (const [oldest, { flight }] of this.#entries) {
      if (this.#entries.size < this.#settings.capacity) break;
      if (!flight) this.#entries.delete(oldest);
    }
    this.#entries.set(key, entry);
    return entry;
  }

  #now() {
    return { monotonic: this.#settings.clock.monotonic(), wall: this.#settings.clock.wall() };
  }

  /** The token in hand, unless its life is over. */
  #valid(entry, now) {
    return entry.held && now.monotonic < entry.held.start.monotonic + entry.held.life ? entry.held : undefined;
  }

  #stage(held, now) {
    const age = ageOf(held, now);
    if (age < held.refreshAge) return "fresh";
    return age < held.floorAge ? "stale" : "expiring";
  }

  #hand(held, now) {
    return { token: held.token, expiresInSeconds: Math.max(0, Math.floor(held.life - ageOf(held, now))) };
  }

  #isBackingOff(entry, now) {
    return now.monotonic < entry.retryAt;
  }

  /** The fetch that is under way, or a new one. */
  #fetch(entry) {
    entry.flight ??= this.#load(entry).finally(() => { entry.flight = undefined; });
    return entry.flight;
  }

  async #load(entry) {
    const start = this.#now();
    try {
      const answer = await this.#request(entry.subject);
      if (entry.refused.some(({ token }) => token === answer.token)) {
        throw new FleetTokenError("invalidAnswer", "The token server sent a token again that the service has refused.");
      }
      if (!entry.isForgotten) this.#keep(entry, answer, start);
    } catch (error) {
      const failure = error instanceof FleetTokenError
        ? error : new FleetTokenError("unavailable", "The token server could not be reached.", { cause: error });
      const now = this.#now();
      this.#backOff(entry, failure, now);
      throw failureOf(entry, now);
    }
  }

  #keep(entry, { token, life: promised, refreshAfter }, start) {
    const { minimumLife, refreshBefore, random } = this.#settings;
    const now = this.#now();
    const old = this.#valid(entry, now);
    if (now.monotonic >= start.monotonic + promised) {
      throw new FleetTokenError("invalidAnswer", "The token had no life left when it came; check what is cached on the way.");
    }
    if (old && old.token !== token && old.life - ageOf(old, now) > promised - ageOf({ start }, now)) {
      throw new FleetTokenError("invalidAnswer", "The token server sent a token that ends before the one in hand.");
    }
    // What was learned first about a token stands: an answer from a cache may promise more than there is. One that does
    // not is the server's own, and a wall clock that went further was set: it counts from here on.
    // That promises less than at first, by what has passed; a copy of the first answer promises as much.
    const left = old?.token === token ? old.start.monotonic + old.life - start.monotonic : Infinity;
    const isCopy = old?.token === token && ageOf(old, start) > agreement && promised > old.life - agreement;
    if (promised > left + agreement || isCopy) {
      throw new FleetTokenError("invalidAnswer", "The token server sent the token in hand once more; check what it caches.");
    }
    const life = Math.min(promised, left);
    const age = now.monotonic - start.monotonic;
    const floorAge = life - minimumLife;
    // However early a refresh is wanted, not at once again.
    const earliest = age + Math.max(0, Math.min(shortWindow, (floorAge - age) / 2));
    const windowStart = Math.max(earliest, life - refreshBefore);
    const wanted = refreshAfter === undefined
      ? windowStart + Math.max(0, floorAge - windowStart) * 0.5 * random() : Math.max(earliest, refreshAfter);
    entry.held = { token, life, start, floorAge, refreshAge: Math.min(wanted, floorAge) };
    if (floorAge - age < shortWindow) {
      this.#backOff(entry, new FleetTokenError("invalidAnswer", "The token server sends tokens that end too soon."), now);
    } else {
      entry.failures = 0;
      entry.retryAt = 0;
      entry.failure = undefined;
    }
  }

  #backOff(entry, failure, now) {
    const { backOffBase, backOffCap, retryAfterLimit, random } = this.#settings;
    entry.failures += 1;
    entry.failure = failure;
    const ceiling = Math.min(backOffCap, backOffBase * 2 ** Math.min(entry.failures - 1, 20));
    const wait = Math.max(ceiling * random(), Math.min(failure.retryAfterSeconds ?? 0, retryAfterLimit));
    entry.retryAt = now.monotonic + wait;
  }

  async #request(subject) {
    const { base, headers, credentials, fetch, fetchTimeout, clock } = this.#settings;
    const stop = new AbortController();
    let timer;
    const start = clock.monotonic();
    let spent;
    let refusal;
    const timeout = new Promise((_, reject) => {
      timer = clock.after(fetchTimeout, () => {
        stop.abort();
        // A status without its text says more than that the text did not come.
        if (refusal) return reject(refusalOf(refusal, "", clock));
        reject(new FleetTokenError("timeout", timeIsUp(fetchTimeout, spent)));
      });
    });
    const load = async () => {
      let own;
      try {
        own = recordOf(await headers());
      } catch (error) {
        if (error instanceof FleetTokenError) throw error;
        throw headersFailure(error);
      }
      spent = clock.monotonic() - start;
      const response = await fetch(new URL(pathOf(subject), base), {
        headers: { Accept: "application/json", ...own },
        credentials, signal: stop.signal, cache: "no-store", redirect: "manual", referrerPolicy: "no-referrer",
      });
      if (response.status === 200) return readAnswer(await textOf(response), response.headers, subject);
      refusal = response;
      throw refusalOf(response, await saidBy(response), clock);
    };
    try {
      return await Promise.race([load(), timeout]);
    } finally {
      clock.cancel(timer);
    }
  }
}

/** What did not come in time; `spent` is how many seconds passed before the token server was asked, where it was. */
function timeIsUp(limit, spent) {
  if (spent === undefined) return `The app's headers function did not answer within ${limit} s, so the token server was not asked.`;
  const seconds = (value) => `${Math.round(value * 1000) / 1000} s`;
  // Nearly all of the time is as good as all of it; with less, the server is not the one to blame.
  const time = spent * 10 > limit
    ? `the ${seconds(Math.max(0, limit - spent))} left of ${limit} s, of which the app's headers function took ${seconds(spent)}` : `${limit} s`;
  return `The token server did not answer within ${time}.`;
}

/** What the app's headers function failed with; that the network fails does not mean that the user is signed out. */
function headersFailure(cause) {
  const lacksNetwork = ["TypeError", "NetworkError", "TimeoutError", "AbortError"].includes(cause?.name);
  const fix = lacksNetwork ? "its cause is one that fetch has without a network" : "sign in again";
  return new FleetTokenError(
    lacksNetwork ? "unavailable" : "refused",
    `The app's headers function failed, so the token server was not asked; ${fix}.`, { cause });
}

/** Headers as a record, also where they come as pairs or as `Headers`, which have no members to copy. */
function recordOf(headers) {
  return typeof headers?.[Symbol.iterator] === "function" ? Object.fromEntries(headers) : headers;
}

/** What the last fetch failed with; where that asks for a wait, with what is left of the one that is kept to. */
function failureOf({ failure, retryAt }, now) {
  const { code, message, status, retryAfterSeconds, cause } = failure;
  // In whole milliseconds, as the sums of a clock's fractions come to a little more than the wait.
  const left = Math.ceil(Math.round((retryAt - now.monotonic) * 1000) / 1000);
  if ((retryAfterSeconds ?? left) === left) return failure;
  return new FleetTokenError(code, message, { status, retryAfterSeconds: left, cause });
}

/** How old a token is, by the clock that went further: after a sleep that is the wall clock. */
function ageOf({ start }, now) {
  return Math.max(now.monotonic - start.monotonic, now.wall - start.wall);
}

/** The defaults, and the options that are given in their place, checked. */
function settingsOf(options) {
  const settings = {
    headers: async () => ({}),
    credentials: "same-origin",
    minimumLife: 300,
    refreshBefore: 600,
    fetchTimeout: 8,
    backOffBase: 1,
    backOffCap: 60,
    retryAfterLimit: 600,
    refusalsPerMinute: 5,
    capacity: 100,
    fetch: (...request) => globalThis.fetch(...request),
    random: Math.random,
    clock: browserClock,
  };
  const require = (holds, why) => {
    if (!holds) throw new FleetTokenError("invalidArgument", why);
  };
  for (const name of Object.keys(settings)) {
    if (options[name] !== undefined) settings[name] = options[name];
  }
  for (const [name, [lowest, highest]] of Object.entries(ranges)) {
    const value = settings[name];
    const isCount = counts.includes(name);
    const isNumber = isCount ? Number.isInteger(value) : Number.isFinite(value);
    require(
      isNumber && value >= lowest && value <= highest,
      `${name} is ${typeof value === "number" ? value : "not a number"}; `
        + `it takes a ${isCount ? "whole " : ""}number from ${lowest} to ${highest}.`);
  }
  for (const name of ["headers", "fetch", "random"]) require(typeof settings[name] === "function", `${name} is not a function.`);
  require(credentialModes.includes(settings.credentials), `credentials is none of ${credentialModes.join(", ")}.`);
  require(settings.clock, "clock is not a clock; leave it out.");
  return settings;
}

function serverURL(address) {
  const text = typeof address === "string" ? address : address?.href;
  if (typeof text !== "string" || text.trim() === "") {
    throw new FleetTokenError("invalidArgument", "url is missing; name the token server's address, such as https://tokens.example.");
  }
  let url;
  try {
    url = new URL(text, globalThis.location?.href);
  } catch {
    throw new FleetTokenError("invalidArgument", "url is not the address of a token server.");
  }
  const isLoopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback)) {
    throw new FleetTokenError(
      "invalidArgument", `url begins with ${url.protocol}, over which tokens do not travel; use https, or this machine.`);
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new FleetTokenError(
      "invalidArgument", "url holds a user, a query or a fragment, which no request carries; use headers for what signs in.");
  }
  if (!url.pathname.endsWith("/")) url.pathname += "/";
  return url;
}

function keyOf(subject) {
  pathOf(subject);
  return JSON.stringify([subject.kind, subject.id ?? "", subject.task ?? ""]);
}

function pathOf({ kind, id, task }) {
  if (!idClaims.has(kind)) throw new FleetTokenError("invalidArgument", `There is no token of the kind ${kind}.`);
  if (kind === "fleet_reader") return "token/fleet_reader";
  const isOne = (value) => typeof value === "string" && !["", "*", ".", ".."].includes(value);
  if (!isOne(id)) throw new FleetTokenError("invalidArgument", `A ${kind} token takes one id.`);
  if (task && !isOne(task)) throw new FleetTokenError("invalidArgument", `A ${kind} token takes one task, or none.`);
  try {
    const query = task ? `?task=${encodeURIComponent(task)}` : "";
    return `token/${kind}/${encodeURIComponent(id)}${query}`;
  } catch (error) {
    throw new FleetTokenError("invalidArgument", `An id of the ${kind} token holds half a character.`, { cause: error });
  }
}

/** Whose token the Maps library asks for: `*` stands for everything of a kind, and so does a service without any id. */
function subjectOf({ context, serviceType }) {
  const { deliveryVehicleId, taskId, trackingId, tripId, vehicleId } = context ?? {};
  const isOne = (id) => Boolean(id) && id !== "*";
  if (isOne(trackingId)) return { kind: "delivery_consumer", id: trackingId };
  if (isOne(tripId)) return { kind: "consumer", id: tripId };
  // Every task, beside one vehicle, is more than a driver's token reaches.
  if (isOne(deliveryVehicleId) && taskId !== "*") return { kind: "delivery_driver", id: deliveryVehicleId, task: taskId };
  if (isOne(vehicleId)) return { kind: "driver", id: vehicleId };
  if (isOne(taskId)) {
    throw new FleetTokenError(
      "invalidArgument", "No token is for a task alone; name its deliveryVehicleId too, or the trackingId of its shipment.");
  }
  if (tripId || vehicleId || serviceType === "TRIP_SERVICE") {
    throw new FleetTokenError(
      "invalidArgument",
      "A fleet reader's token is for scheduled tasks, and no other is for everything; name a tripId or a vehicleId.");
  }
  return { kind: "fleet_reader" };
}

/** A body's text, of which no more is read than any answer has; undefined where it is longer. */
async function textOf(response) {
  const reader = response.body?.getReader?.();
  if (!reader) {
    const text = await response.text();
    return text.length > longestAnswer ? undefined : text;
  }
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    length += value.byteLength;
    if (length > longestAnswer) {
      reader.cancel().catch(() => {});
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** Reads what the vendor's sample servers answer, and this project's relative times. */
function readAnswer(text, headers, subject) {
  const invalid = (why) => new FleetTokenError("invalidAnswer", `The token server's answer ${why}.`);
  if (text === undefined) throw invalid("is too long");
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw invalid("is not JSON");
  }
  const token = answer?.jwt ?? answer?.token;
  if (typeof token !== "string" || token === "") throw invalid("holds no token");
  const claims = claimsOf(token);
  if (claims && !isExactlyClaimed(subject, claims.authorization)) {
    throw invalid(`holds a token that does not claim exactly the ${subject.kind} that was asked for`);
  }
  // Only differences count: no clock of this machine is compared with one of the server.
  const told = [
    numberOf(answer.expires_in),
    (numberOf(answer.expirationTimestamp) - numberOf(answer.creationTimestamp)) / 1000,
    (numberOf(answer.expiration_timestamp_ms) - numberOf(answer.creation_timestamp_ms)) / 1000,
  ].find(Number.isFinite);
  const span = claims?.exp - claims?.iat;
  // Both times are the server's own: one that kept its answer promises more than is left.
  const left = claims?.exp - secondsOf(headers.get("Date"));
  const stated = told ?? (Number.isFinite(left) ? left - 1 : span - assumedBackdating);
  let life = Math.min(stated, Number.isFinite(span) && span > 0 ? span : Infinity);
  if (left < life) life = left - 1;
  // A cache on the way passes on the server's old Date, and says how long it kept the answer.
  // Of several ages, the first counts.
  const age = delayOf(headers.get("Age")?.split(",")[0]) ?? 0;
  life -= age;
  if (!Number.isFinite(life)) throw invalid("does not say how long the token lives");
  if (life <= 0) throw invalid("leaves the token no life; check the server's clock and cache, and send expires_in");
  const hint = numberOf(answer.refresh_after);
  const refreshAfter = Number.isFinite(hint) && hint >= 0 ? Math.max(0, hint - age) : undefined;
  return { token, life, refreshAfter };
}

/** A number, also one that the server writes as a text; otherwise NaN. */
function numberOf(value) {
  if (typeof value === "string" && /^-?\d+$/.test(value)) return Number(value);
  return typeof value === "number" ? value : NaN;
}

/** Whether the claims reach the subject's own resource and no other; a reader may have any. */
function isExactlyClaimed({ kind, id, task }, authorization) {
  if (kind === "fleet_reader") return true;
  const asked = { [idClaims.get(kind)]: id, ...(task && { taskid: task }) };
  // The service's ids are in normalisation form C, however they were typed.
  const normal = (value) => (typeof value === "string" ? value.normalize() : value);
  return claimNames.every((name) => normal(authorization?.[name]) === normal(asked[name]));
}

/** The claims of a token, unless it is opaque. */
function claimsOf(token) {
  try {
    const part = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const bytes = Uint8Array.from(atob(part), (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes)) ?? undefined;
  } catch {
    return undefined;
  }
}

/** The text of a refusal's error, or an empty one where it has none that can be read: the status says enough. */
async function saidBy(response) {
  try {
    const { message } = JSON.parse(await textOf(response)).error;
    return typeof message === "string" ? message.slice(0, 300) : "";
  } catch {
    return "";
  }
}

function refusalOf(response, said, clock) {
  const { headers } = response;
  // A browser keeps from the page which redirect it was: the status is 0.
  const status = response.status || undefined;
  const isRedirect = status === undefined || (status >= 300 && status < 400);
  const told = isRedirect
    ? "answered with a redirect, which would carry credentials elsewhere; give the final address as url"
    : `answered ${status}`;
  const header = headers.get("Retry-After");
  // A date is one of the server's clock, which its Date tells where the page may read it.
  const now = secondsOf(headers.get("Date"));
  const delays = (header ?? "").split(",").map(delayOf).filter((delay) => delay !== undefined);
  const seconds = delays.length > 0
    ? Math.max(...delays) : secondsOf(header) - (Number.isFinite(now) ? now : clock.wall());
  return new FleetTokenError(
    codeOf(response.status), `The token server ${told}.${said && ` ${said}`}`,
    { status, retryAfterSeconds: Number.isFinite(seconds) && seconds > 0 ? seconds : undefined });
}

/** What a status other than 200, the only one that carries a token, comes to. */
function codeOf(status) {
  if (status < 400) return "invalidAnswer";
  return status < 500 && ![408, 429].includes(status) ? "refused" : "unavailable";
}

/** The Unix time of a header's date, or NaN. */
function secondsOf(date) {
  return Date.parse(date ?? "") / 1000;
}

/** A whole number of seconds in a header, with or without blanks round it, or undefined. */
function delayOf(text) {
  return /^[ \t]*\d+[ \t]*$/.test(text ?? "") ? Number(text) : undefined;
}
