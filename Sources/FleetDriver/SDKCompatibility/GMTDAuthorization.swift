// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// Gets a token or an error, and never both; to be called once, on any queue, and not on the stack of the question.
public typealias GMTDAuthTokenFetchCompletionHandler = @Sendable (_ authToken: String?, _ error: (any Error)?) -> Void

/// Fetches tokens for a driver app, in the shape of Google's Driver SDK.
///
/// A fetcher written for the SDK runs here when its import line names this module instead, unless it has only the
/// `async` form of the method. It is asked on the main actor, before each report.
public protocol GMTDAuthorization: NSObjectProtocol {
    /// Fetches a token, or takes one that is kept.
    ///
    /// - Parameters:
    ///   - authorizationContext: Whose token is needed.
    ///   - completion: Gets the token.
    func fetchToken(
        with authorizationContext: GMTDAuthorizationContext?,
        completion: @escaping GMTDAuthTokenFetchCompletionHandler
    )
}

extension GMTDAuthorization {
    /// Fetches a token, or takes one that is kept.
    ///
    /// - Parameter authorizationContext: Whose token is needed.
    /// - Returns: The token.
    /// - Throws: The fetcher's own error, `TokenClientError` when it breaks its contract, or `CancellationError`.
    public func fetchToken(with authorizationContext: GMTDAuthorizationContext?) async throws -> String {
        let token = try await AuthorizationAnswer.token { completion in
            self.fetchToken(with: authorizationContext, completion: completion)
        }
        return token.compactSerialization
    }
}

/// Whose token a driver app needs.
public final class GMTDAuthorizationContext: NSObject, Sendable {
    /// The vehicle.
    public let vehicleID: String
    /// The task, for delivery drivers on trusted devices.
    public let taskID: String?

    /// Makes a context, so that an app can test its fetcher alone; the SDK has no such initializer.
    public init(vehicleID: String, taskID: String? = nil) {
        self.vehicleID = vehicleID
        self.taskID = taskID
    }
}
