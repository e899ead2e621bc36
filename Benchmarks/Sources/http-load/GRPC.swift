// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Unary calls over HTTP/2, as few frames as there may be (RFC 9113) and headers without a table (RFC 7541, 6.2.2).
struct GRPC: Exchange {
    private enum FrameType {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let reset: UInt8 = 3
        static let settings: UInt8 = 4
        static let ping: UInt8 = 6
        static let goAway: UInt8 = 7
        static let windowUpdate: UInt8 = 8
    }

    private static let endStream: UInt8 = 1
    private static let acknowledged: UInt8 = 1
    private static let endHeaders: UInt8 = 4

    /// The preface, no setting, and a window that no answers of a measurement fill.
    static let opening =
        Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Self.frame(FrameType.settings, flags: 0, stream: 0, [])
        + Self.frame(FrameType.windowUpdate, flags: 0, stream: 0, Self.bigEndian(0x7FFF_0000))

    private var received: [UInt8] = []
    private var stream: UInt32 = 0
    private var hasMessage = false

    mutating func write(_ request: Request) -> [UInt8] {
        self.stream += self.stream == 0 ? 1 : 2
        self.hasMessage = false
        let headers: [(String, String)] = [
            (":method", "POST"), (":scheme", "http"), (":path", request.path), (":authority", "127.0.0.1"),
            ("content-type", "application/grpc"), ("te", "trailers"), ("authorization", "Bearer \(request.bearer)"),
        ]
        let block = headers.reduce(into: [UInt8]()) { block, header in
            block.append(0)
            Self.append(header.0, to: &block)
            Self.append(header.1, to: &block)
        }
        return Self.frame(FrameType.headers, flags: Self.endHeaders, stream: self.stream, block)
            + Self.frame(FrameType.data, flags: Self.endStream, stream: self.stream, request.body ?? [0, 0, 0, 0, 0])
    }

    /// A string as it is, after its length in a prefix of seven bits (RFC 7541, 5.1 and 5.2).
    private static func append(_ text: String, to block: inout [UInt8]) {
        var length = text.utf8.count
        if length < 127 {
            block.append(UInt8(length))
        } else {
            block.append(127)
            length -= 127
            while length >= 128 {
                block.append(UInt8(length % 128) | 128)
                length /= 128
            }
            block.append(UInt8(length))
        }
        block.append(contentsOf: text.utf8)
    }

    private static func frame(_ type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        Array(Self.bigEndian(UInt32(payload.count)).dropFirst()) + [type, flags] + Self.bigEndian(stream) + payload
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    mutating func receive(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) -> Answer? {
        self.received.append(contentsOf: bytes)
        var answer: Answer?
        var next = 0
        while let end = self.endOfFrame(at: next) {
            let (type, flags) = (self.received[next + 3], self.received[next + 4])
            switch type {
            case FrameType.settings where flags & Self.acknowledged == 0:
                reply += Self.frame(type, flags: Self.acknowledged, stream: 0, [])
            case FrameType.ping where flags & Self.acknowledged == 0:
                reply += Self.frame(type, flags: Self.acknowledged, stream: 0, Array(self.received[next + 9..<end]))
            case FrameType.data:
                self.hasMessage = true
            // Trailers; a call that is refused has no message before them.
            case FrameType.headers where flags & Self.endStream != 0:
                answer = Answer(status: self.hasMessage ? 200 : 500, hasRetryAfter: false)
            case FrameType.reset, FrameType.goAway:
                answer = Answer(status: 500, hasRetryAfter: false)
            default: break
            }
            next = end
        }
        self.received.removeFirst(next)
        return answer
    }

    private func endOfFrame(at start: Int) -> Int? {
        guard self.received.count >= start + 9 else { return nil }
        let length = self.received[start..<start + 3].reduce(0) { $0 << 8 | Int($1) }
        return self.received.count >= start + 9 + length ? start + 9 + length : nil
    }
}
