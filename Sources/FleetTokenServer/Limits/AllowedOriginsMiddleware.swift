// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import HTTPTypes
public import Hummingbird

/// Lets web pages of listed origins read the answers (CORS); pages of any other origin get no permission.
///
/// Callers send bearer credentials, not cookies, so credentials mode is never permitted, and no wildcard is either.
public struct AllowedOriginsMiddleware<Context: RequestContext>: RouterMiddleware {
    private let origins: Set<String>

    /// Makes the middleware.
    ///
    /// - Parameter origins: The origins, such as `https://tracking.example`; never `*` or `null`.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public init(origins: Set<String>) throws(TokenServerError) {
        for origin in origins {
            let parts = origin.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 3, UpstreamAddress.isAcceptable(origin), origin == origin.lowercased(),
                !origin.contains(where: { "*?".contains($0) }), !Self.namesDefaultPort(origin)
            else {
                throw TokenServerError(
                    code: .invalidConfiguration,
                    message: "cors.origins: \"\(origin.prefix(128))\" is no origin that can be allowed; write it as "
                        + "browsers do, like https://tracking.example, in lower case, without path, wildcard or a port "
                        + "that is the scheme's own."
                )
            }
        }
        self.origins = origins
    }

    /// Whether an origin names the port that its scheme has anyway, which browsers leave out.
    private static func namesDefaultPort(_ origin: String) -> Bool {
        origin.hasPrefix("https://") ? origin.hasSuffix(":443") : origin.hasSuffix(":80")
    }

    /// Answers preflight requests, and adds the permission to answers.
    @concurrent public func handle(
        _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
    ) async throws -> Response {
        let origin = request.headers[.origin]
        if let origin, request.method == .options, request.headers[.accessControlRequestMethod] != nil {
            var answer = Response(status: self.origins.contains(origin) ? .noContent : .forbidden)
            self.mark(&answer.headers, for: origin)
            guard answer.status == .noContent else { return answer }
            answer.headers[.accessControlAllowMethods] = "GET, POST"
            answer.headers[.accessControlAllowHeaders] = "authorization, content-type"
            answer.headers[.accessControlMaxAge] = "600"
            return answer
        }
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
    func mark(_ headers: inout HTTPFields, for origin: String?) {
        headers[values: .vary].append("Origin")
        guard let origin, self.origins.contains(origin) else { return }
        headers[.accessControlAllowOrigin] = origin
        // What a page counts a token's life and a wait from.
        headers[.accessControlExposeHeaders] = "age, date, retry-after"
    }
}
