// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokenServer
import Foundation

/// Sends the token server's own requests, to identity providers and to the policy's webhook.
struct UpstreamSession: UpstreamTransport {
    private let transport = URLSessionTransport(maximumBodyBytes: 1024 * 1024)

    func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        guard let url = URL(string: request.url) else { throw URLError(.badURL) }
        let answer = try await self.transport.send(
            HTTPTransportRequest(
                method: request.method, url: url, headers: request.headers, body: request.body.map { Data($0) },
                timeout: request.timeout))
        guard answer.body.count <= request.maximumBytes else { throw URLError(.dataLengthExceedsMaximum) }
        return UpstreamResponse(
            status: answer.status, cacheControl: answer.header("cache-control"), body: Array(answer.body))
    }
}
