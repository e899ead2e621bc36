// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import GoogleCredentials

/// Sends requests to identity services, and remembers the dates of their answers.
public struct DatedTransport: CredentialsTransport {
    private let transport: any CredentialsTransport
    private let clocks: UpstreamClocks

    /// Makes a transport.
    ///
    /// - Parameters:
    ///   - transport: What sends; by default AsyncHTTPClient, which follows no redirects.
    ///   - clocks: Remembers the dates.
    public init(_ transport: any CredentialsTransport = AsyncHTTPClientTransport(), clocks: UpstreamClocks) {
        self.transport = transport
        self.clocks = clocks
    }

    /// Sends a request and waits for the whole answer, of whatever status.
    public func send(_ request: CredentialsRequest) async throws -> CredentialsResponse {
        // Credentials and signatures are made for each request; no cache may keep them.
        try await self.clocks.noting(request.url, mayBeStored: false, header: { $0.header($1) }) {
            try await self.transport.send(request)
        }
    }
}
