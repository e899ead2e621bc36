// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import GzipCoding
import NIOCore
import NIOHPACK
import NIOHTTP2
import Testing

@testable import FleetEngine

@Suite struct ArrivingRequestTests {
    private static let api = "/maps.fleetengine.v1.VehicleService/UpdateVehicle"
    private static let batch = "/maps.fleetengine.delivery.v1.DeliveryService/BatchCreateTasks"
    private static let check = "/grpc.health.v1.Health/Check"
    private static let watch = "/grpc.health.v1.Health/Watch"
    private static let reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
    private static let formerReflection = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    private static let unknown = "/maps.fleetengine.v1.TripService/CreateTrips"

    /// What comes of a call's frames.
    private struct Seen {
        /// What the library gets to see.
        var heads: [HPACKHeaders] = []
        var bytes = ByteBuffer()
        /// How many frames it sees, and which of them end the request.
        var count = 0
        var ends: [Int] = []
        var isReset = false
        /// What the call is refused with.
        var refusal: RPCError?
    }

    private func seen(_ frames: [HTTP2Frame.FramePayload]) -> Seen {
        var request = ArrivingRequest()
        var seen = Seen()
        for frame in frames {
            do throws(RPCError) {
                for frame in try request.take(frame) {
                    seen.count += 1
                    switch frame {
                    case .headers(let head):
                        seen.heads.append(head.headers)
                        if head.endStream { seen.ends.append(seen.count) }
                    case .data(let data):
                        guard case .byteBuffer(let bytes) = data.data else { continue }
                        seen.bytes.writeImmutableBuffer(bytes)
                        if data.endStream { seen.ends.append(seen.count) }
                    case .rstStream: seen.isReset = true
                    default: Issue.record("\(frame)")
                    }
                }
            } catch {
                #expect(seen.refusal == nil)
                seen.refusal = error
            }
        }
        return seen
    }

    private static func head(
        _ path: String, encoding: String? = nil, timeout: String? = nil, isEnd: Bool = false
    ) -> HTTP2Frame.FramePayload {
        var headers: HPACKHeaders = [":path": path]
        if let encoding { headers.add(name: "grpc-encoding", value: encoding) }
        if let timeout { headers.add(name: "grpc-timeout", value: timeout) }
        return .headers(.init(headers: headers, endStream: isEnd))
    }

    private static func data(_ bytes: ByteBuffer, isEnd: Bool = false) -> HTTP2Frame.FramePayload {
        .data(.init(data: .byteBuffer(bytes), endStream: isEnd))
    }

    /// Bytes of zeros, as empty messages have.
    private static func data(_ count: Int) -> HTTP2Frame.FramePayload {
        self.data(ByteBuffer(repeating: 0, count: count))
    }

    /// A call's bytes in pieces of the lengths, of which the last goes on for as long as there are more.
    private static func pieces(_ bytes: ByteBuffer, _ lengths: [Int]) -> [HTTP2Frame.FramePayload] {
        var (rest, lengths) = (bytes, lengths[...])
        var frames: [HTTP2Frame.FramePayload] = []
        while rest.readableBytes > 0, let length = lengths.first {
            if let piece = rest.readSlice(length: min(length, rest.readableBytes)) { frames.append(self.data(piece)) }
            if lengths.count > 1 { lengths.removeFirst() }
        }
        return frames
    }

    private static func message(_ bytes: [UInt8], isCompressed: Bool = false) -> ByteBuffer {
        var message = ByteBuffer()
        message.writeInteger(UInt8(isCompressed ? 1 : 0))
        message.writeInteger(UInt32(bytes.count))
        message.writeBytes(bytes)
        return message
    }

    // MARK: The head

    @Test(arguments: ["1S", "0n", "99999999H", "250m", "5u", "2M"])
    func `a deadline goes on to the call`(timeout: String) {
        #expect(self.seen([Self.head(Self.check, timeout: timeout)]).heads.map { $0["grpc-timeout"] } == [[timeout]])
    }

