// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import Hummingbird

/// Answers what no route takes with a problem in place of an empty body.
///
/// Added to a router after its routes, it stands before none of them.
package struct UnknownPathMiddleware<Context: RequestContext>: RouterMiddleware {
    /// Makes the middleware.
    package init() {}

    /// Words the router's refusal.
    @concurrent package func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound {
            throw Problem(.notFound, "No such request is answered here; /openapi.json names the paths.")
        }
    }
}
