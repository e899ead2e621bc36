// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenClient
import Foundation

/// Sends a server's own requests: to identity providers, key sets, lists of revocations and the policy's webhook.
struct UpstreamSession: UpstreamTransport {
    private let transport: URLSessionTransport

    /// Makes a session.
    ///
    /// - Parameter connectionsPerHost: The most connections to one host at once; `nil` leaves it to the system.
    init(connectionsPerHost: Int? = nil) {
        self.transport = URLSessionTransport(
            maximumBodyBytes: SignedRevocations.maximumBytes, connectionsPerHost: connectionsPerHost)
    }

    func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        guard let url = URL(string: request.url) else {
            throw UpstreamError(.unreachable, detail: "its address is no URL")
        }
        do {
            let answer = try await self.transport.send(
                HTTPTransportRequest(
                    method: request.method, url: url, headers: request.headers, body: request.body.map { Data($0) },
                    timeout: request.timeout))
            guard answer.body.count <= request.maximumBytes else { throw UpstreamError(.answerTooLong) }
            return UpstreamResponse(status: answer.status, headers: answer.headers, body: Array(answer.body))
        } catch let error as TokenClientError {
            switch error.code {
            case .timedOut: throw UpstreamError(.timedOut)
            case .invalidAnswer: throw UpstreamError(.answerTooLong)
            default:
                let isAddress = (error.cause as? URLError)?.code == .badURL
                throw UpstreamError(
                    .unreachable,
                    detail: isAddress ? "this system takes no IPv6 address in a URL; use a host's name" : nil)
            }
        }
    }
}
