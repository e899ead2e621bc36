// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension TokenClientError: CustomNSError {
    /// The domain of the error as `NSError`, which is ``SDKAuthorizationError/domain``.
    public static var errorDomain: String { SDKAuthorizationError.domain }

    /// The number of the code, as in ``SDKAuthorizationError/Code``.
    public var errorCode: Int { SDKAuthorizationError(self).code.rawValue }

    /// The message, the error underneath, and the rest under the keys of the Objective-C interface.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: self.message, "FPTokenErrorName": self.code.description]
        info[NSUnderlyingErrorKey] = self.cause
        info["FPTokenErrorHTTPStatus"] = self.httpStatus
        info["FPTokenErrorRetryAfter"] = self.retryAfter.map { $0 / .seconds(1) }
        return info
    }
}
