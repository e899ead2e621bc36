// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Something that happened to a token, for logs and metrics; fingerprints only, never a token.
public enum TokenEvent: Sendable {
    /// A new token arrived, with this much life.
    case fetched(TokenSubject, fingerprint: String, life: Duration)
    /// A still valid token was handed out while a newer one was due, with this much life left.
    case servedStale(TokenSubject, fingerprint: String, life: Duration)
    /// A fetch failed.
    case failed(TokenSubject, TokenClientError)
    /// The service refused a token, and it was dropped.
    case invalidated(TokenSubject, fingerprint: String)
}
