// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens
import Foundation

/// Asks an engine that runs on this machine what it tells to nobody else.
struct LocalEngineClient {
    private let base: URL
    private let servers: String

    /// Reads the address of `--engine`.
    ///
    /// - Parameters:
    ///   - address: The address.
    ///   - servers: Which servers tell what is asked for, such as `fleetpass up or demo`.
    /// - Throws: ``CommandFailure`` with `usage`.
    init(_ address: String, of servers: String) throws {
        self.base = try URL(given: address, as: "--engine", like: "http://127.0.0.1:8080")
        self.servers = servers
    }

    /// Sends JSON, or nothing, and reads the JSON of the answer.
    func ask<Answer: Decodable>(_ method: String, _ path: String, body: Data? = nil) async throws -> Answer {
        let body = try await self.send(
            HTTPTransportRequest(
                method: method, url: self.base.appending(path: path),
                headers: body == nil ? [] : [("Content-Type", "application/json")], body: body))
        do {
            return try JSONDecoder().decode(Answer.self, from: body)
        } catch {
            throw CommandFailure(
                status: .unreachable, message: "\(self.base.absoluteString) answers, but is no engine of this version.")
        }
    }

    /// Sends a request, and gives the body of a success.
    ///
    /// - Parameter request: The request.
    /// - Returns: The body.
    /// - Throws: ``CommandFailure`` with `failed` where the engine refuses, or with `unreachable` where none answers.
    func send(_ request: HTTPTransportRequest) async throws -> Data {
        let answer: HTTPTransportResponse
        do {
            answer = try await ClientTransport().send(request)
        } catch let error as TokenClientError {
            throw CommandFailure(status: .unreachable, message: "the engine is not reached: \(error.message)")
        }
        guard answer.status != 404 else {
            throw CommandFailure(
                status: .unreachable,
                message: "\(request.url.absoluteString) is not there; name the HTTP address of \(self.servers).")
        }
        guard (200..<300).contains(answer.status) else {
            let text = String(decoding: answer.body.prefix(500), as: UTF8.self).shown()
            throw CommandFailure(
                status: answer.isEnginesRefusal ? .failed : .unreachable,
                message: "\(self.base.absoluteString) answered \(answer.status): \(text)")
        }
        return answer.body
    }
}

extension HTTPTransportResponse {
    /// Whether the engine says in its own form why it does not do what it was asked for.
    fileprivate var isEnginesRefusal: Bool {
        struct Envelope: Decodable {
            struct Fault: Decodable {
                let message: String
            }
            let error: Fault
        }
        return (400..<500).contains(self.status) && (try? JSONDecoder().decode(Envelope.self, from: self.body)) != nil
    }
}
