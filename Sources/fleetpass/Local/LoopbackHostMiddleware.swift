// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import HTTPTypes
import Hummingbird

/// Refuses requests whose `Host` is not this machine.
///
/// `up` answers anyone on this machine. A web page from elsewhere can make its own name point here (DNS rebinding) and
/// would then be anyone; its requests still carry that name.
struct LoopbackHostMiddleware<Context: RequestContext>: RouterMiddleware {
    @concurrent func handle(
        _ request: Request, context: Context,
        next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        guard let authority = request.head.authority, LoopbackHost.isLoopback(authority: authority) else {
            throw HTTPError(
                .misdirectedRequest,
                message: "This server answers to its own machine's name only; send Host as localhost or 127.0.0.1.")
        }
        return try await next(request, context)
    }
}
