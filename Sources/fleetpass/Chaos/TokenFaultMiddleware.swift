// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Lets requests for tokens go wrong by script, where its steps are for the token server.
struct TokenFaultMiddleware<Context: RequestContext>: RouterMiddleware {
    let injector: FaultInjector

    @concurrent func handle(
        _ request: Request, context: Context,
        next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard self.injector.isActive, Self.asksForToken(request.uri.path) else {
            return try await next(request, context)
        }
        let strike = try await self.injector.strikeTokenRequest(for: Self.subject(ofPath: request.uri.path))
        guard let strike else { return try await next(request, context) }
        var response: Response
        if let error = strike.status {
            response = Self.response(error)
        } else {
            response = try await next(request, context)
        }
        if let name = HTTPField.Name("x-fleetpass-chaos") {
            for mark in strike.marks { response.headers.append(HTTPField(name: name, value: mark)) }
        }
        return response
    }

    private static func asksForToken(_ path: String) -> Bool {
        path.hasPrefix("/token/") || path == "/token" || path == "/v1/tokens"
    }

    private static func response(_ error: EngineError) -> Response {
        let body = JSONValue.object(["error": .string(error.message)]).serialized
        return Response(
            status: .init(code: error.code.httpStatus),
            headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }

    /// Whose token a path asks for; the typed API names it in its body, which is not read here.
    static func subject(ofPath path: String) -> EngineActivity.Subject? {
        let kinds: [String: EngineActivity.Subject.Kind] = [
            "driver": .vehicle, "consumer": .trip, "delivery_driver": .deliveryVehicle, "delivery_consumer": .shipment,
        ]
        let segments = path.split(separator: "/").map(String.init)
        guard segments.count == 3, segments[0] == "token", let kind = kinds[segments[1].lowercased()],
            let id = segments[2].removingPercentEncoding
        else { return nil }
        return EngineActivity.Subject(kind: kind, id: id)
    }
}
