// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
public import FleetSigning
import FleetTokens
import HTTPTypes
public import Hummingbird
import NIOCore

/// The token server's routes, to be added to any Hummingbird router.
///
/// `GET /token/driver/{vehicleId}`, `/token/consumer/{tripId}`, `/token/delivery_driver/{deliveryVehicleId}`,
/// `/token/delivery_consumer/{trackingId}` and `/token/fleet_reader` answer what the vendor's sample apps read, plus
/// `expires_in` and `refresh_after` in seconds. `POST /v1/tokens` is the same as a typed API. `GET /.well-known/jwks.json`
/// publishes the verification keys, and `GET /.well-known/jwks/{account}` those of one account.
public struct TokenRoutes: Sendable {
    private let desk: TokenDesk
    private let published: @Sendable () -> [RSAPublicKey]

    /// Makes the routes.
    ///
    /// - Parameters:
    ///   - desk: Answers the requests for tokens.
    ///   - publishedKeys: The keys that verify the issued tokens, at each moment.
    public init(desk: TokenDesk, publishedKeys: @escaping @Sendable () -> [RSAPublicKey]) {
        self.desk = desk
        self.published = publishedKeys
    }

    /// Adds the routes to a router.
    public func add<Context: RequestContext>(to router: some RouterMethods<Context>) {
        router.resource("/token/**", [.get: { try await self.issue($0, $1) }])
        router.resource("/token", [.get: { try await self.issue($0, $1) }])
        router.readResource("/.well-known/jwks.json") { _, _ in Self.keySet(self.published()) }
        router.readResource("/.well-known/jwks/{account}") { _, context in
            let account = context.parameters["account"].flatMap { PercentCoding.decode($0) }
            let keys = account.map { email in self.published().filter { $0.account?.email == email } } ?? []
            guard !keys.isEmpty else {
                throw RouteError.notFound(
                    "No key of this account is published here; name a service account whose key this server has.")
            }
            return Self.keySet(keys)
        }
        TokenAPI(desk: self.desk).add(to: router)
    }

    /// What a request for a token is answered with where it fails by script, in the form of its path's own errors.
    ///
    /// - Parameters:
    ///   - path: What was asked for.
    ///   - status: The status of HTTP.
    ///   - name: The status of gRPC.
    ///   - message: What to tell.
    /// - Returns: The answer.
    package static func failure(at path: String, status: Int, name: String, message: String) -> Response {
        var error = RouteError(status: .init(code: status), name: name, message: message)
        // The server's own answers of these statuses say when to come again.
        if error.status == .tooManyRequests || error.status == .serviceUnavailable {
            error.retryAfter = TokenDeskRefusal.unavailable.retryAfter
        }
        return path == "/v1/tokens" ? Problem(scripted: error).response : error.response
    }

    private static func keySet(_ keys: [RSAPublicKey]) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/jwk-set+json", .cacheControl: "public, max-age=300"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: JWKS.write(keys))))
    }

    private func issue(_ request: Request, _ context: some RequestContext) async throws -> Response {
        let (route, type) = try TokenRoute.tokenType(ofPath: request.uri.path, query: request.uri.query)
        do {
            let issued = try await self.desk.issue(
                type, or: TokenRoute.alternative(to: type), for: CallerRequest(request, context))
            return .uncachedJSON(TokenAnswer(issued: issued, shape: route.answerShape).json)
        } catch let refusal as TokenDeskRefusal {
            throw RouteError(refusal)
        }
    }
}
