// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetSigning
public import GoogleCredentials

/// Sends requests to identity providers and webhooks over the transport that Google's credentials use.
public struct CredentialsUpstream: UpstreamTransport {
    private let transport: any CredentialsTransport

    /// Makes a transport.
    ///
    /// - Parameter transport: What sends; by default AsyncHTTPClient, which follows no redirects.
    public init(_ transport: any CredentialsTransport = AsyncHTTPClientTransport()) {
        self.transport = transport
    }

    /// Sends a request and waits for the whole answer.
    public func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        let answer = try await self.transport.send(
            CredentialsRequest(
                method: request.method, url: request.url, headers: request.headers, body: request.body,
                timeout: request.timeout, maximumBytes: request.maximumBytes))
        guard answer.body.count <= request.maximumBytes else {
            throw UpstreamAnswerTooLong(maximumBytes: request.maximumBytes)
        }
        return UpstreamResponse(
            status: answer.status, cacheControl: answer.header("Cache-Control"), entityTag: answer.header("ETag"),
            body: answer.body)
    }
}

/// An answer that has more bytes than its request reads.
struct UpstreamAnswerTooLong: Error, CustomStringConvertible {
    let maximumBytes: Int
    var description: String { "The answer has more than \(self.maximumBytes) bytes." }
}
