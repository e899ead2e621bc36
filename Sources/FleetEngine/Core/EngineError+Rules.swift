// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

extension EngineError {
    /// The answer for a resource that is not there, to a caller whose token reaches it.
    static func notFound(_ name: ResourceName) -> Self {
        Self(
            code: .notFound, reason: "RESOURCE_NOT_FOUND", message: "\(name) does not exist; create it first.",
            metadata: ["resource": name.description]
        )
    }

    /// The answer to creating what is there already.
    static func alreadyExists(_ name: ResourceName) -> Self {
        Self(
            code: .alreadyExists, reason: "RESOURCE_ALREADY_EXISTS",
            message: "\(name) exists already; update it, or choose another id.",
            metadata: ["resource": name.description]
        )
    }

    /// The error of a field whose text begins with its name, once that is known to be a part of another.
    func within(_ path: String) -> Self {
        .invalidArgument("\(path).\(self.message)", field: self.metadata["field"].map { "\(path).\($0)" })
    }

    /// The answer to a change that the resource's state does not allow.
    static func failedPrecondition(_ reason: String, _ message: String) -> Self {
        Self(code: .failedPrecondition, reason: reason, message: message)
    }

    /// The answer to a failure that is none of the caller's business.
    static let unexpected = Self(
        code: .internalError, reason: "INTERNAL", message: "The engine failed; its log says why."
    )
}
