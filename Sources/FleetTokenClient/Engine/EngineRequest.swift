// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens
package import Foundation

/// One REST call, apart from the token and the endpoint.
package struct EngineRequest: Sendable {
    /// The verb.
    package var method: String
    /// The path below the endpoint, not percent-encoded.
    package var segments: [String]
    /// The query, not percent-encoded.
    package var query: [(name: String, value: String)]
    /// The JSON body, if any.
    package var body: Data?

    /// Makes a request.
    package init(
        method: String,
        segments: [String],
        query: [(name: String, value: String)] = [],
        body: Data? = nil
    ) {
        self.method = method
        self.segments = segments
        self.query = query
        self.body = body
    }
}

/// How a call went.
package struct EngineAnswer: Sendable {
    /// The body of the answer, or why there is none.
    package var result: Result<Data, EngineFailure>
    /// The token that was sent last; `nil` when none was.
    package var token: FleetToken?
    /// How long the call waited for tokens.
    package var tokenWait: Duration
    /// Whose token a 403 had renewed, whatever came of it; `nil` when none was.
    package var renewed: TokenSubject?
}
