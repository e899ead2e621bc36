// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import FleetEngine

@Suite struct CallTimeLimitTests {
    /// What the library gets to see of a deadline; it stops the process at a negative one.
    private func seen(_ timeout: String) throws -> [String] {
        let channel = EmbeddedChannel(handler: CallTimeLimit(.seconds(30)))
        defer { _ = try? channel.finish() }
        let headers: HPACKHeaders = [":path": "/grpc.health.v1.Health/Check", "grpc-timeout": timeout]
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: headers)))
        guard case .headers(let frame) = try channel.readInbound(as: HTTP2Frame.FramePayload.self) else { return [":"] }
        #expect(frame.headers.first(name: ":path") == "/grpc.health.v1.Health/Check")
        return frame.headers["grpc-timeout"]
    }

    @Test(arguments: ["1S", "0n", "99999999H", "250m", "5u", "2M"])
    func `a deadline goes on to the call`(timeout: String) throws {
        #expect(try self.seen(timeout) == [timeout])
    }

    @Test(arguments: ["-1S", "+1S", "", "S", "1", "1s", "123456789S", "1 S", "0x1S", "-9999999H", "1\u{0661}S"])
    func `what is no deadline is left out`(timeout: String) throws {
        #expect(try self.seen(timeout).isEmpty)
    }
}
