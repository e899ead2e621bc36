// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import HTTPTypes
import Hummingbird
import NIOCore

/// An answer that carries no token, in the error form that Google's services use.
struct RouteError: Error, HTTPResponseError {
    let status: HTTPResponse.Status
    let name: String
    let message: String
    /// When to come again, where the answer says.
    var retryAfter: Duration?

    init(status: HTTPResponse.Status, name: String, message: String, retryAfter: Duration? = nil) {
        self.status = status
        self.name = name
        self.message = message
        self.retryAfter = retryAfter
    }

    /// Words what the desk refused.
    init(_ refusal: TokenDeskRefusal) {
        let (status, name): (HTTPResponse.Status, String) =
            switch refusal.code.wrapped {
            case .unauthenticated: (.unauthorized, "UNAUTHENTICATED")
            case .refused: (.forbidden, "PERMISSION_DENIED")
            case .limited: (.tooManyRequests, "RESOURCE_EXHAUSTED")
            case .notServed: (.notImplemented, "UNIMPLEMENTED")
            case .unavailable: (.serviceUnavailable, "UNAVAILABLE")
            }
        self.init(status: status, name: name, message: refusal.message, retryAfter: refusal.retryAfter)
    }

    static func badRequest(_ message: String) -> Self {
        Self(status: .badRequest, name: "INVALID_ARGUMENT", message: message)
    }

    static func notFound(_ message: String) -> Self {
        Self(status: .notFound, name: "NOT_FOUND", message: message)
    }

    func response(from request: Request, context: some RequestContext) throws -> Response {
        request.method == .head ? self.response.createHeadResponse() : self.response
    }

    /// The whole answer.
    var response: Response {
        var response = Response.uncachedJSON(self.body, status: self.status)
        if self.status == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer" }
        response.headers[.retryAfter] = self.retryAfter.map(Self.retryAfterValue)
        return response
    }

    /// What the answer says of the error.
    var body: JSONValue {
        let detail: JSONObject = [
            "code": .integer(Int64(self.status.code)), "message": .string(self.message), "status": .string(self.name),
        ]
        return .object(["error": .object(detail)])
    }

    /// Whole seconds, rounded up: who keeps to them is not too early again.
    static func retryAfterValue(_ delay: Duration) -> String {
        let (seconds, rest) = delay.components
        return "\(max(1, seconds + (rest > 0 ? 1 : 0)))"
    }
}

extension Response {
    /// A JSON answer that no cache may keep.
    static func uncachedJSON(_ body: JSONValue, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status,
            headers: [.contentType: "application/json; charset=utf-8", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body.serialized))
        )
    }
}
