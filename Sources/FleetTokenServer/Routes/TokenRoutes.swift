// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
import FleetTokens
import Foundation
import HTTPTypes
public import Hummingbird
public import Logging
import NIOCore

/// The token server's routes, to be added to any Hummingbird router.
///
/// `GET /token/driver/{vehicleId}`, `/token/consumer/{tripId}`, `/token/delivery_driver/{deliveryVehicleId}`,
/// `/token/delivery_consumer/{trackingId}` and `/token/fleet_reader` answer what the vendor's sample apps read, plus
/// `expires_in` and `refresh_after` in seconds. `GET /.well-known/jwks.json` publishes the verification keys.
public struct TokenRoutes: Sendable {
    private let issuer: TokenIssuer
    private let authenticator: any CallerAuthenticator
    private let policy: any TokenPolicy
    private let published: [UInt8]
    private let logger: Logger

    /// Makes the routes.
    ///
    /// - Parameters:
    ///   - issuer: Issues the tokens.
    ///   - authenticator: Finds out who asks.
    ///   - policy: Decides what they may have.
    ///   - publishedKeys: The keys that verify the issued tokens.
    ///   - logger: Hears of failures and, at `debug`, of each token's fingerprint.
    public init(
        issuer: TokenIssuer,
        authenticator: any CallerAuthenticator,
        policy: any TokenPolicy = RolePolicy(),
        publishedKeys: [RSAPublicKey],
        logger: Logger
    ) {
        self.issuer = issuer
        self.authenticator = authenticator
        self.policy = policy
        self.published = JWKS.write(publishedKeys)
        self.logger = logger
    }

    /// Adds the routes to a router.
    public func add(to router: some RouterMethods) {
        router.get("/token/**") { request, _ in try await self.issue(request) }
        router.get("/token") { request, _ in try await self.issue(request) }
        router.get("/.well-known/jwks.json") { _, _ in
            Response(
                status: .ok,
                headers: [.contentType: "application/jwk-set+json", .cacheControl: "public, max-age=300"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: self.published))
            )
        }
    }

    private func issue(_ request: Request) async throws -> Response {
        let (route, type) = try TokenRoute.tokenType(
            ofPath: request.uri.path, task: request.uri.queryParameters["task"].map(String.init))
        let caller = try await self.answering("caller not authenticated") {
            try await self.authenticator.caller(of: CallerRequest(headers: request.headers))
        }
        guard let caller else { throw RouteError.unauthenticated }
        let isAllowed = try await self.answering("policy not asked") { try await self.policy.allows(type, for: caller) }
        guard isAllowed else {
            throw RouteError.forbidden("The caller may not have this token of the role \(type.role).")
        }
        let issued = try await self.answering("token not issued") { try await self.issuer.issue(type) }
        self.logger.debug(
            "token issued",
            metadata: [
                "caller": "\(caller.name)", "role": "\(type.role)", "fingerprint": "\(issued.token.fingerprint)",
            ]
        )
        return try .uncachedJSON(TokenAnswer(issued: issued, shape: route.answerShape))
    }

    /// Runs a step; its failure is logged in full and answered as a passing one.
    private func answering<Result>(
        _ failure: Logger.Message, _ step: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await step()
        } catch let error as CancellationError {
            throw error
        } catch {
            self.logger.error(failure, metadata: ["error": "\(error)"])
            throw RouteError.unavailable
        }
    }
}
