// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetOperation
import FleetTokens
import HTTPTypes
package import Hummingbird
import NIOCore

extension PendingRequestLimit.Rule {
    /// The limit on requests for tokens; whoever supervises the server or withdraws tokens always passes.
    ///
    /// - Parameters:
    ///   - limits: How many are worked on at once.
    ///   - metrics: Counts who is turned away.
    ///   - origins: Makes the refusals readable for web pages, where any may ask.
    /// - Returns: A rule for all connections of a server together.
    package static func tokens<Context: RequestContext>(
        _ limits: PendingRequests.Limits, metrics: TokenServerMetrics, origins: AllowedOriginsMiddleware<Context>?
    ) -> Self {
        // Each in the form that the failures of its path have.
        let (problem, error) = (Problem(TokenDeskRefusal.overloaded), RouteError(TokenDeskRefusal.overloaded))
        let answers = (
            api: (problem.response.head, ByteBuffer(bytes: problem.json.serialized)),
            routes: (error.response.head, ByteBuffer(bytes: error.body.serialized))
        )
        return Self(
            pending: PendingRequests(limits),
            applies: { request in
                guard request.method != .options else { return false }
                let part = Self.firstPart(of: request)
                return part == "v1" || part == "token" || part.hasPrefix("token?")
            },
            refuse: { request in
                metrics.turnedAway()
                var answer = Self.firstPart(of: request) == "v1" ? answers.api : answers.routes
                origins?.mark(&answer.0.headerFields, for: request.headerFields[.origin])
                return answer
            })
    }

    /// The path's first part that is not empty, with the query where there is no second.
    private static func firstPart(of request: HTTPRequest) -> Substring {
        let path = (request.path ?? "").utf8.drop { $0 == UInt8(ascii: "/") }
        return Substring(path.prefix { $0 != UInt8(ascii: "/") })
    }
}
