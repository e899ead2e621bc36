// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

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
        guard let authority = request.head.authority, Self.isLoopback(authority) else {
            throw HTTPError(.misdirectedRequest, message: "This server answers to its own machine's name only.")
        }
        return try await next(request, context)
    }

    private static func isLoopback(_ authority: String) -> Bool {
        if authority.hasPrefix("[") { return authority.hasPrefix("[::1]") }
        let host = authority.prefix { $0 != ":" }.lowercased()
        return host == "localhost"
            || (host.hasPrefix("127.") && host.split(separator: ".").allSatisfy { UInt8($0) != nil })
    }
}