    /// The library stops the process at a negative one.
    @Test(arguments: ["-1S", "+1S", "", "S", "1", "1s", "123456789S", "1 S", "0x1S", "-9999999H", "1\u{0661}S"])
    func `what is no deadline is left out`(timeout: String) {
        let seen = self.seen([Self.head(Self.check, timeout: timeout)])
        #expect(seen.heads == [[":path": Self.check]])
    }

    @Test(arguments: [api, check, unknown], [false, true])
    func `the end of a call that is a head alone is handed on behind it`(path: String, isEnd: Bool) {
        let seen = self.seen([Self.head(path, timeout: "1S", isEnd: isEnd)])
        #expect(seen.heads == [[":path": path, "grpc-timeout": "1S"]])
        #expect(seen.ends == (isEnd ? [2] : []))
        #expect(seen.bytes.readableBytes == 0)
    }

    // MARK: Calls with one message

    @Test(
        arguments: [(api, EngineRoutes.maximumBodyBytes), (batch, EngineRoutes.maximumBatchBytes)], [false, true])
    func `a message is as long as its method takes, compressed or not`(
        method: (path: String, limit: Int), isCompressed: Bool
    ) throws {
        func refusal(_ count: Int) throws -> RPCError? {
            let bytes = [UInt8](repeating: 7, count: count)
            let sent = isCompressed ? try #require(Gzip.compress(bytes)) : bytes
            let message = Self.message(sent, isCompressed: isCompressed)
            // The first piece ends before the message begins.
            return self.seen(
                [Self.head(method.path, encoding: "gzip")] + Self.pieces(message, [3, 100, message.readableBytes])
            ).refusal
        }
        #expect(try refusal(method.limit) == nil)
        let told = try #require(try refusal(method.limit + 1))
        #expect(told.code == .resourceExhausted)
        #expect(told.message == "The request is longer than \(method.limit) bytes; send less at once.")
    }

    @Test(arguments: [[1105], [1005, 100], [1006, 99], [3, 1004, 98]])
    func `of what comes behind a message no more is handed on than that there is something`(lengths: [Int]) {
        let message = Self.message([UInt8](repeating: 7, count: 1000))
        var sent = message
        sent.writeRepeatingByte(1, count: 100)
        let more = ByteBuffer(repeating: 1, count: 1000)
        let seen = self.seen(
            [Self.head(Self.api)] + Self.pieces(sent, lengths) + [
                Self.data(more), Self.data(more, isEnd: true), .rstStream(.cancel),
            ])
        var expected = message
        expected.writeImmutableBuffer(Self.message([]))
        #expect(seen.bytes == expected)
        // The reset comes behind the end.
        #expect(seen.ends == [seen.count - 1])
        #expect(seen.isReset)
        #expect(seen.refusal == nil)
    }

    // MARK: Methods that there are none of

    @Test(arguments: [[10], [5000], [1 << 20, 1 << 20]])
    func `of what is sent to a method that there is none of nothing is handed on`(sizes: [Int]) {
        let seen = self.seen([Self.head(Self.unknown)] + sizes.map { Self.data($0) })
        // The library answers that there is no such method.
        #expect(seen.refusal == nil)
        #expect(seen.heads == [[":path": Self.unknown]])
        #expect(seen.ends == [2] && seen.count == 2)
        #expect(seen.bytes.readableBytes == 0)
    }

    // MARK: Calls without a token

    @Test(
        arguments: [
            (check, [4096], 4096, nil), (check, [4097], 0, .resourceExhausted),
            (reflection, [4000, 97], 4000, .resourceExhausted),
            (reflection, [4000, 97, 1], 4000, .resourceExhausted),
        ] as [(String, [Int], Int, RPCError.Code?)])
    func `a call that needs no token sends little`(
        path: String, sizes: [Int], handedOn: Int, refusal: RPCError.Code?
    ) {
        let seen = self.seen([Self.head(path)] + sizes.map { Self.data($0) })
        #expect(seen.refusal?.code == refusal)
        #expect(seen.bytes.readableBytes == handedOn)
    }

