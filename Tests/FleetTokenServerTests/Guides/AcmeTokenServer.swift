// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetTokenServer
import FleetTokens
import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// A token server for the apps of one company.
struct AcmeTokenServer {
    static func main() async throws {
        let folder = URL(filePath: "/etc/acme-tokens", directoryHint: .isDirectory)
        let logger = Logger(label: "acme.tokens")
        let configuration = try TokenServerConfiguration(
            yaml: String(contentsOf: folder.appending(path: "tokens.yaml"), encoding: .utf8), folder: folder,
            environment: ProcessInfo.processInfo.environment)
        let server = try TokenServer(
            configuration, authenticators: [AcmeSessions { id in try await AcmeLogin.driver(ofSession: id) }],
            policy: AcmeShifts { driver, vehicle in try await AcmeLogin.isDriving(driver, vehicle) }, logger: logger)

        // SIGTERM and SIGINT end it; requests that are under way then are still answered.
        var group = ServiceGroupConfiguration(
            services: [server], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        group.maximumGracefulShutdownDuration = configuration.limits.drain + .seconds(5)
        try await ServiceGroup(configuration: group).run()
    }
}

/// Knows the drivers by the sessions that their apps have with the company's login.
struct AcmeSessions: CallerAuthenticator {
    /// The driver whose session it is; `nil` where there is no such session.
    let driver: @Sendable (_ session: String) async throws -> String?

    func caller(of request: CallerRequest) async throws -> Caller? {
        // What is no session of ours is left to the configuration's authenticators.
        guard let bearer = request.bearer, bearer.hasPrefix("acme-session-") else { return nil }
        // An error that is thrown here is answered 503: the app tries again.
        guard let driver = try await self.driver(bearer) else {
            throw CallerRefusal(.expired, "The session has ended.")
        }
        return Caller(name: driver, issuer: "acme", roles: [.driver])
    }
}

/// Gives drivers tokens for the vehicles that they drive, and for no other.
struct AcmeShifts: TokenPolicy {
    /// Whether a vehicle is a driver's now.
    let drives: @Sendable (_ driver: String, _ vehicle: VehicleID) async throws -> Bool

    func decide(_ type: TokenType, for caller: Caller, at time: Date) async throws -> PolicyDecision {
        // An error that is thrown here is answered 503, too.
        guard case .driver(let vehicle) = type, caller.issuer == "acme", try await self.drives(caller.name, vehicle)
        else { return .refused(rule: nil, reason: "The caller does not drive such a vehicle.") }
        return .granted(rule: "shift")
    }
}

extension AcmeTokenServer {
    /// The company's own server, which answers for tokens as well.
    static func application(
        with tokens: TokenServer, limits: ConnectionLimits = ConnectionLimits()
    ) async throws -> some ApplicationProtocol {
        // Before anything is answered: what was withdrawn is refused from the first request on.
        try await tokens.prepare()
        let router = Router(context: CallerRequestContext.self)
        router.get("/shifts") { _, _ in "none" }
        tokens.add(to: router)
        let connection = HTTP1Channel.Configuration(
            idleTimeout: TimeAmount(limits.idle),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes,
                maxHeaderFieldCount: limits.headerFields))
        return Application(
            router: router, server: .http1OnEventLoops(configuration: connection),
            configuration: .init(availableConnectionsDelegate: MaximumAvailableConnections(limits.connections)),
            services: [tokens.upkeep])
    }
}
