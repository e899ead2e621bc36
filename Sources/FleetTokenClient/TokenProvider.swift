// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens

/// Hands out tokens that are good for a call made now.
public protocol TokenProvider: Sendable {
    /// A token for the subject, with enough life left to be used at once.
    ///
    /// - Parameter subject: Whose token is needed.
    /// - Returns: The token, from a cache or newly fetched.
    /// - Throws: ``TokenClientError``, or `CancellationError` when the calling task was cancelled.
    func token(for subject: TokenSubject) async throws -> FleetToken

    /// Says that the service refused a token, so that it is not handed out again.
    ///
    /// - Parameters:
    ///   - token: The token that was refused; a newer one is kept.
    ///   - subject: Whose token it was.
    func invalidate(_ token: FleetToken, for subject: TokenSubject)
}
