// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// One kept-alive connection with at most one request on the way.
struct Connection {
    /// An answer, as far as it is counted.
    struct Answer {
        let status: Int
        let hasRetryAfter: Bool
    }

    private(set) var socket: Int32 = -1
    /// When the request that is on the way was sent.
    private(set) var sentAt: Double?
    private var received: [UInt8] = []
    private let port: UInt16

    init(port: UInt16) {
        self.port = port
        self.connect()
    }

    private mutating func connect() {
        if self.socket >= 0 { close(self.socket) }
        #if canImport(Glibc)
            self.socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            self.socket = Darwin.socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = self.port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                #if canImport(Glibc)
                    Glibc.connect(self.socket, address, size)
                #else
                    Darwin.connect(self.socket, address, size)
                #endif
            }
        }
        guard status == 0 else { fatalError("No connection to port \(self.port), error \(errno).") }
        var one: Int32 = 1
        setsockopt(self.socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        self.sentAt = nil
        self.received.removeAll(keepingCapacity: true)
    }

    mutating func send(_ request: [UInt8], at time: Double) {
        var sent = 0
        while sent < request.count {
            let count = request[sent...].withUnsafeBytes { write(self.socket, $0.baseAddress, $0.count) }
            guard count > 0 else { fatalError("A request could not be sent, error \(errno).") }
            sent += count
        }
        self.sentAt = time
    }

    /// Reads what is there; gives the answer when it is whole.
    mutating func receive(into buffer: UnsafeMutableRawBufferPointer) -> Answer? {
        let count = read(self.socket, buffer.baseAddress, buffer.count)
        guard count > 0 else {
            // The server ended the connection; the request counts as without an answer.
            let wasWaiting = self.sentAt != nil
            self.connect()
            return wasWaiting ? Answer(status: 0, hasRetryAfter: false) : nil
        }
        self.received.append(contentsOf: buffer[..<count])
        guard let answer = self.wholeAnswer() else { return nil }
        self.received.removeAll(keepingCapacity: true)
        self.sentAt = nil
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
