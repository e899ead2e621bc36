// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

extension EngineError {
    /// `ErrorInfo.domain` of every error of the engine.
    static let domain = "fleetengine.googleapis.com"

    /// The answer to an RPC of the public API that the engine does not serve.
    static func unimplemented(_ method: FleetMethod) -> Self {
        Self(
            code: .unimplemented,
            reason: "METHOD_NOT_SERVED",
            message: "This engine does not serve \(method.name).",
            metadata: ["method": method.rawValue]
        )
    }
}
