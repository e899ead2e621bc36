// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import GzipCoding
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import FleetEngine

@Suite struct CallArrivalLimitTests {
    /// What the library gets to see of a deadline; it stops the process at a negative one.
    private func seen(_ timeout: String) throws -> [String] {
        let channel = EmbeddedChannel(handler: CallArrivalLimit(.seconds(30)))
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

    @Test(arguments: [api, "/grpc.health.v1.Health/Check"], [false, true])
    func `the end of a call that is a head alone is handed on behind it`(path: String, isEnd: Bool) throws {
        let channel = EmbeddedChannel(handler: CallArrivalLimit(.seconds(30)))
        defer { _ = try? channel.finish() }
        let headers: HPACKHeaders = [":path": path, "grpc-timeout": "1S"]
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: headers, endStream: isEnd)))
        guard case .headers(let frame)? = try channel.readInbound(as: HTTP2Frame.FramePayload.self) else {
            Issue.record("the head is not handed on")
            return
        }
        #expect(frame.headers == headers && !frame.endStream)
        guard case .data(let end)? = try channel.readInbound(as: HTTP2Frame.FramePayload.self) else {
            #expect(!isEnd)
            return
        }
        #expect(isEnd && end.endStream && end.data.readableBytes == 0)
    }

    private static let api = "/maps.fleetengine.v1.VehicleService/UpdateVehicle"

    @Test(
        arguments: [
            ("/grpc.health.v1.Health/Check", [4096], nil), ("/grpc.health.v1.Health/Check", [4097], "8"),
            ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", [4000, 97], "8"),
        ] as [(String, [Int], String?)])
    func `a call that needs no token sends little`(path: String, sizes: [Int], status: String?) throws {
        let channel = EmbeddedChannel(handler: CallArrivalLimit(.seconds(30)))
        defer { _ = try? channel.finish() }
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: [":path": path])))
        for size in sizes { try channel.writeInbound(Self.data(size)) }
        channel.embeddedEventLoop.run()
        guard let status else {
            #expect(try channel.readOutbound(as: HTTP2Frame.FramePayload.self) == nil)
            return
        }
        guard case .headers(let answer) = try channel.readOutbound(as: HTTP2Frame.FramePayload.self) else {
            Issue.record("there is no answer")
            return
        }
        #expect(answer.headers.first(name: "grpc-status") == status && answer.endStream)
        // Nothing of what was too much is handed on.
        var handedOn = 0
        while case .some(let frame) = try channel.readInbound(as: HTTP2Frame.FramePayload.self) {
            if case .data(let data) = frame { handedOn += data.data.readableBytes }
        }
        #expect(handedOn <= CallArrivalLimit.maximumBytesWithoutToken)
    }

    @Test(arguments: [("/grpc.health.v1.Health/Check", 4091, nil), ("/grpc.health.v1.Health/Check", 4092, "8")])
    func `what a call without a token sends counts as before it was compressed`(
        path: String, count: Int, status: String?
    ) throws {
        let channel = EmbeddedChannel(handler: CallArrivalLimit(.seconds(30)))
        defer { _ = try? channel.finish() }
        try channel.writeInbound(Self.head(path, encoding: "gzip"))
        let compressed = try #require(Gzip.compress([UInt8](repeating: 7, count: count)))
        let message = Self.message(compressed, isCompressed: true)
        try channel.writeInbound(HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(message))))
        channel.embeddedEventLoop.run()
        guard case .headers(let answer)? = try channel.readOutbound(as: HTTP2Frame.FramePayload.self) else {
            #expect(status == nil)
            return
        }
        #expect(answer.headers.first(name: "grpc-status") == status)
    }

    private static let batch = "/maps.fleetengine.delivery.v1.DeliveryService/BatchCreateTasks"

    /// What is told of a call whose bytes come in pieces, the first of which ends before its message begins.
    private func answer(to path: String, _ message: ByteBuffer) throws -> HPACKHeaders? {
        let channel = EmbeddedChannel(handler: CallArrivalLimit(.seconds(30)))
        defer { _ = try? channel.finish() }
        try channel.writeInbound(Self.head(path, encoding: "gzip"))
        var message = message
        for length in [3, 100, message.readableBytes - 103] {
            let piece = message.readSlice(length: length)
            try channel.writeInbound(HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(#require(piece)))))
        }
        channel.embeddedEventLoop.run()
        guard case .headers(let answer)? = try channel.readOutbound(as: HTTP2Frame.FramePayload.self) else {
            return nil
        }
        #expect(answer.endStream)
        // Not a reset that says the call was cancelled.
        guard case .rstStream(let code)? = try channel.readOutbound(as: HTTP2Frame.FramePayload.self) else {
            Issue.record("the stream is not reset")
            return nil
        }
        #expect(code == .noError)
        return answer.headers
    }

    private static func head(_ path: String, encoding: String?) -> HTTP2Frame.FramePayload {
        var headers: HPACKHeaders = [":path": path]
        if let encoding { headers.add(name: "grpc-encoding", value: encoding) }
        return .headers(.init(headers: headers))
    }

    private static func message(_ bytes: [UInt8], isCompressed: Bool = false) -> ByteBuffer {
        var message = ByteBuffer()
        message.writeInteger(UInt8(isCompressed ? 1 : 0))
        message.writeInteger(UInt32(bytes.count))
        message.writeBytes(bytes)
        return message
    }

    @Test(arguments: [(api, EngineRoutes.maximumBodyBytes), (batch, EngineRoutes.maximumBatchBytes)], [false, true])
    func `a message is as long as its method takes, compressed or not`(
        method: (path: String, limit: Int), isCompressed: Bool
    ) throws {
        func answer(_ count: Int) throws -> HPACKHeaders? {
            let bytes = [UInt8](repeating: 7, count: count)
            let sent = isCompressed ? try #require(Gzip.compress(bytes)) : bytes
            return try self.answer(to: method.path, Self.message(sent, isCompressed: isCompressed))
        }
        #expect(try answer(method.limit) == nil)
        let refusal = try #require(try answer(method.limit + 1))
        #expect(refusal.first(name: "grpc-status") == "8")
        #expect(
            refusal.first(name: "grpc-message")
                == "The request is longer than \(method.limit) bytes; send less at once.")
    }

    @Test(arguments: [[1105], [1005, 100], [1006], [3, 1004, 5]])
    func `of what comes behind a message no more is handed on than that there is something`(pieces: [Int]) throws {
        let channel = EmbeddedChannel(handler: CallArrivalLimit(.seconds(30)))
        defer { _ = try? channel.finish() }
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: [":path": Self.api])))
        let message = Self.message([UInt8](repeating: 7, count: 1000))
        var sent = message
        sent.writeRepeatingByte(1, count: 100)
        for piece in pieces {
            let bytes = sent.readSlice(length: piece)
            try channel.writeInbound(HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(#require(bytes)))))
        }
        for isEnd in [false, true] {
            let rest = ByteBuffer(repeating: 1, count: 1000)
            try channel.writeInbound(HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(rest), endStream: isEnd)))
        }
        try channel.writeInbound(HTTP2Frame.FramePayload.rstStream(.cancel))
        channel.embeddedEventLoop.run()
        #expect(try channel.readOutbound(as: HTTP2Frame.FramePayload.self) == nil)
        var (handedOn, ends, isReset) = (ByteBuffer(), [Bool](), false)
        while let frame = try channel.readInbound(as: HTTP2Frame.FramePayload.self) {
            switch frame {
            case .data(let data):
                guard case .byteBuffer(let bytes) = data.data else { continue }
                handedOn.writeImmutableBuffer(bytes)
                ends.append(data.endStream)
            case .rstStream: isReset = true
            default: continue
            }
        }
        var expected = message
        expected.writeImmutableBuffer(Self.message([]))
        #expect(handedOn == expected)
        #expect(ends.last == true && ends.count { $0 } == 1)
        #expect(isReset)
    }

    @Test(arguments: [[10], [5000], [1 << 20, 1 << 20]])
    func `of what is sent to a method that there is none of nothing is handed on`(sizes: [Int]) throws {
        let channel = EmbeddedChannel(handler: CallArrivalLimit(.seconds(30)))
        defer { _ = try? channel.finish() }
        let path = "/maps.fleetengine.v1.TripService/CreateTrips"
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: [":path": path])))
        for size in sizes { try channel.writeInbound(Self.data(size)) }
        channel.embeddedEventLoop.run()
        // The library answers that there is no such method.
        #expect(try channel.readOutbound(as: HTTP2Frame.FramePayload.self) == nil)
        #expect(try channel.readInbound(as: HTTP2Frame.FramePayload.self) != nil)
        guard case .data(let end)? = try channel.readInbound(as: HTTP2Frame.FramePayload.self) else {
            Issue.record("the request has no end")
            return
        }
        #expect(end.endStream && end.data.readableBytes == 0)
        #expect(try channel.readInbound(as: HTTP2Frame.FramePayload.self) == nil)
    }

    private static let reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
    private static let gzip = Gzip.compress([UInt8]("providers/acme/vehicles/veh-1".utf8)) ?? []
    /// Six bytes `x` in the form of zlib.
    private static let zlib: [UInt8] = [0x78, 0x9C, 0xAB, 0xA8, 0x00, 0x01, 0x00, 0x09, 0xDE, 0x02, 0xD1]

    @Test(
        arguments: [
            ("gzip", [], false), ("gzip", [0x1F], false), ("gzip", Array(gzip.prefix(10)), false),
            ("gzip", Array(gzip.dropLast(9)), false), ("gzip", Array(gzip.dropLast()), false),
            ("gzip", gzip + [0], false), ("gzip", gzip + gzip, false), ("gzip", zlib, false),
            ("gzip", [UInt8](repeating: 7, count: 20), false), (" gzip", gzip, true), ("gzip", gzip, true),
            ("deflate", zlib, true), ("deflate", Array(zlib.dropLast()), false),
            ("deflate", Array(zlib.prefix(1)), false), ("deflate", gzip, false), ("identity", gzip, false),
            (nil, gzip, false), (nil, [], false),
        ] as [(String?, [UInt8], Bool)], [api, "/grpc.health.v1.Health/Check", reflection])
    func `of a compressed message that cannot be read the last bytes are not handed on`(
        sent: (encoding: String?, bytes: [UInt8], isGood: Bool), path: String
    ) throws {
        for piece in [1, 7, 1000] {
            let channel = EmbeddedChannel(handler: CallArrivalLimit(.seconds(30)))
            defer { _ = try? channel.finish() }
            try channel.writeInbound(Self.head(path, encoding: sent.encoding))
            let message = Self.message(sent.bytes, isCompressed: true)
            var rest = message
            while let bytes = rest.readSlice(length: min(piece, rest.readableBytes)), bytes.readableBytes > 0 {
                try channel.writeInbound(HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(bytes))))
            }
            channel.embeddedEventLoop.run()
            var (handedOn, isEnded) = (ByteBuffer(), false)
            while let frame = try channel.readInbound(as: HTTP2Frame.FramePayload.self) {
                guard case .data(let data) = frame, case .byteBuffer(let bytes) = data.data else { continue }
                handedOn.writeImmutableBuffer(bytes)
                isEnded = data.endStream
            }
            #expect((handedOn == message) == sent.isGood)
            // A call that needs a token goes on without them, to be refused for its token first.
            #expect(isEnded == (!sent.isGood && path == Self.api))
            var status: String?
            if case .headers(let answer)? = try channel.readOutbound(as: HTTP2Frame.FramePayload.self) {
                status = answer.headers.first(name: "grpc-status")
            }
            #expect(status == (sent.isGood || path == Self.api ? nil : "13"))
        }
    }

    @Test func `of several messages each is looked at`() throws {
        let channel = EmbeddedChannel(handler: CallArrivalLimit(.seconds(30)))
        defer { _ = try? channel.finish() }
        try channel.writeInbound(Self.head(Self.reflection, encoding: "gzip"))
        let good = Self.message(Self.gzip, isCompressed: true)
        try channel.writeInbound(HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(good))))
        var second = Self.message(Self.gzip)
        second.writeImmutableBuffer(Self.message(Array(Self.gzip.dropLast(9)), isCompressed: true))
        try channel.writeInbound(HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(second))))
        channel.embeddedEventLoop.run()
        guard case .headers(let answer)? = try channel.readOutbound(as: HTTP2Frame.FramePayload.self) else {
            Issue.record("there is no answer")
            return
        }
        #expect(answer.headers.first(name: "grpc-status") == "13")
    }

    @Test func `a call with more than a message is ended in time, too, where its client never ends it`() throws {
        let channel = EmbeddedChannel(handler: CallArrivalLimit(.seconds(30)))
        defer { _ = try? channel.finish() }
        try channel.connect(to: .init(unixDomainSocketPath: "/grpc")).wait()
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: [":path": Self.api])))
        var two = Self.message([])
        two.writeImmutableBuffer(Self.message([]))
        try channel.writeInbound(HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(two))))
        channel.embeddedEventLoop.advanceTime(by: .seconds(29))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func `questions that are answered one by one may go on`() throws {
        let channel = EmbeddedChannel(handler: CallArrivalLimit(.seconds(30)))
        defer { _ = try? channel.finish() }
        let path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: [":path": path])))
        for _ in 1...10 {
            try channel.writeInbound(Self.data(1000))
            try channel.writeOutbound(Self.data(1))
            guard case .data = try channel.readOutbound(as: HTTP2Frame.FramePayload.self) else {
                Issue.record("the answer did not go out")
                return
            }
        }
        #expect(try channel.readOutbound(as: HTTP2Frame.FramePayload.self) == nil)
    }

    @Test(arguments: [
        ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", true),
        ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", true),
        ("/grpc.health.v1.Health/Watch", false), (api, false),
    ])
    func `a call to reflection ends in time though its answers are not taken`(path: String, ends: Bool) throws {
        let channel = EmbeddedChannel(handler: CallArrivalLimit(.seconds(30)))
        defer { _ = try? channel.finish() }
        try channel.connect(to: .init(unixDomainSocketPath: "/grpc")).wait()
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: [":path": path])))
        let question = HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(Self.message([])), endStream: true))
        try channel.writeInbound(question)
        try channel.writeOutbound(HTTP2Frame.FramePayload.headers(.init(headers: [":status": "200"])))
        channel.embeddedEventLoop.advanceTime(by: .seconds(29))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(channel.isActive == !ends)
    }

    private struct Other {}

    /// Counts the events that are handed on.
    private final class Events: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        var ends = 0
        var others = 0

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is ChannelShouldQuiesceEvent { self.ends += 1 } else { self.others += 1 }
        }
    }

    @Test(arguments: [(api, 0), ("/grpc.health.v1.Health/Watch", 1)])
    func `calls at work go on when the server ends, and who watches is told`(path: String, ends: Int) throws {
        let events = Events()
        let channel = EmbeddedChannel(handlers: [CallArrivalLimit(.seconds(30)), events])
        defer { _ = try? channel.finish() }
        try channel.writeInbound(HTTP2Frame.FramePayload.headers(.init(headers: [":path": path])))
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        channel.pipeline.fireUserInboundEventTriggered(Other())
        #expect(events.ends == ends)
        #expect(events.others == 1)
    }

    private static func data(_ count: Int) -> HTTP2Frame.FramePayload {
        .data(.init(data: .byteBuffer(ByteBuffer(repeating: 0, count: count))))
    }
}
