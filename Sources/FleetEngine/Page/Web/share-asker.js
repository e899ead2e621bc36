// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Questions with a token each: which refusals are the token's, so that another one helps, and which are the request's.
// And how long to wait between them.

/** The wait between two answers. In milliseconds. */
const interval = 5000;
/** The longest wait between two questions after failures. In milliseconds. */
const longestWait = 60_000;

/** Asks for one subject, again and again. */
export class Asker {
  #tokens;
  #subject;
  #send;
  /** The token of the last answer. */
  #lastToken;
  /** Whether a token was denied with 403 and nothing has succeeded since. */
  #wasDenied = false;

  /**
   * @param {import("./fleet-token.js").FleetTokens} tokens
   * @param {{kind: string, id: string}} subject
   * @param {(held: {token: string, expiresInSeconds: number}) => Promise<Response>} send Sends the question with that token.
   */
  constructor(tokens, subject, send) {
    this.#tokens = tokens;
    this.#subject = subject;
    this.#send = send;
  }

  /** Asks once; a token that was refused is replaced once before that is told. */
  async ask() {
    const held = await this.#tokens.token(this.#subject);
    // A 403 for a token that was sent before is about the request, and another token would not help; nor would it where
    // another token was denied already. That one may be gone: a server that signs without anything random sends it again
    // within its second, so that it is replaced at the next question only.
    const mayBeDenied = held.token !== this.#lastToken && !this.#wasDenied;
    const answer = await this.#attempt(held);
    if (answer.status !== 401 && !(answer.status === 403 && mayBeDenied)) return answer;
    this.#tokens.invalidate(this.#subject, held.token);
    // Where there is no other token, the engine's refusal says more than the lack of one.
    const other = await this.#tokens.token(this.#subject).catch(() => undefined);
    return other ? this.#attempt(other) : answer;
  }

  async #attempt(held) {
    const answer = await this.#send(held);
    this.#lastToken = held.token;
    this.#wasDenied = answer.status === 403 || (this.#wasDenied && !answer.ok);
    return answer;
  }
}

/** The waits between questions: longer ones after failures, until the network is back. */
export class Pace {
  #failures = 0;
  #random;
  #onNetwork = () => {};

  /**
   * @param {import("./fleet-token.js").FleetTokens} tokens Whose own pauses end with the wait when the network is back.
   * @param {() => number} random Gives a number from 0 up to 1.
   */
  constructor(tokens, random = Math.random) {
    this.#random = random;
    addEventListener("online", () => {
      this.#failures = 0;
      tokens.retryNow();
      this.#onNetwork();
    });
  }

  /** Waits after an answer. */
  async afterAnswer() {
    this.#failures = 0;
    await after(interval);
  }

  /**
   * Waits after a failure, for as long as that asks at least; a longer wait ends when the network is back.
   *
   * @param {{retryAfterSeconds?: number}} failure
   */
  async afterFailure({ retryAfterSeconds = 0 }) {
    this.#failures += 1;
    const wait = Math.min(longestWait, interval * 2 ** this.#failures) * (0.5 + this.#random() / 2);
    const network = new Promise((resolve) => { this.#onNetwork = resolve; });
    await Promise.all([after(retryAfterSeconds * 1000), Promise.race([after(wait), network])]);
  }
}

const after = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
