// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import GRPCCore

/// What a gRPC call is for, by what may be sent to it.
enum CalledMethod {
    /// A method of the public API, which needs a token and takes one message.
    case api(FleetMethod)
    /// Health, which needs no token.
    case health
    /// Reflection, which needs no token and takes one message after another.
    case reflection
    /// No method that there is.
    case unknown

    private static let ofHealth = Set(Grpc_Health_V1_Health.Method.descriptors.map(\.fullyQualifiedMethod))
    private static let ofReflection = Set(ReflectionRPCs.methods.map(\.fullyQualifiedMethod))

    /// Reads a call's `:path`: a slash and the method's full name.
    init(path: String) {
        let name = String(path.dropFirst())
        self =
            if let method = FleetMethod(rawValue: name) {
                .api(method)
            } else if Self.ofHealth.contains(name) {
                .health
            } else if Self.ofReflection.contains(name) {
                .reflection
            } else {
                .unknown
            }
    }

    /// The most bytes that a message may have.
    var maximumBytes: Int {
        switch self {
        case .api(let method): method.maximumRequestBytes
        case .health, .reflection, .unknown: ArrivingRequest.maximumBytesWithoutToken
        }
    }
}
