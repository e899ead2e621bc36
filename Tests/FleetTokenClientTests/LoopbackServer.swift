// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A tiny HTTP server on 127.0.0.1 that misbehaves on purpose; one answer per connection.
final class LoopbackServer: Sendable {
    let url: URL
    private let listener: Int32
    /// A client that hangs up must not end the test process.
    #if canImport(Darwin)
        private static let withoutSignal: Int32 = 0x80000
    #else
        private static let withoutSignal = Int32(MSG_NOSIGNAL)
    #endif
    private let received = Locked<[String]>([])

    /// The requests so far, as they came over the wire.
    var requests: [String] { self.received.withLock { $0 } }

    init() throws {
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
        Thread { [received] in Self.serve(listener, received) }.start()
    }

    deinit {
        shutdown(self.listener, Int32(SHUT_RDWR))
        close(self.listener)
    }

    private static func serve(_ listener: Int32, _ received: Locked<[String]>) {
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { return }
            Thread {
                var buffer = [UInt8](repeating: 0, count: 8192)
                let count = recv(connection, &buffer, buffer.count, 0)
                let request = String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
                received.withLock { $0.append(request) }
                Self.answer(String(request.split(separator: " ").dropFirst().first ?? ""), on: connection)
                close(connection)
            }.start()
        }
    }

    private static func answer(_ path: String, on connection: Int32) {
        func write(_ text: String) -> Bool {
            let bytes = Array(text.utf8)
            return send(connection, bytes, bytes.count, Self.withoutSignal) == bytes.count
        }
        func respond(_ status: String, _ headers: String = "", body: String = "") {
            _ = write(
                "HTTP/1.1 \(status)\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)"
            )
        }
        switch path {
        case "/redirect": respond("302 Found", "Location: /elsewhere\r\n")
        case "/cookie": respond("200 OK", "Set-Cookie: a=b; Path=/\r\n", body: "ok")
        case "/cached": respond("200 OK", "Cache-Control: public, max-age=3600\r\n", body: "ok")
        case "/refused": respond("403 Forbidden", "Retry-After: 7\r\n", body: "no")
        case "/large": respond("200 OK", body: String(repeating: "x", count: 300_000))
        case "/silence":
            var byte: UInt8 = 0
            while recv(connection, &byte, 1, 0) > 0 {}
        case "/drip":
            guard write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 100000\r\n\r\n") else { return }
            while write("x") { usleep(50_000) }
        case "/torn": _ = write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        default: respond("200 OK", "X-Test: yes\r\n", body: "hello")
        }
    }
}
