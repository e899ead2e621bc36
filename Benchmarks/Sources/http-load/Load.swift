// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// All connections, and what came of their requests.
struct Load {
    private let options: Options
    private var connections: [Connection]
    private var polled: [pollfd]
    private var statuses: [Int: Int] = [:]
    private var refusalsWithoutRetryAfter = 0
    private var missed = 0
    /// Of the requests that were answered with 200, in seconds.
    private var latencies: [Double] = []
    private var number = 0
    private var elapsed = 0.0

    init(_ options: Options) {
        self.options = options
        let makeExchange: () -> any Exchange = options.messages == nil ? { HTTP1() } : { GRPC() }
        self.connections = (0..<options.connections).map { _ in
            Connection(port: options.port, makeExchange: makeExchange)
        }
        self.polled = self.connections.map { pollfd(fd: $0.socket, events: Int16(POLLIN), revents: 0) }
    }

    mutating func run() {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
        defer { buffer.deallocate() }
        let start = Self.now()
        let end = start + self.options.seconds
        var due = start
        var time = start
        while time < end {
            if let rate = self.options.rate {
                while due <= time {
                    due += 1 / rate
                    if let idle = self.connections.indices.first(where: { self.connections[$0].sentAt == nil }) {
                        self.ask(idle, at: time)
                    } else {
                        self.missed += 1
                    }
                }
            } else {
                for index in self.connections.indices where self.connections[index].sentAt == nil {
                    self.ask(index, at: time)
                }
            }
            self.wait(atMost: self.options.rate == nil ? 100 : 1)
            time = Self.now()
            for index in self.polled.indices where self.polled[index].revents != 0 {
                let sentAt = self.connections[index].sentAt
                guard let answer = self.connections[index].receive(into: buffer) else { continue }
                self.polled[index].fd = self.connections[index].socket
                self.count(answer, took: time - (sentAt ?? time))
            }
        }
        self.elapsed = time - start
    }

    private mutating func wait(atMost milliseconds: Int32) {
        let count = self.polled.count
        _ = self.polled.withUnsafeMutableBufferPointer { poll($0.baseAddress, nfds_t(count), milliseconds) }
    }

    private mutating func ask(_ index: Int, at time: Double) {
        self.number += 1
        self.connections[index].ask(self.options.request(self.number), at: time)
    }

    private mutating func count(_ answer: Answer, took latency: Double) {
        self.statuses[answer.status, default: 0] += 1
        if answer.status == 200 { self.latencies.append(latency) }
        if answer.status == 429 || answer.status == 503, !answer.hasRetryAfter { self.refusalsWithoutRetryAfter += 1 }
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// `rate=… p50_ms=… p99_ms=… 200=… 503=… missed=… without_retry_after=…`.
    var summary: String {
        let sorted = self.latencies.sorted()
        func milliseconds(_ share: Double) -> Double {
            sorted.isEmpty ? 0 : (sorted[Int(Double(sorted.count - 1) * share)] * 1e6).rounded() / 1e3
        }
        let counts = self.statuses.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        let rate = (Double(sorted.count) / self.elapsed).rounded()
        return "rate=\(Int(rate)) p50_ms=\(milliseconds(0.5)) p99_ms=\(milliseconds(0.99)) \(counts) "
            + "missed=\(self.missed) without_retry_after=\(self.refusalsWithoutRetryAfter)"
    }
}
