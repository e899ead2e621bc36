// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenClient
import Foundation
import GoogleCredentials

/// Sends what the commands that stand for apps and backends send, over connections of its own.
///
/// On Linux, `URLSessionTransport` would go through the proxies that the environment names even to this machine, and some
/// answers would end the process.
struct ClientTransport: HTTPTransport {
    private let maximumBodyBytes: Int
    private let transport: any UpstreamTransport

    /// Makes a transport; its connections close when it is no longer used.
    ///
    /// - Parameters:
    ///   - maximumBodyBytes: The longest body that is read; a longer one is an error in a 2xx.
    ///   - transport: What really sends.
    init(
        maximumBodyBytes: Int = 4 * 1024 * 1024, over transport: any UpstreamTransport = AsyncHTTPClientTransport()
    ) {
        self.maximumBodyBytes = maximumBodyBytes
        self.transport = transport
    }

    func send(_ request: HTTPTransportRequest) async throws -> HTTPTransportResponse {
        try Task.checkCancellation()
        let outgoing = UpstreamRequest(
            method: request.method, url: request.url.absoluteString, headers: request.headers,
            body: request.body.map { Array($0) }, timeout: request.timeout, maximumBytes: self.maximumBodyBytes,
            isIdempotent: ["GET", "PUT"].contains(request.method))
        do {
            let answer = try await self.transport.send(outgoing)
            return HTTPTransportResponse(status: answer.status, headers: answer.headers, body: Data(answer.body))
        } catch let error as UpstreamError {
            throw self.failure(error, of: request)
        }
    }

    /// The error that a `URLSessionTransport` throws then, with what is known beyond its words.
    private func failure(_ error: UpstreamError, of request: HTTPTransportRequest) -> TokenClientError {
        let server = request.url.server
        let detail = error.detail.map { " \($0.prefix(1).uppercased() + $0.dropFirst())." } ?? ""
        switch error.code {
        case .unreachable:
            return TokenClientError(
                code: .unreachable, message: "\(server) could not be reached.\(detail)", cause: error)
        case .timedOut:
            let limit = error.detail == nil ? "in full within \(request.timeout)" : "in time"
            return TokenClientError(
                code: .timedOut, message: "\(server) did not answer \(limit).\(detail)", cause: error)
        case .answerTooLong:
            return TokenClientError(
                code: .invalidAnswer, message: "\(server) sent more than \(self.maximumBodyBytes) bytes.", cause: error)
        }
    }
}
