// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
import FleetTokens
public import Foundation
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
    private let limiter: RequestLimiter?
    private let now: @Sendable () -> Date
    private let published: [UInt8]
    private let logger: Logger

    /// Makes the routes.
    ///
    /// - Parameters:
    ///   - issuer: Issues the tokens.
    ///   - authenticator: Finds out who asks.
    ///   - policy: Decides what they may have.
    ///   - limiter: Admits requests within limits; `nil` for none.
    ///   - now: The clock that decisions are made by.
    ///   - publishedKeys: The keys that verify the issued tokens.
    ///   - logger: Hears of failures and, at `debug`, of each token's fingerprint.
    public init(
        issuer: TokenIssuer,
        authenticator: any CallerAuthenticator,
        policy: any TokenPolicy = RolePolicy(),
        limiter: RequestLimiter? = nil,
        now: @escaping @Sendable () -> Date = { Date() },
        publishedKeys: [RSAPublicKey],
        logger: Logger
    ) {
        self.issuer = issuer
        self.authenticator = authenticator
        self.policy = policy
        self.limiter = limiter
        self.now = now
        self.published = JWKS.write(publishedKeys)
        self.logger = logger
    }

    /// Adds the routes to a router.
    public func add(to router: some RouterMethods) {
        router.get("/token/**") { request, context in try await self.issue(request, context) }
        router.get("/token") { request, context in try await self.issue(request, context) }
        router.get("/.well-known/jwks.json") { _, _ in
            Response(
                status: .ok,
                headers: [.contentType: "application/jwk-set+json", .cacheControl: "public, max-age=300"],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: self.published))
            )
        }
    }

    private func issue(_ request: Request, _ context: some RequestContext) async throws -> Response {
        let (route, type) = try TokenRoute.tokenType(
            ofPath: request.uri.path, task: request.uri.queryParameters["task"].map(String.init))
        let caller = try await self.answering("caller not authenticated") {
            try await self.authenticator.caller(of: CallerRequest(request, context))
        }
        guard let caller else { throw RouteError.unauthenticated }
        try self.admitting { () throws(RateLimitExceeded) in try self.limiter?.admit(caller.id) }
        let decision = try await self.answering("policy not asked") {
            try await self.policy.decide(type, for: caller, at: self.now())
        }
        let rule: String
        switch decision {
        case .granted(let granting): rule = granting
        case .refused(let refusing, let reason):
            self.logger.info(
                "token refused",
                metadata: [
                    "caller": "\(caller.name)", "role": "\(type.role)", "rule": "\(refusing ?? "none")",
                    "reason": "\(reason)",
                ]
            )
            throw RouteError.forbidden("The caller may not have this token of the role \(type.role).")
        }
        try self.admitting { () throws(RateLimitExceeded) in try self.limiter?.admit(type) }
        let issued = try await self.answering("token not issued") { try await self.issuer.issue(type) }
        self.logger.debug(
            "token issued",
            metadata: [
                "caller": "\(caller.name)", "role": "\(type.role)", "rule": "\(rule)",
                "fingerprint": "\(issued.token.fingerprint)",
            ]
        )
        return try .uncachedJSON(TokenAnswer(issued: issued, shape: route.answerShape))
    }

    /// Answers what comes too soon with 429.
    private func admitting(_ step: () throws(RateLimitExceeded) -> Void) throws(RouteError) {
        do throws(RateLimitExceeded) {
            try step()
        } catch {
            throw .tooManyRequests(error)
        }
    }

    /// Runs a step; its failure is logged in full and answered as a passing one.
    private func answering<Result>(
        _ failure: Logger.Message, _ step: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await step()
        } catch let error as CancellationError {
            throw error
        } catch let refusal as CallerRefusal {
            self.logger.info("caller refused", metadata: ["reason": "\(refusal)"])
            throw RouteError.unauthenticated
        } catch {
            self.logger.error(failure, metadata: ["error": "\(error)"])
            throw RouteError.unavailable
        }
    }
}
