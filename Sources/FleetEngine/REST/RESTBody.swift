// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import SwiftProtobuf

/// What an HTTP body fills in a request message.
struct RESTBody<Request: Message & Sendable>: Sendable {
    /// Reads a body into a request.
    let read: @Sendable (_ json: [UInt8], _ request: inout Request) throws(EngineError) -> Void

    /// The body is ignored.
    static var none: Self {
        Self { (_, _) throws(EngineError) in }
    }

    /// The body is one field of the request; without a body, the field stays unset.
    static func field<Field: Message>(_ set: @escaping @Sendable (inout Request, Field) -> Void) -> Self {
        Self { (json, request) throws(EngineError) in
            guard !json.isEmpty else { return }
            set(&request, try MessageJSON.read(json, at: "The body"))
        }
    }

    /// The body is the request.
    static var everything: Self {
        Self { (json, request) throws(EngineError) in request = try MessageJSON.read(json, at: "The body") }
    }
}
