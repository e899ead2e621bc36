"use strict";

// Asks this server for its state every second and draws it. Everything from outside goes in as text, never as markup.

const trails = new Map();
const trailLength = 240;
const svg = "http://www.w3.org/2000/svg";

function element(name, text, className) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

function row(cells) {
  const line = document.createElement("tr");
  for (const [text, kind] of cells) {
    const cell = element("td", undefined, kind === "code" ? "" : kind);
    cell.append(kind === "code" ? element("code", text) : text);
    line.append(cell);
  }
  return line;
}

function fill(id, rows, columns, empty) {
  const body = document.getElementById(id);
  if (rows.length > 0) return body.replaceChildren(...rows);
  const cell = element("td", empty, "empty");
  cell.colSpan = columns;
  const line = document.createElement("tr");
  line.append(cell);
  body.replaceChildren(line);
}

function shape(name, attributes, text) {
  const node = document.createElementNS(svg, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

function duration(seconds) {
  if (seconds < 0) return "expired";
  const minutes = Math.floor(seconds / 60);
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

function draw(vehicles) {
  const map = document.getElementById("map");
  for (const vehicle of vehicles) {
    const trail = trails.get(vehicle.id) ?? [];
    const last = trail[trail.length - 1];
    if (!last || last[0] !== vehicle.longitude || last[1] !== vehicle.latitude) {
      trail.push([vehicle.longitude, vehicle.latitude]);
      if (trail.length > trailLength) trail.shift();
    }
    trails.set(vehicle.id, trail);
  }
  const points = vehicles.flatMap((vehicle) => trails.get(vehicle.id));
  if (points.length === 0) {
    map.replaceChildren(shape("text", { x: 30, y: 50, class: "empty" }, "No vehicle is online."));
    return;
  }
  // A plain projection: longitudes shrink with the cosine of the latitude; the box of all points fills the picture.
  const shrink = Math.cos((points[0][1] * Math.PI) / 180);
  const xs = points.map(([longitude]) => longitude * shrink);
  const ys = points.map(([, latitude]) => -latitude);
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const span = Math.max((Math.max(...xs) - left) / 860, (Math.max(...ys) - top) / 500, 1e-6);
  const place = ([longitude, latitude]) => [70 + (longitude * shrink - left) / span, 50 + (-latitude - top) / span];

  map.replaceChildren(...vehicles.map((vehicle, index) => {
    const group = shape("g", { class: `v${index % 6}` });
    const line = trails.get(vehicle.id).map((point) => place(point).map((n) => n.toFixed(1)).join(",")).join(" ");
    const [x, y] = place([vehicle.longitude, vehicle.latitude]);
    group.append(
      shape("polyline", { class: "trail", points: line }),
      shape("circle", { class: "dot", cx: x, cy: y, r: 9 }),
      shape("text", { x: x + 14, y: y + 5 }, vehicle.id),
    );
    return group;
  }));
}

function show(state) {
  draw(state.vehicles);
  fill("vehicles", state.vehicles.map((vehicle) => row([
    [vehicle.id, "code"],
    [`${vehicle.latitude.toFixed(5)}, ${vehicle.longitude.toFixed(5)}`, "code"],
    [vehicle.trips.join(", ") || "–", ""],
    [`${Math.max(0, Math.round((state.now - vehicle.reported) / 1000))} s ago`, "number"],
  ])), 4, "No vehicle is online.");
  fill("tokens", state.tokens.map((token) => row([
    [token.fingerprint, "code"], [token.role, ""], [token.subject, "code"], [token.lastMethod, ""],
    [String(token.count), "number"],
    [duration(token.secondsLeft), token.secondsLeft > 300 ? "number good" : "number bad"],
  ])), 6, "No token was used yet.");
  fill("refusals", state.refusals.map((refusal) => row([
    [new Date(refusal.time).toLocaleTimeString(), "number"], [refusal.method, ""], [refusal.reason, "bad"],
    [refusal.message, ""], [refusal.fingerprint ?? "none", "code"],
  ])), 5, "Nothing was refused.");
  const online = state.vehicles.length;
  document.getElementById("status").textContent =
    `provider ${state.provider} · ${online} online · ${state.tokens.length} tokens · ${state.refusals.length} refusals`;
}

async function poll() {
  try {
    const answer = await fetch("/page/state", { cache: "no-store" });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    show(await answer.json());
  } catch (error) {
    document.getElementById("status").textContent = `The engine does not answer (${error.message}); trying again.`;
  }
  setTimeout(poll, 1000);
}

poll();
