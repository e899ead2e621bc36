// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The times a token is minted with, solved from the rules of the service rather than guessed.
///
/// Fleet Engine refuses an `exp` more than an hour ahead of its clock, tolerates an `iat` up to 10 minutes off, and the
/// general rule for self-signed tokens wants `exp − iat = 3600 s` (JWT guide, AIP-4111). With `iat` set back by the
/// clock error to be stood, a token is accepted at once, and for `lifetime − backdating − error` after, by every
/// verifier whose clock is within the error: at least 50 minutes at ± 5 minutes with the default.
public struct MintingWindow: Hashable, Sendable {
    /// How far `iat` is set back; 300 s by default.
    public let backdating: Duration
    /// `exp − iat`; 3600 s by default.
    public let lifetime: Duration

    /// The default window.
    public static let standard = Self(validBackdating: .seconds(300), lifetime: .seconds(3600))

    /// Makes a window.
    ///
    /// - Parameters:
    ///   - backdating: 0 to 600 s, the tolerance of the service.
    ///   - lifetime: At most 3600 s, and at least 10 minutes more than the backdating, so that the token can be used.
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidWindow``.
    public init(backdating: Duration, lifetime: Duration = .seconds(3600)) throws(SigningError) {
        guard (.zero ... .seconds(600)).contains(backdating) else {
            throw SigningError(code: .invalidWindow, message: "The backdating must be between 0 and 600 seconds.")
        }
        guard lifetime <= .seconds(3600), lifetime >= backdating + .seconds(600) else {
            throw SigningError(
                code: .invalidWindow,
                message: "The lifetime must be at most 3600 seconds, and at least 600 more than the backdating."
            )
        }
        self.init(validBackdating: backdating, lifetime: lifetime)
    }

    private init(validBackdating backdating: Duration, lifetime: Duration) {
        self.backdating = backdating
        self.lifetime = lifetime
    }

    /// The `iat` and `exp` of a token minted at some Unix second.
    public func times(at now: Int64) -> (issuedAt: Int64, expiresAt: Int64) {
        let issuedAt = now - self.backdating.components.seconds
        return (issuedAt, issuedAt + self.lifetime.components.seconds)
    }
}
