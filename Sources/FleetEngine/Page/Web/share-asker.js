// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

// Questions with a token each: which refusals are the token's, so that another one helps, and which are the request's.

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
