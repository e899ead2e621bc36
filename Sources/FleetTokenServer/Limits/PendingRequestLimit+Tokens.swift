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
        let refusal = RouteError.overloaded.response.head
        let body = ByteBuffer(bytes: RouteError.overloaded.body.serialized)
        return Self(
            pending: PendingRequests(limits),
            applies: { request in
                guard request.method != .options else { return false }
                let first = (request.path ?? "").split(separator: "/", maxSplits: 1).first ?? ""
                return first == "v1" || first == "token" || first.hasPrefix("token?")
            },
            refuse: { request in
                metrics.turnedAway()
                var head = refusal
                origins?.mark(&head.headerFields, for: request.headerFields[.origin])
                return (head, body)
            })
    }
}
