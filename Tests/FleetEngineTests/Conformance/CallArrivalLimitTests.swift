// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import FleetEngine

/// What a call's frames come to is told by ``ArrivingRequestTests``; here, what is done about it, and when.
@Suite struct CallArrivalLimitTests {
    private static let api = "/maps.fleetengine.v1.VehicleService/UpdateVehicle"
    private static let reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
    private static let watch = "/grpc.health.v1.Health/Watch"

    private let events = Events()
    private let channel: EmbeddedChannel

    /// Counts the events that are handed on.
    private final class Events: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        var ends = 0
        var others = 0

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is ChannelShouldQuiesceEvent { self.ends += 1 } else { self.others += 1 }
        }
    }

    init() throws {
        self.channel = EmbeddedChannel(handlers: [CallArrivalLimit(.seconds(30)), self.events])
        try self.channel.connect(to: .init(unixDomainSocketPath: "/grpc")).wait()
    }

    private func begin(_ path: String) throws {
        try self.channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: [":path": path])))
    }

    private func send(_ count: Int, isEnd: Bool = false) throws {
        let bytes = ByteBuffer(repeating: 0, count: count)
        try self.channel.writeInbound(
            HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(bytes), endStream: isEnd)))
    }

    private func answer() throws {
        try self.channel.writeOutbound(HTTP2Frame.FramePayload.headers(.init(headers: [":status": "200"])))
        #expect(try self.channel.readOutbound(as: HTTP2Frame.FramePayload.self) != nil)
    }

    private func pass(_ seconds: Int64) { self.channel.embeddedEventLoop.advanceTime(by: .seconds(seconds)) }

    /// What the client is told that the server ends its call for: the only head, and a reset.
    private func refusal() throws -> HPACKHeaders? {
        guard case .headers(let answer)? = try self.channel.readOutbound(as: HTTP2Frame.FramePayload.self) else {
            return nil
        }
        #expect(answer.endStream)
        // Not a reset that says the call was cancelled.
        guard case .rstStream(.noError)? = try self.channel.readOutbound(as: HTTP2Frame.FramePayload.self) else {
            Issue.record("the stream is not reset")
            return nil
        }
        #expect(try self.channel.readOutbound(as: HTTP2Frame.FramePayload.self) == nil)
        return answer.headers
    }

    @Test func `a call that sends too much is refused behind what is read, though it ends meanwhile`() throws {
        try self.begin(Self.api)
        // The head of a message of a mebibyte and a byte.
        let head = ByteBuffer(bytes: [0, 0, 0x10, 0, 1])
        try self.channel.writeInbound(HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(head))))
        try self.send(1, isEnd: true)
        #expect(try self.refusal() == nil)
        self.pass(0)
        let told = try #require(try self.refusal())
        #expect(told[":status"] == ["200"])
        #expect(told["content-type"] == ["application/grpc"])
        #expect(told["grpc-status"] == ["8"])
        #expect(told["grpc-message"] == ["The request is longer than 1048576 bytes; send less at once."])
        #expect(told["grpc-status-details-bin"].count == 1)
        #expect(!self.channel.isActive)
    }

    @Test func `a request that does not arrive is refused at the limit`() throws {
        try self.begin(Self.api)
        try self.send(3)
        self.pass(29)
        #expect(self.channel.isActive)
        self.pass(1)
        let told = try #require(try self.refusal())
        #expect(told["grpc-status"] == ["4"])
        #expect(told["grpc-message"] == ["The request took longer than 30 s; send it faster."])
        #expect(!self.channel.isActive)
    }

    @Test func `a call with more than a message is ended in time, too, where its client never ends it`() throws {
        try self.begin(Self.api)
        try self.send(2 * MessageMeter.headBytes)
        self.pass(29)
        #expect(self.channel.isActive)
        self.pass(1)
        #expect(!self.channel.isActive)
    }

    @Test func `questions that are answered one by one may go on`() throws {
        try self.begin(Self.reflection)
        for _ in 1...10 {
            try self.send(1000)
            try self.answer()
        }
        self.pass(0)
        #expect(try self.refusal() == nil)
    }

    @Test(arguments: [(reflection, true), (watch, false), (api, false)])
    func `a call to reflection ends in time though its answers are not taken`(path: String, ends: Bool) throws {
        try self.begin(path)
        try self.send(MessageMeter.headBytes, isEnd: true)
        try self.answer()
        self.pass(29)
        #expect(self.channel.isActive)
        self.pass(1)
        #expect(self.channel.isActive == !ends)
        // What has begun is not answered a second time.
        #expect(try self.channel.readOutbound(as: HTTP2Frame.FramePayload.self) == nil)
    }

    private struct Other {}

    @Test(arguments: [(api, 0), (watch, 1)])
    func `calls at work go on when the server ends, and who watches is told`(path: String, ends: Int) throws {
        try self.begin(path)
        self.channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        self.channel.pipeline.fireUserInboundEventTriggered(Other())
        #expect(self.events.ends == ends)
        #expect(self.events.others == 1)
    }
}
