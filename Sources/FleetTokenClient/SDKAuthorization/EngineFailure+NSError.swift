// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Foundation

extension EngineFailure {
    /// The failure as the SDKs report it: the domain of gRPC and its number.
    package var grpcError: NSError {
        var info: [String: Any] = [NSLocalizedDescriptionKey: self.message]
        info[NSUnderlyingErrorKey] = self.cause
        return NSError(domain: "io.grpc", code: self.code.number, userInfo: info)
    }
}
