// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Requests over HTTP/1.1: a look, or JSON that is put.
struct HTTP1: Exchange {
    static let opening: [UInt8] = []

    private var received: [UInt8] = []

    mutating func write(_ request: Request) -> [UInt8] {
        let head =
            "\(request.body == nil ? "GET" : "PUT") \(request.path) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            + "Authorization: Bearer \(request.bearer)\r\n"
            + (request.body.map { "Content-Type: application/json\r\nContent-Length: \($0.count)\r\n\r\n" } ?? "\r\n")
        return Array(head.utf8) + (request.body ?? [])
    }

    mutating func receive(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) -> Answer? {
        self.received.append(contentsOf: bytes)
        guard let answer = self.wholeAnswer() else { return nil }
        self.received.removeAll(keepingCapacity: true)
        return answer
    }

    private func wholeAnswer() -> Answer? {
        guard let end = self.endOfHeader() else { return nil }
        let header = String(decoding: self.received[..<end], as: UTF8.self).lowercased()
        let lines = header.split(separator: "\r\n")
        let length = lines.first { $0.hasPrefix("content-length:") }.flatMap {
            Int($0.dropFirst(15).drop { $0 == " " })
        }
        let isChunked = header.contains("transfer-encoding: chunked")
        let isWhole =
            isChunked
            ? self.received.suffix(5).elementsEqual("0\r\n\r\n".utf8)
            : self.received.count >= end + 4 + (length ?? 0)
        guard isWhole else { return nil }
        let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return Answer(status: status, hasRetryAfter: lines.contains { $0.hasPrefix("retry-after:") })
    }

    private func endOfHeader() -> Int? {
        self.received.withUnsafeBytes { bytes in
            guard bytes.count >= 4 else { return nil }
            for index in 0...bytes.count - 4 where bytes[index] == 13 {
                if bytes[index + 1] == 10, bytes[index + 2] == 13, bytes[index + 3] == 10 { return index }
            }
            return nil
        }
    }
}
