// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Hummingbird

/// Answers the calls of the engine itself, and has a router answer everything else.
///
/// What a call is for is read from its path once; a router would look the path up before, which costs as much as reading
/// the token. The router's middleware does not see the calls.
public struct EngineResponder<Context: RequestContext>: HTTPResponder {
    private let routes: EngineRoutes
    private let others: RouterResponder<Context>

    init(routes: EngineRoutes, others: RouterResponder<Context>) {
        self.routes = routes
        self.others = others
    }

    /// Answers a request.
    ///
    /// - Throws: What the router's routes throw.
    public func respond(to request: Request, context: Context) async throws -> Response {
        guard self.routes.isCall(request) else {
            return try await self.others.respond(to: request, context: context)
        }
        return await self.routes.respond(to: request)
    }
}
