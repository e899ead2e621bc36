// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

extension FleetMethod {
    /// The most bytes that a request may have, as its sender had it before it was compressed.
    var maximumRequestBytes: Int {
        self == .batchCreateTasks ? EngineRoutes.maximumBatchBytes : EngineRoutes.maximumBodyBytes
    }
}

extension EngineError {
    /// The reason of a request that is longer than is read.
    static let tooLarge = "BODY_TOO_LARGE"

    /// Says that a request has more of something than its method takes: with `RESOURCE_EXHAUSTED` over gRPC, and with
    /// `INVALID_ARGUMENT` over REST.
    static func beyond(_ limit: Int, _ what: String, code: Code = .invalidArgument) -> Self {
        Self(
            code: code, reason: self.tooLarge,
            message: "The request has more than \(limit) \(what); send less at once.")
    }
}
