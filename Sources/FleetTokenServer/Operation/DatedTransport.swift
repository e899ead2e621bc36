// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetSigning
import GoogleCredentials

/// Sends requests to other services, and remembers the dates of their answers.
package struct DatedTransport: UpstreamTransport {
    private let transport: any UpstreamTransport
    private let clocks: UpstreamClocks
    private let mayBeStored: Bool

    /// Makes a transport.
    ///
    /// - Parameters:
    ///   - transport: What sends; by default AsyncHTTPClient, which follows no redirects.
    ///   - clocks: Remembers the dates.
    ///   - mayBeStored: Whether a cache on the way may have kept an answer to a GET, whose date says nothing then;
    ///     credentials and signatures are made for each request.
    package init(
        _ transport: any UpstreamTransport = AsyncHTTPClientTransport(), clocks: UpstreamClocks,
        mayBeStored: Bool = false
    ) {
        self.transport = transport
        self.clocks = clocks
        self.mayBeStored = mayBeStored
    }

    /// Sends a request and waits for the whole answer, of whatever status.
    package func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        try await self.clocks.noting(request.url, mayBeStored: self.mayBeStored && request.method == "GET") {
            try await self.transport.send(request)
        }
    }
}
