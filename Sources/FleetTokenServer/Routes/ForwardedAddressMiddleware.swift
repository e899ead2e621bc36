// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Hummingbird

/// Tells the routes for whom a proxy in front asks, so that the audit and limits go by the client's address.
public struct ForwardedAddressMiddleware: RouterMiddleware {
    private let proxies: ForwardingProxies

    /// Makes the middleware.
    ///
    /// - Parameter proxies: The proxies that are believed.
    public init(_ proxies: ForwardingProxies) {
        self.proxies = proxies
    }

    /// Notes the address, and goes on.
    @concurrent public func handle(
        _ request: Request, context: CallerRequestContext,
        next: @concurrent (Request, CallerRequestContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        context.forwardedAddress = self.proxies.client(of: context.remoteAddress?.ipAddress, request.headers)
        return try await next(request, context)
    }
}
