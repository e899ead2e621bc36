// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetTokens
import HTTPTypes
import Hummingbird
import NIOCore

/// Shows the page to those who may see it; for others it is not there.
///
/// A request that was passed on by a proxy is not of this machine, wherever the proxy is and however this machine is
/// named.
struct PageVisibilityMiddleware<Context: RequestContext & RemoteAddressRequestContext>: RouterMiddleware {
    private let visibility: EngineConfiguration.PageVisibility

    init(_ visibility: EngineConfiguration.PageVisibility) {
        self.visibility = visibility
    }

    @concurrent func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard self.shows(to: request, from: context.remoteAddress?.ipAddress ?? "") else {
            throw HTTPError(.notFound)
        }
        return try await next(request, context)
    }

    private func shows(to request: Request, from address: String) -> Bool {
        let isOfThisMachine = LoopbackAddress.isLoopback(address)
        guard !isOfThisMachine || Self.isOwn(request) else { return false }
        switch self.visibility {
        case .nobody: return false
        case .thisMachine: return isOfThisMachine
        case .addresses(let ranges): return ranges.contains { $0.contains(address) }
        }
    }

    /// Whether a request from this machine's address was made by it, for itself.
    private static func isOwn(_ request: Request) -> Bool {
        // A page from elsewhere can make its own name point here, and its requests then carry that name.
        let isOwnName = request.head.authority.map { LoopbackHost.isLoopback(authority: $0) } ?? false
        return isOwnName && !Self.isPassedOn(request)
    }

    private static func isPassedOn(_ request: Request) -> Bool {
        ["Forwarded", "X-Forwarded-For", "X-Real-IP"].contains { name in
            HTTPField.Name(name).map { request.headers[$0] != nil } ?? false
        }
    }
}