    @Test(arguments: [(4091, nil), (4092, .resourceExhausted)] as [(Int, RPCError.Code?)])
    func `what a call without a token sends counts as before it was compressed`(
        count: Int, refusal: RPCError.Code?
    ) throws {
        let compressed = try #require(Gzip.compress([UInt8](repeating: 7, count: count)))
        let message = Self.message(compressed, isCompressed: true)
        let seen = self.seen([Self.head(Self.check, encoding: "gzip"), Self.data(message)])
        #expect(seen.refusal?.code == refusal)
    }

    @Test func `questions that are answered one by one may go on`() throws {
        var request = ArrivingRequest()
        _ = try request.take(Self.head(Self.reflection))
        for _ in 1...10 {
            #expect(try request.take(Self.data(1000)).count == 1)
            request.answered()
        }
    }

    // MARK: Compressed messages

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
        ] as [(String?, [UInt8], Bool)], [api, check, reflection])
    func `of a compressed message that cannot be read the last bytes are not handed on`(
        sent: (encoding: String?, bytes: [UInt8], isGood: Bool), path: String
    ) {
        for length in [1, 7, 1000] {
            let message = Self.message(sent.bytes, isCompressed: true)
            let seen = self.seen([Self.head(path, encoding: sent.encoding)] + Self.pieces(message, [length]))
            #expect((seen.bytes == message) == sent.isGood)
            // A call that needs a token goes on without them, to be refused for its token first.
            let goesOn = sent.isGood || path == Self.api
            #expect(seen.ends == (goesOn && !sent.isGood ? [seen.count] : []))
            #expect(seen.refusal?.code == (goesOn ? nil : .internalError))
        }
    }

    @Test func `of several messages each is looked at`() {
        var second = Self.message(Self.gzip)
        second.writeImmutableBuffer(Self.message(Array(Self.gzip.dropLast(9)), isCompressed: true))
        let seen = self.seen([
            Self.head(Self.reflection, encoding: "gzip"), Self.data(Self.message(Self.gzip, isCompressed: true)),
            Self.data(second),
        ])
        #expect(seen.refusal?.code == .internalError)
    }

    // MARK: What the call's handler asks

    @Test(arguments: [
        (api, true), (check, false), (watch, false), (reflection, false), (formerReflection, false), (unknown, false),
    ])
    func `calls of the public API need a token, and who is not known yet may be one`(path: String, needs: Bool) throws {
        var request = ArrivingRequest()
        #expect(request.needsToken)
        _ = try request.take(Self.head(path))
        #expect(request.needsToken == needs)
    }

    @Test(
        arguments: [
            (api, false), (check, false), (watch, false), (reflection, true), (formerReflection, true),
            (unknown, false),
        ],
        [
            [], [data(message([]), isEnd: true)], [data(message([])), data(ByteBuffer(), isEnd: true)],
            // Of a method that there is none of, the library has the end before it comes.
            [data(message([])), data(1), data(1)], [data(message([])), data(1), .headers(.init(headers: [:]))],
        ] as [[HTTP2Frame.FramePayload]])
    func `the time counts until the request is there, and to its end for reflection`(
        call: (path: String, always: Bool), frames: [HTTP2Frame.FramePayload]
    ) throws {
        var request = ArrivingRequest()
        #expect(request.isTimed)
        _ = try request.take(Self.head(call.path, isEnd: frames.isEmpty))
        var hasEnded = frames.isEmpty
        #expect(request.isTimed == (call.always || !hasEnded))
        for frame in frames {
            if case .data(let data) = frame { hasEnded = data.endStream }
            _ = try request.take(frame)
            #expect(request.isTimed == (call.always || !hasEnded))
        }
    }

    @Test func `of a call that is refused the time counts, and nothing is handed on, also not its end`() throws {
        var request = ArrivingRequest()
        _ = try request.take(Self.head(Self.check))
        #expect(throws: RPCError.self) { try request.take(Self.data(5000)) }
        for frame in [Self.data(ByteBuffer(), isEnd: true), .rstStream(.cancel)] {
            #expect(try request.take(frame).isEmpty)
            #expect(request.isTimed)
        }
    }
}
