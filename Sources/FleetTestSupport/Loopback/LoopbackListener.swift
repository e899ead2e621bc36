// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens
import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A socket on 127.0.0.1 and the connections that came to it.
final class LoopbackListener: Sendable {
    private struct State: Sendable {
        var isStopped = false
        /// Open connections; one is closed only under the lock, so that no number in here names another file.
        var connections: Set<Int32> = []
    }

    let port: UInt16
    private let listener: Int32
    /// Becomes readable to end the waiting for connections.
    private let alarm: (read: Int32, write: Int32)
    private let hasEnded = DispatchSemaphore(value: 0)
    private let state = Locked(State())

    init() throws {
        #if canImport(Glibc)
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let listener = socket(AF_INET, SOCK_STREAM, 0)
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 128) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        var ends: [Int32] = [0, 0]
        guard isListening, pipe(&ends) == 0 else {
            close(listener)
            throw POSIXError(.EADDRNOTAVAIL)
        }
        self.port = UInt16(bigEndian: address.sin_port)
        self.listener = listener
        self.alarm = (ends[0], ends[1])
    }

    /// Gives each connection to a closure, on a thread of its own.
    func start(_ serve: @escaping @Sendable (LoopbackConnection) -> Void) {
        Thread {
            while self.waitForConnection() {
                guard let connection = self.acceptConnection() else { continue }
                Thread { serve(connection) }.start()
            }
            close(self.listener)
            close(self.alarm.read)
            self.hasEnded.signal()
        }.start()
    }

    /// Ends the connections and frees the port before it returns; a second time does nothing.
    func stop() {
        let isFirst = self.state.withLock { state in
            guard !state.isStopped else { return false }
            state.isStopped = true
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
            return true
        }
        guard isFirst else { return }
        close(self.alarm.write)
        self.hasEnded.wait()
    }

    /// Closes a connection; only the connection itself calls it, once.
    func end(_ connection: Int32) {
        self.state.withLock { state in
            state.connections.remove(connection)
            close(connection)
        }
    }

    private func waitForConnection() -> Bool {
        var files = [
            pollfd(fd: self.listener, events: Int16(POLLIN), revents: 0),
            pollfd(fd: self.alarm.read, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&files, 2, -1) < 0 {
            guard errno == EINTR else { return false }
        }
        return files[1].revents == 0
    }

    private func acceptConnection() -> LoopbackConnection? {
        let connection = accept(self.listener, nil, nil)
        guard connection >= 0 else { return nil }
        #if canImport(Darwin)
            // A client that hangs up must not end the process.
            var isSet: Int32 = 1
            setsockopt(connection, SOL_SOCKET, SO_NOSIGPIPE, &isSet, socklen_t(MemoryLayout<Int32>.size))
        #endif
        self.state.withLock { state in
            state.connections.insert(connection)
            if state.isStopped { shutdown(connection, Int32(SHUT_RDWR)) }
        }
        return LoopbackConnection(connection, of: self)
    }
}
