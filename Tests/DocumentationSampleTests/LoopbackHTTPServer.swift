// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A small HTTP server on 127.0.0.1 that answers as a closure says; one request per connection.
final class LoopbackHTTPServer: Sendable {
    struct Request: Sendable {
        var method: String
        var target: String
        var headers: [String: String]
        var body: Data
        var path: String { String(self.target.prefix { $0 != "?" }) }
    }

    typealias Answer = (status: Int, body: String)

    let url: URL
    private let listener: Int32

    init(answer: @escaping @Sendable (Request) -> Answer) throws {
        #if canImport(Darwin)
            let listener = socket(AF_INET, SOCK_STREAM, 0)
        #else
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard isListening, let url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))") else {
            throw URLError(.cannotConnectToHost)
        }
        self.url = url
        self.listener = listener
        Thread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Thread {
                    Self.serve(connection, answer)
                    close(connection)
                }.start()
            }
        }.start()
    }

    deinit {
        shutdown(self.listener, Int32(SHUT_RDWR))
        close(self.listener)
    }

    private static func serve(_ connection: Int32, _ answer: (Request) -> Answer) {
        var received = Data()
        while true {
            if let request = Self.request(in: received) {
                let (status, body) = answer(request)
                let text =
                    "HTTP/1.1 \(status) Answer\r\nContent-Type: application/json\r\nConnection: close\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
                let bytes = Array(text.utf8)
                #if canImport(Darwin)
                    _ = send(connection, bytes, bytes.count, 0)
                #else
                    _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                #endif
                return
            }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            received += buffer.prefix(count)
        }
    }

    /// The request, once all of it has come.
    private static func request(in received: Data) -> Request? {
        guard let end = received.range(of: Data("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let start = lines[0].split(separator: " ").map(String.init)
        guard start.count == 3 else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            headers[line[..<colon].lowercased()] = value
        }
        let body = received[end.upperBound...]
        guard body.count >= Int(headers["content-length"] ?? "0") ?? 0 else { return nil }
        return Request(method: start[0], target: start[1], headers: headers, body: Data(body))
    }
}
