// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/** Lets everything run that waits for nothing but promises. */
export const settle = () => new Promise((resolve) => setImmediate(resolve));

/** Timers that run as a test lets milliseconds pass, by the function that this returns; Node 18 has none to mock. */
export function timers(context) {
  const waiting = new Map();
  let now = 0;
  let last = 0;
  context.mock.method(globalThis, "setTimeout", (run, wait) => (waiting.set(++last, { at: now + wait, run }), last));
  context.mock.method(globalThis, "clearTimeout", (id) => waiting.delete(id));
  const first = (end) => [...waiting].filter(([, it]) => it.at <= end).sort(([, one], [, other]) => one.at - other.at)[0];
  return (milliseconds) => {
    const end = now + milliseconds;
    for (let due = first(end); due; due = first(end)) {
      const [id, { at, run }] = due;
      waiting.delete(id);
      now = at;
      run();
    }
    now = end;
  };
}
