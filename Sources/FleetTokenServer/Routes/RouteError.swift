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

    static func badRequest(_ message: String) -> Self {
        Self(status: .badRequest, name: "INVALID_ARGUMENT", message: message)
    }

    static func notFound(_ message: String) -> Self {
        Self(status: .notFound, name: "NOT_FOUND", message: message)
    }

    static func forbidden(_ message: String) -> Self {
        Self(status: .forbidden, name: "PERMISSION_DENIED", message: message)
    }

    static let unauthenticated = Self(
        status: .unauthorized,
        name: "UNAUTHENTICATED",
        message: "The caller is not known, or its credential is not valid now; send Authorization: Bearer CREDENTIAL."
    )

    static let overloaded = Self(
        status: .serviceUnavailable,
        name: "UNAVAILABLE",
        message: "More tokens are asked for than can be made; come again after the time in Retry-After.",
        retryAfter: .seconds(1)
    )

    static let unavailable = Self(
        status: .serviceUnavailable,
        name: "UNAVAILABLE",
        message: "No token can be issued now; try again.",
        retryAfter: .seconds(2)
    )

    static let notServed = Self(
        status: .notImplemented,
        name: "UNIMPLEMENTED",
        message: "This server has nothing to sign tokens of this role with; its operator must set that up first."
    )

    static func tooManyRequests(_ excess: RateLimitExceeded) -> Self {
        let whose =
            switch excess.scope {
            case .caller: "This caller asks"
            case .refusals: "This caller asks for what it may not have"
            case .subject: "Tokens for this subject are asked for"
            case .global: "All callers together ask"
            case .address: "This address sends wrong credentials"
            }
        return Self(
            status: .tooManyRequests, name: "RESOURCE_EXHAUSTED",
            message: "\(whose) more often than is allowed; come again after the time in Retry-After.",
            retryAfter: excess.retryAfter)
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
