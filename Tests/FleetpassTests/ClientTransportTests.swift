// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@testable import fleetpass

@Suite struct ClientTransportTests {
    /// Answers everything alike, and remembers what it was asked.
    private final class StandIn: UpstreamTransport {
        private let answer: Result<UpstreamResponse, any Error>
        private let log = Locked<[UpstreamRequest]>([])

        init(_ answer: Result<UpstreamResponse, any Error>) { self.answer = answer }

        var requests: [UpstreamRequest] { self.log.withLock { $0 } }

        func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
            self.log.withLock { $0.append(request) }
            return try self.answer.get()
        }
    }

    private func request(
        _ method: String = "GET", _ url: String = "https://engine.example:8443/v1/x?secret=1"
    ) throws -> HTTPTransportRequest {
        HTTPTransportRequest(
            method: method, url: try #require(URL(string: url)), headers: [("Authorization", "Bearer t")],
            body: method == "GET" ? nil : Data("{}".utf8), timeout: .seconds(7))
    }

    @Test func `a request goes out as it is, and its answer comes back`() async throws {
        let answer = UpstreamResponse(status: 503, headers: [("Age", "1"), ("age", "2")], body: Array("no".utf8))
        let standIn = StandIn(.success(answer))
        let transport = ClientTransport(maximumBodyBytes: 1000, over: standIn)
        let response = try await transport.send(self.request("POST"))
        #expect(response.status == 503 && response.body == Data("no".utf8))
        #expect(response.headers.map(\.name) == ["Age", "age"] && response.headers.map(\.value) == ["1", "2"])
        let sent = try #require(standIn.requests.first)
        #expect(sent.method == "POST" && sent.url == "https://engine.example:8443/v1/x?secret=1")
        #expect(sent.headers.map(\.name) == ["Authorization"] && sent.headers.map(\.value) == ["Bearer t"])
        #expect(sent.body == Array("{}".utf8) && sent.timeout == .seconds(7) && sent.maximumBytes == 1000)
    }

    @Test(arguments: [("GET", true), ("PUT", true), ("POST", false), ("PATCH", false)])
    func `what does no more when it is sent twice may be`(method: String, isIdempotent: Bool) async throws {
        let standIn = StandIn(.success(UpstreamResponse(status: 200)))
        _ = try await ClientTransport(over: standIn).send(self.request(method))
        #expect(standIn.requests.map(\.isIdempotent) == [isIdempotent])
    }

    @Test(arguments: [
        (UpstreamError(.unreachable), TokenClientError.Code.unreachable, "engine.example:8443 could not be reached."),
        (
            UpstreamError(.unreachable, detail: "the connection was refused"), .unreachable,
            "engine.example:8443 could not be reached. The connection was refused."
        ),
        (
            UpstreamError(.timedOut), .timedOut,
            "engine.example:8443 did not answer in full within 7.0 seconds."
        ),
        (
            UpstreamError(.timedOut, detail: "no connection within 5.0 seconds"), .timedOut,
            "engine.example:8443 did not answer in time. No connection within 5.0 seconds."
        ),
        (
            UpstreamError(.answerTooLong, detail: "more than 1000 bytes"), .invalidAnswer,
            "engine.example:8443 sent more than 1000 bytes."
        ),
    ])
    func `a failure names the server and has the code that apps know`(
        failure: UpstreamError, code: TokenClientError.Code, message: String
    ) async throws {
        let transport = ClientTransport(maximumBodyBytes: 1000, over: StandIn(.failure(failure)))
        let error = await #expect(throws: TokenClientError.self) { try await transport.send(self.request()) }
        #expect(error?.code == code && error?.message == message)
        #expect(error?.cause as? UpstreamError == failure)
    }

    @Test func `a server at an address of IPv6 is named with its brackets`() async throws {
        let transport = ClientTransport(over: StandIn(.failure(UpstreamError(.unreachable))))
        let error = await #expect(throws: TokenClientError.self) {
            try await transport.send(self.request("GET", "http://[::1]:8080/x"))
        }
        #expect(error?.message == "[::1]:8080 could not be reached.")
    }

    @Test func `who was cancelled sends nothing`() async throws {
        let standIn = StandIn(.success(UpstreamResponse(status: 200)))
        let request = try self.request()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await ClientTransport(over: standIn).send(request)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(standIn.requests.isEmpty)
    }
}
