// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// A trip or a shipment for the one who waits for it. The page holds a token of its own for this trip or shipment alone,
// gets it and refreshes it through fleet-token.js, and asks the engine's REST interface as any customer's app does.

import { byID, el, reconcile, setText } from "./dom.js";
import { FleetTokens } from "./fleet-token.js";
import { get } from "./live.js";
import { loadLeaflet } from "./map.js";
import { Asker, Pace } from "./share-asker.js";
import { ShareMap } from "./share-map.js";
import { errorWords, isRefusal, isResource, shipmentView, tripView, troubleWords } from "./share-views.js";
import { useTheme } from "./theme.js";
import { idWords } from "./words.js";

const [, , kind, encoded] = location.pathname.split("/");
const id = decoded(encoded);
const isTrip = kind === "trips";
const subject = { kind: isTrip ? "consumer" : "delivery_consumer", id };
let settings;
let map;
let last;

/** The text of a part of the address; `undefined` where it is none. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function resourcePath() {
  const collection = isTrip ? "trips" : "taskTrackingInfo";
  return `/v1/providers/${encodeURIComponent(settings.provider)}/${collection}/${encodeURIComponent(id)}`;
}

/** Asks once for what is shown. */
async function ask(asker) {
  const answer = await asker.ask();
  // The rest of an answer may not come.
  const body = await answer.json().catch(() => undefined);
  if (!answer.ok) throw Object.assign(new Error(errorWords(body, answer.status)), { status: answer.status });
  if (!isResource(body)) throw silence();
  return body;
}

function send({ token, expiresInSeconds }) {
  setText(byID("token-line"), `Token for this ${isTrip ? "trip" : "shipment"} alone, ${Math.round(expiresInSeconds / 60)} min left`);
  return fetch(resourcePath(), {
    headers: { Authorization: `Bearer ${token}` }, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(10_000),
  }).catch(() => { throw silence(); });
}

const silence = () => new Error("The engine does not answer.");

function show(data) {
  const view = isTrip ? tripView(data) : shipmentView(data);
  setText(byID("kicker"), `${isTrip ? "Trip" : "Shipment"} ${idWords(id)}`);
  setText(byID("headline"), view.headline);
  setText(byID("sub"), view.sub);
  setText(byID("spoken"), view.spoken);
  document.title = `${view.headline} · ${idWords(id)}`;
  reconcile(byID("steps"), view.steps, ({ name }) => name, ({ name }) => el("li", {}, name), (node, { state }) => {
    node.className = state;
    if (state === "now") node.setAttribute("aria-current", "step");
    else node.removeAttribute("aria-current");
  });
  map?.draw(view);
  return view;
}

/** Takes off what was shown. */
function clear() {
  last = undefined;
  document.title = "Nothing to show";
  setText(byID("sub"), "");
  setText(byID("spoken"), "");
  setText(byID("token-line"), "");
  byID("steps").replaceChildren();
  map?.clear();
}

/** Says what is wrong; what the engine will not answer is no longer shown either. */
function tell(error) {
  const refuses = isRefusal(error);
  byID("trouble").hidden = false;
  setText(byID("trouble"), troubleWords(error, last !== undefined));
  if (refuses) clear();
  if (!last) setText(byID("headline"), refuses ? "Nothing to show" : "Waiting for the engine");
}

/** Asks again and again, more seldom after failures and while nobody looks. */
async function follow(tokens) {
  const pace = new Pace(tokens);
  const asker = new Asker(tokens, subject, send);
  for (;;) {
    if (document.hidden) await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
    let wait;
    try {
      const answer = await ask(asker);
      const { isOver } = show(answer);
      last = answer;
      byID("trouble").hidden = true;
      if (isOver) return void setText(byID("token-line"), "");
      wait = pace.afterAnswer();
    } catch (error) {
      tell(error);
      wait = pace.afterFailure(error);
    }
    await wait;
  }
}

/** Begins where the link is one, and tokens may come here. */
async function begin() {
  let tokens;
  try {
    if (id === undefined) throw Object.assign(new Error("This link is broken; ask for it once more."), { status: 404 });
    tokens = new FleetTokens({ url: "/" });
  } catch (error) {
    document.body.classList.add("no-map");
    return tell(error);
  }
  settings = await get("/page/settings", () => tell(silence()));
  if (await loadLeaflet(settings)) map = new ShareMap(byID("map"), settings);
  else document.body.classList.add("no-map");
  await follow(tokens);
}

useTheme(byID("theme"));
begin();
