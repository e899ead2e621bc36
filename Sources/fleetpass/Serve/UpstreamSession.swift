// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenClient
import FleetTokenServer
import Foundation

/// Sends a server's own requests: to identity providers, key sets, lists of revocations and the policy's webhook.
struct UpstreamSession: UpstreamTransport {
    private let transport: URLSessionTransport
    private let clocks: UpstreamClocks

    /// Makes a session.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: The most connections to one host at once; `nil` leaves it to the system.
    ///   - clocks: Remembers the dates of the answers.
    init(connectionsPerHost: Int? = nil, clocks: UpstreamClocks = UpstreamClocks()) {
        self.clocks = clocks
        self.transport = URLSessionTransport(
            maximumBodyBytes: SignedRevocations.maximumBytes, connectionsPerHost: connectionsPerHost)
    }

    func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        guard let url = URL(string: request.url) else { throw URLError(.badURL) }
        let answer = try await self.clocks.noting(
            request.url, mayBeStored: request.method == "GET", header: { $0.header($1) }
        ) {
            try await self.transport.send(
                HTTPTransportRequest(
                    method: request.method, url: url, headers: request.headers, body: request.body.map { Data($0) },
                    timeout: request.timeout))
        }
        guard answer.body.count <= request.maximumBytes else { throw URLError(.dataLengthExceedsMaximum) }
        return UpstreamResponse(
            status: answer.status, cacheControl: answer.header("cache-control"),
            entityTag: answer.header("etag"), body: Array(answer.body))
    }
}
