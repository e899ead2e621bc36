// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import SwiftProtobuf

/// Answers every call with the same bytes, in frames that nothing of gRPC made: what a server could win at most by
/// answering below the library.
struct PlainFrames: Sendable {
    /// The port that it listens on.
    let port: Int
    private let channel: any Channel

    /// Starts to listen on the loopback interface.
    ///
    /// - Parameter answer: The message that every call is answered with.
    /// - Returns: The server.
    /// - Throws: When it cannot listen.
    static func start(answering answer: some Message) async throws -> Self {
        let message: [UInt8] = try answer.serializedBytes()
        let prefix: [UInt8] = [0] + withUnsafeBytes(of: UInt32(message.count).bigEndian) { [UInt8]($0) }
        let body = ByteBuffer(bytes: prefix + message)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    _ = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
                        mode: .server, connectionConfiguration: .init(), streamConfiguration: .init()
                    ) { stream in
                        stream.eventLoop.makeCompletedFuture {
                            try stream.pipeline.syncOperations.addHandler(SameAnswer(body))
                        }
                    }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return Self(port: channel.localAddress?.port ?? 0, channel: channel)
    }

    func stop() async throws { try await self.channel.close() }

    /// Answers when the request is over.
    private final class SameAnswer: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias OutboundOut = HTTP2Frame.FramePayload

        private static let head: HPACKHeaders = [":status": "200", "content-type": "application/grpc"]
        private static let trailers: HPACKHeaders = ["grpc-status": "0"]

        private let body: ByteBuffer

        init(_ body: ByteBuffer) { self.body = body }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .data(let data) = self.unwrapInboundIn(data), data.endStream else { return }
            context.write(self.wrapOutboundOut(.headers(.init(headers: Self.head))), promise: nil)
            context.write(self.wrapOutboundOut(.data(.init(data: .byteBuffer(self.body)))), promise: nil)
            context.writeAndFlush(
                self.wrapOutboundOut(.headers(.init(headers: Self.trailers, endStream: true))), promise: nil)
        }
    }
}

/// Answers each look at a trip with the same bytes, through the library but past the generated code.
struct ConstantBytes: RegistrableRPCService {
    private let answer: [UInt8]

    /// - Parameter answer: The message that every call is answered with.
    /// - Throws: When it cannot be serialized.
    init(answering answer: some Message) throws {
        self.answer = try answer.serializedBytes()
    }

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        router.registerHandler(
            forMethod: MethodDescriptor(fullyQualifiedService: "maps.fleetengine.v1.TripService", method: "GetTrip"),
            deserializer: Unread(), serializer: AsIs()
        ) { [answer] request, _ in
            for try await _ in request.messages {}
            return StreamingServerResponse(single: ServerResponse(message: answer))
        }
    }

    /// Leaves the request as it is.
    private struct Unread: MessageDeserializer {
        func deserialize(_ bytes: some GRPCContiguousBytes) {}
    }

    /// Sends bytes that are a message already.
    private struct AsIs: MessageSerializer {
        func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) -> Bytes { Bytes(message) }
    }
}
