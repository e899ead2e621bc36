// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Gets a token or an error.
///
/// As the compiler sees an Objective-C block: nothing says that it may go to another thread.
public typealias GMTCAuthTokenFetchCompletionHandler = (String?, (any Error)?) -> Void

/// What an app implements.
public protocol GMTCAuthorization: NSObjectProtocol {
    /// Asks for a token.
    func fetchToken(
        with authorizationContext: GMTCAuthorizationContext?,
        completion: @escaping GMTCAuthTokenFetchCompletionHandler
    )
}

/// Whose token is needed.
public final class GMTCAuthorizationContext: NSObject {
    /// The trip.
    public let tripID: String

    /// Makes a context, which only the SDK can do in earnest.
    public init(tripID: String) {
        self.tripID = tripID
    }
}
