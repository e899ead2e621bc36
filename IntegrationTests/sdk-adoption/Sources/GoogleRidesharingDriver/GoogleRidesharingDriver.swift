// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Gets a token or an error.
///
/// As the compiler sees an Objective-C block: nothing says that it may go to another thread.
public typealias GMTDAuthTokenFetchCompletionHandler = (String?, (any Error)?) -> Void

/// What an app implements.
public protocol GMTDAuthorization: NSObjectProtocol {
    /// Asks for a token.
    func fetchToken(
        with authorizationContext: GMTDAuthorizationContext?,
        completion: @escaping GMTDAuthTokenFetchCompletionHandler
    )
}

/// Whose token is needed.
public final class GMTDAuthorizationContext: NSObject {
    /// The vehicle.
    public let vehicleID: String
    /// The task, if any.
    public let taskID: String?

    /// Makes a context, which only the SDK can do in earnest.
    public init(vehicleID: String, taskID: String?) {
        self.vehicleID = vehicleID
        self.taskID = taskID
    }
}
