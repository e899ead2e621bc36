// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@testable import FleetOperation

@Suite struct ComparableHeadsTests {
    private static let endless = String(repeating: "\u{301}\u{323}", count: 5_000)

    /// The head that the handlers behind get.
    private func passed(_ head: HTTPRequest) throws -> HTTPRequest {
        let channel = EmbeddedChannel(handler: ComparableHeads())
        try channel.writeInbound(HTTPRequestPart.head(head))
        guard case .head(let passed) = try channel.readInbound(as: HTTPRequestPart.self) else {
            throw ChannelError.inputClosed
        }
        return passed
    }

    @Test func `endless marks become question marks in fields, and what stands beside them stays`() throws {
        let head = HTTPRequest(
            method: .get, scheme: nil, authority: "host", path: "/v1",
            headerFields: [.origin: "x" + Self.endless, .accept: "Zo\u{EB}", .userAgent: "\(Self.endless), 10.0.0.1"])
        let passed = try self.passed(head)
        #expect(passed.headerFields[.origin] == "x" + String(repeating: "?", count: 10_000))
        #expect(passed.headerFields[.accept] == head.headerFields[.accept])
        #expect(passed.headerFields[.userAgent]?.hasSuffix("?, 10.0.0.1") == true)
        #expect(passed.path == "/v1")
    }

    @Test func `endless marks in a path are percent-encoded, and nobody decodes them`() throws {
        let passed = try self.passed(
            HTTPRequest(method: .get, scheme: nil, authority: "host", path: "/v1/x\(Self.endless)?a=b"))
        let path = try #require(passed.path)
        #expect(path.hasPrefix("/v1/x%CC%81%CC%A3") && path.hasSuffix("?a=b"))
        #expect(PercentCoding.decode(path[...]) == nil)
        #expect(PercentCoding.decode("/v1/x%CC%81%CC%A3") == "/v1/x\u{301}\u{323}")
    }

    @Test(arguments: ["x://y/token/driver/vehicle-1", "token/driver/vehicle-1", "*", ""])
    func `a path that begins with no slash gets one, so that nobody takes a host off it`(path: String) throws {
        let passed = try self.passed(HTTPRequest(method: .get, scheme: nil, authority: "host", path: path))
        #expect(passed.path == "/" + path)
    }

    @Test func `other heads stay as they are`() throws {
        let head = HTTPRequest(
            method: .post, scheme: "https", authority: "host", path: "/v1/caf\u{E9}",
            headerFields: [.authorization: "Bearer " + String(repeating: "a", count: 10_000)])
        #expect(try self.passed(head) == head)
    }
}
