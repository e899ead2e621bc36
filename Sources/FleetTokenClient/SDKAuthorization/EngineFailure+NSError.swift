// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

extension EngineFailure: CustomNSError {
    /// The domain of the failure as `NSError`, in which the SDKs report: that of gRPC.
    public static var errorDomain: String { "io.grpc" }

    /// The code's number, as gRPC gives it.
    public var errorCode: Int { self.code.number }

    /// The message, and the error underneath.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: self.message]
        info[NSUnderlyingErrorKey] = self.cause
        return info
    }

    /// The failure as the SDKs report it.
    package var grpcError: NSError {
        NSError(domain: Self.errorDomain, code: self.errorCode, userInfo: self.errorUserInfo)
    }
}
