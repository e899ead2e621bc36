// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetTokenServer
import FleetTokens
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
        var request = request
        let subject = try await Self.subject(of: &request)
        let strike = try await self.injector.strikeTokenRequest(for: subject)
        guard let strike else { return try await next(request, context) }
        var response: Response
        if let error = strike.status {
            response = TokenRoutes.failure(
                at: request.uri.path, status: error.code.httpStatus, name: error.code.rawValue, message: error.message)
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

    /// Whose token is asked for; the body in which the typed API names it is read, and put back.
    private static func subject(of request: inout Request) async throws -> EngineActivity.Subject? {
        guard request.method == .post, request.uri.path == "/v1/tokens" else {
            return Self.subject(ofPath: request.uri.path)
        }
        // What the API reads at most.
        let maximumBytes = 16 * 1024
        var body = ByteBuffer()
        for try await part in request.body {
            body.writeImmutableBuffer(part)
            // What is here is too long for the API already, and refused like the whole.
            if body.readableBytes > maximumBytes { break }
        }
        request.body = RequestBody(buffer: body)
        return body.readableBytes > maximumBytes ? nil : Self.subject(ofBody: body)
    }

    private static func subject(ofBody body: ByteBuffer) -> EngineActivity.Subject? {
        let kinds: [(member: String, kind: EngineActivity.Subject.Kind)] = [
            ("vehicle", .vehicle), ("trip", .trip), ("delivery_vehicle", .deliveryVehicle), ("tracking", .shipment),
        ]
        guard let members = try? JSONValue(parsing: body.readableBytesView).object else { return nil }
        for (member, kind) in kinds {
            if let id = members[member]?.string { return EngineActivity.Subject(kind: kind, id: id) }
        }
        return nil
    }

    private static func subject(ofPath path: String) -> EngineActivity.Subject? {
        let kinds: [String: EngineActivity.Subject.Kind] = [
            "driver": .vehicle, "consumer": .trip, "delivery_driver": .deliveryVehicle, "delivery_consumer": .shipment,
        ]
        let segments = path.split(separator: "/")
        guard segments.count == 3, segments[0] == "token", let kind = kinds[segments[1].lowercased()],
            let id = PercentCoding.decode(segments[2])
        else { return nil }
        return EngineActivity.Subject(kind: kind, id: id)
    }
}
