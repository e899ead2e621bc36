// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// How requests and answers are written on one connection.
protocol Exchange {
    /// What a client sends before its first request.
    static var opening: [UInt8] { get }

    /// Takes what was received.
    ///
    /// - Parameters:
    ///   - bytes: The next bytes of the server.
    ///   - reply: What is to be sent for them, is appended to it.
    /// - Returns: The answer, when it is whole.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, reply: inout [UInt8]) -> Answer?

    /// Writes a request.
    mutating func write(_ request: Request) -> [UInt8]
}

/// What is asked for once.
struct Request {
    let path: String
    let bearer: String
    /// JSON, or over gRPC a message and its length before it; none for a look.
    let body: [UInt8]?
}

/// An answer, as far as it is counted.
struct Answer {
    /// That of HTTP; 500 for any refusal over gRPC, and 0 where the connection ended.
    let status: Int
    let hasRetryAfter: Bool
}

/// One kept-alive connection with at most one request on the way.
struct Connection {
    private(set) var socket: Int32 = -1
    /// When the request that is on the way was sent.
    private(set) var sentAt: Double?
    private var exchange: any Exchange
    private let makeExchange: () -> any Exchange
    private let port: UInt16

    init(port: UInt16, makeExchange: @escaping () -> any Exchange) {
        self.port = port
        self.makeExchange = makeExchange
        self.exchange = makeExchange()
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
        self.exchange = self.makeExchange()
        self.send(type(of: self.exchange).opening)
    }

    mutating func ask(_ request: Request, at time: Double) {
        self.send(self.exchange.write(request))
        self.sentAt = time
    }

    private func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { write(self.socket, $0.baseAddress, $0.count) }
            guard count > 0 else { fatalError("A request could not be sent, error \(errno).") }
            sent += count
        }
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
        var reply: [UInt8] = []
        let answer = self.exchange.receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]), reply: &reply)
        if !reply.isEmpty { self.send(reply) }
        if answer != nil { self.sentAt = nil }
        return answer
    }
}
