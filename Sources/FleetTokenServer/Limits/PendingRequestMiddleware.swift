// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetOperation
package import Hummingbird
import NIOCore

/// Keeps the place of a request for as long as it is worked on, whether or not its sender still waits.
///
/// Without it, a client that breaks off and asks again has the server work on as many requests as it likes.
package struct PendingRequestMiddleware: RouterMiddleware {
    private let pending: PendingRequests

    /// Makes the middleware, to be the first of its router.
    ///
    /// - Parameter pending: The requests that the ``PendingRequestLimit`` of the server's connections counts.
    package init(_ pending: PendingRequests) {
        self.pending = pending
    }

    @concurrent package func handle(
        _ request: Request, context: CallerRequestContext,
        next: @concurrent (Request, CallerRequestContext) async throws -> Response
    ) async throws -> Response {
        guard self.pending.takeOver(from: context.channel) else {
            // Its path has no limit, or its sender broke off before it was begun, and with that gave its place back.
            guard context.channel.isActive else { throw ChannelError.ioOnClosedChannel }
            return try await next(request, context)
        }
        defer { self.pending.end() }
        return try await next(request, context)
    }
}
