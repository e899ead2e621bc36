// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// A trip or a shipment for the one who waits for it. The page holds a token of its own for this trip or shipment alone,
// gets it and refreshes it through fleet-token.js, and asks the engine's REST interface as any customer's app does.

import { byID, el, setText } from "./dom.js";
import { FleetTokens } from "./fleet-token.js";
import { loadLeaflet } from "./map.js";
import { ShareMap } from "./share-map.js";
import { shipmentView, tripView } from "./share-views.js";
import { useTheme } from "./theme.js";

const interval = 5000;
/** The longest wait between two questions after failures. In milliseconds. */
const longestWait = 60_000;

const [, , kind, encoded] = location.pathname.split("/");
const id = decodeURIComponent(encoded);
const isTrip = kind === "trips";
const subject = { kind: isTrip ? "consumer" : "delivery_consumer", id };
const settings = await (await fetch("/page/settings")).json();
const tokens = new FleetTokens({ url: "/" });
let map;
let last;

function resourcePath() {
  const collection = isTrip ? "trips" : "taskTrackingInfo";
  return `/v1/providers/${encodeURIComponent(settings.provider)}/${collection}/${encodeURIComponent(id)}`;
}

/** Asks once; a token that was refused is replaced once before that is told. */
async function ask() {
  for (let attempt = 0; ; attempt += 1) {
    const { token, expiresInSeconds } = await tokens.token(subject);
    setText(byID("token-line"), `Token for this ${isTrip ? "trip" : "shipment"} alone, ${Math.round(expiresInSeconds / 60)} min left`);
    const answer = await fetch(resourcePath(), {
      headers: { Authorization: `Bearer ${token}` }, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(10_000),
    });
    if (answer.ok) return answer.json();
    if (answer.status === 401) {
      tokens.invalidate(subject, token);
      if (attempt === 0) continue;
    }
    const { error } = await answer.json().catch(() => ({}));
    throw Object.assign(new Error(error?.message ?? `The engine answered ${answer.status}.`), { status: answer.status });
  }
}

function show(data) {
  const view = isTrip ? tripView(data) : shipmentView(data);
  setText(byID("kicker"), `${isTrip ? "Trip" : "Shipment"} ${id}`);
  setText(byID("headline"), view.headline);
  setText(byID("sub"), view.sub);
  document.title = `${view.headline} · ${id}`;
  byID("steps").replaceChildren(...view.steps.map(({ name, state }) => el("li", { class: state, "aria-current": state === "now" && "step" }, name)));
  map?.draw(view);
  return view;
}

function tell(error) {
  const isFinal = error.status === 403 || error.status === 404 || error.code === "refused";
  const text = isFinal ? `${error.message}` : `${last ? "This is the last that was heard. " : ""}${error.message} Trying again.`;
  byID("trouble").hidden = false;
  setText(byID("trouble"), text);
  if (!last) setText(byID("headline"), isFinal ? "Nothing to show" : "Waiting for the engine");
}

/** Asks again and again, more seldom after failures and while nobody looks. */
async function follow() {
  let failures = 0;
  for (;;) {
    let wait = interval;
    try {
      last = await ask();
      failures = 0;
      byID("trouble").hidden = true;
      if (show(last).isOver) return;
    } catch (error) {
      failures += 1;
      tell(error);
      wait = Math.max((error.retryAfterSeconds ?? 0) * 1000, Math.min(longestWait, interval * 2 ** failures) * (0.5 + Math.random() / 2));
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    if (document.hidden) await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
  }
}

useTheme(byID("theme"));
if (await loadLeaflet(settings)) map = new ShareMap(byID("map"), settings);
else document.body.classList.add("no-map");
follow();
