// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import HTTPTypes
public import Hummingbird

/// Lets web pages of listed origins read the answers (CORS); pages of any other origin get no permission.
///
/// Callers send bearer credentials, not cookies, so credentials mode is never permitted, and no wildcard is either.
public struct AllowedOriginsMiddleware<Context: RequestContext>: RouterMiddleware {
    private let origins: AllowedOrigins

    /// Makes the middleware.
    ///
    /// - Parameter origins: The origins, such as `https://tracking.example`; never `*` or `null`.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public init(origins: Set<String>) throws(TokenServerError) {
        do throws(ConfigurationError) {
            self.origins = try AllowedOrigins(
                origins,
                // What a page counts a token's life and a wait from.
                permission: .init(
                    methods: "GET, POST", fields: "authorization, content-type", exposed: "age, date, retry-after"))
        } catch {
            throw TokenServerError(code: .invalidConfiguration, message: error.message)
        }
    }

    /// Answers preflight requests, and adds the permission to answers.
    @concurrent public func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        if let answer = self.origins.preflight(request) { return answer }
        let origin = request.headers[.origin]
        var answer: Response
        do {
            answer = try await next(request, context)
        } catch let error as any HTTPResponseError where origin != nil {
            // A refusal must be readable too, or the page cannot tell why.
            answer = try error.response(from: request, context: context)
        }
        self.mark(&answer.headers, for: origin)
        return answer
    }

    /// Makes an answer readable for pages of an allowed origin, and has caches keep it apart from those for others.
    func mark(_ headers: inout HTTPFields, for origin: String?) { self.origins.mark(&headers, for: origin) }
}
