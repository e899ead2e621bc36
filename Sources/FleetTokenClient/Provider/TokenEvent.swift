// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Something that happened to a token, for logs and metrics; fingerprints only, never a token.
public enum TokenEvent: Sendable {
    /// A subject's first token arrived from the server, or the first after a refusal, with this much life.
    case fetched(TokenSubject, fingerprint: String, life: Duration)
    /// A token arrived that replaces an older one, with this much life.
    case refreshed(TokenSubject, fingerprint: String, life: Duration)
    /// A token was found in the ``TokenStore``, with at least this much life.
    case restored(TokenSubject, fingerprint: String, life: Duration)
    /// A still valid token was handed out while a newer one was due, with this much life left.
    case servedStale(TokenSubject, fingerprint: String, life: Duration)
    /// A fetch failed; when the token server refused, the error's code is `refused`.
    case failed(TokenSubject, TokenClientError)
    /// The engine refused a token, and it was dropped.
    case refused(TokenSubject, fingerprint: String)
    /// The phone's clock is wrong, differently wrong than last reported, or right again.
    case clockError(DeviceClockError)
    /// The ``TokenStore`` failed; tokens are fetched as if there were none.
    case storeFailed(TokenSubject, TokenClientError)
}
