// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing

/// What a supervisor and Prometheus are told, of the token server and of the engine alike.
struct OperationRoutesTests {
    @Test func `metrics tell the version`() async throws {
        let router = Router()
        OperationRoutes(problems: { [:] }, metrics: { "others 2\n" }).add(to: router)
        try await Application(router: router).test(.router) { client in
            let answer = try await client.execute(uri: "/metrics", method: .get)
            let lines = String(buffer: answer.body).split(separator: "\n")
            #expect(lines.contains("fleetpass_build_info{version=\"\(FleetpassVersion.current)\"} 1"))
            #expect(lines.contains("others 2"))
        }
    }

    @Test(
        arguments: [
            ([:], [:], 200, "ok\n"), ([:], ["revocations": "no room"], 200, "ok\nrevocations: no room\n"),
            (["store": "full", "clock": "off"], [:], 503, "clock: off\nstore: full\n"),
            (["store": "full"], ["revocations": "no room"], 503, "store: full\n"),
        ] as [([String: String], [String: String], Int, String)])
    func `readiness fails for problems, and tells remarks where there are none`(
        problems: [String: String], remarks: [String: String], status: Int, text: String
    ) async throws {
        let router = Router()
        OperationRoutes(problems: { problems }, remarks: { remarks }, metrics: { "" }).add(to: router)
        try await Application(router: router).test(.router) { client in
            let answer = try await client.execute(uri: "/readyz", method: .get)
            #expect(answer.status.code == status && String(buffer: answer.body) == text)
        }
    }

    @Test(arguments: ["/healthz", "/readyz", "/metrics"])
    func `who asks for the head alone gets what belongs to the answer, without its body`(path: String) async throws {
        let router = Router()
        OperationRoutes(problems: { ["store": "full"] }, metrics: { "" }).add(to: router)
        try await Application(router: router).test(.live) { client in
            let whole = try await client.execute(uri: path, method: .get)
            let head = try await client.execute(uri: path, method: .head)
            #expect(head.status == whole.status)
            #expect(head.headers[.contentLength] == "\(whole.body.readableBytes)")
            #expect(head.body.readableBytes == 0)
        }
    }

    @Test func `another method is told which ones there are`() async throws {
        let router = Router()
        OperationRoutes(problems: { [:] }, metrics: { "" }).add(to: router)
        let problem =
            #"{"code":"method_not_allowed","detail":"This path takes GET, HEAD.","status":405,"#
            + #""title":"The path takes other methods","type":"/problems#method_not_allowed"}"#
        try await Application(router: router).test(.router) { client in
            for method in [HTTPRequest.Method.post, .delete] {
                let answer = try await client.execute(uri: "/readyz", method: method)
                #expect(answer.status == .methodNotAllowed)
                #expect(answer.headers[.allow] == "GET, HEAD")
                #expect(answer.headers[.contentType] == "application/problem+json")
                #expect(String(buffer: answer.body) == problem)
            }
        }
    }
}
