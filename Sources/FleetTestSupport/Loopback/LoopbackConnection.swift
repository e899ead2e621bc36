// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// One connection; it ends when it is released.
final class LoopbackConnection: Sendable {
    private static let maximumRequestBytes = 1 << 20

    private let socket: Int32
    private let listener: LoopbackListener

    init(_ socket: Int32, of listener: LoopbackListener) {
        self.socket = socket
        self.listener = listener
    }

    deinit {
        self.listener.end(self.socket)
    }

    /// The whole request, or `nil` when the client ends before, or sends something else.
    func readRequest() -> LoopbackServer.Request? {
        var received = Data()
        while received.count < Self.maximumRequestBytes {
            if let request = LoopbackServer.Request(parsing: received) { return request }
            guard let bytes = self.readBytes() else { return nil }
            received += bytes
        }
        return nil
    }

    /// Does what the server decided.
    ///
    /// - Parameters:
    ///   - answer: What to do.
    ///   - keepsConnection: Whether the connection goes on after a well-formed response.
    /// - Returns: Whether it goes on.
    func perform(_ answer: LoopbackServer.Answer, keepingConnection keepsConnection: Bool) -> Bool {
        switch answer {
        case .response(let response):
            let head = Self.head(of: response, length: response.body.count, keepsConnection: keepsConnection)
            return self.write(head + response.body) && keepsConnection
        case .torn(let response): _ = self.writeHalf(of: response)
        case .stalled(let response):
            if self.writeHalf(of: response) { while self.readBytes() != nil {} }
        case .drip:
            guard self.write(Self.head(of: HTTPTransportResponse(status: 200), length: 1 << 20)) else { break }
            // A pause on the wire, which no clock of a test can stand for.
            while self.write(Data("x".utf8)) { usleep(50_000) }
        case .hangUp: break
        case .silence: while self.readBytes() != nil {}
        }
        return false
    }

    private func writeHalf(of response: HTTPTransportResponse) -> Bool {
        let half = response.body.prefix(response.body.count / 2)
        return self.write(Self.head(of: response, length: response.body.count) + half)
    }

    private static func head(
        of response: HTTPTransportResponse, length: Int, keepsConnection: Bool = false
    ) -> Data {
        var head = "HTTP/1.1 \(response.status) Scripted\r\nContent-Length: \(length)\r\n"
        if !keepsConnection { head += "Connection: close\r\n" }
        for (name, value) in response.headers { head += "\(name): \(value)\r\n" }
        return Data((head + "\r\n").utf8)
    }

    private func readBytes() -> Data? {
        var buffer = [UInt8](repeating: 0, count: 8192)
        let count = recv(self.socket, &buffer, buffer.count, 0)
        return count > 0 ? Data(buffer.prefix(count)) : nil
    }

    private func write(_ data: Data) -> Bool {
        #if canImport(Darwin)
            let flags: Int32 = 0
        #else
            let flags = Int32(MSG_NOSIGNAL)
        #endif
        var rest = Array(data)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(self.socket, $0.baseAddress, $0.count, flags) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

extension LoopbackServer.Request {
    /// Reads a request if it is complete.
    fileprivate init?(parsing bytes: Data) {
        guard let end = bytes.range(of: Data("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count == 3 else { return nil }
        self.method = String(words[0])
        self.target = String(words[1])
        self.headers = lines.dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (String(line[..<colon]), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
        }
        let length = self.headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        guard bytes.endIndex - end.upperBound >= length else { return nil }
        self.body = Data(bytes[end.upperBound...].prefix(max(length, 0)))
    }
}
