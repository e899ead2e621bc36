// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CLibPQ
import Dispatch
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#endif

/// libpq's connection; every wait has a time limit.
final class PostgreSQLConnection {
    let raw: OpaquePointer
    private let options: [(String, String)]
    private let listener: any AnswerListening

    /// Connects to the first host of the address that is as wanted.
    ///
    /// - Parameters:
    ///   - address: Where to connect.
    ///   - limit: How long to try, shared by the hosts.
    ///   - listener: Hears how each wait for the server goes.
    /// - Throws: ``PostgreSQLError`` that names the address and the fix.
    init(
        _ address: PostgreSQLAddress, within limit: Duration, listener: any AnswerListening
    ) throws(PostgreSQLError) {
        // What stands before the address gives way to it; what stands after it does not.
        let options = [
            ("fallback_application_name", "fleetpass"), ("tcp_user_timeout", "15000"), ("keepalives_idle", "30"),
            ("dbname", address.text), ("client_encoding", "UTF8"),
            ("connect_timeout", address.connectTimeout(sharing: limit)),
        ]
        Self.askNobody
        // Only this call of libpq leaves a host that says nothing for the next one in time.
        guard let raw = Self.withOptions(options, { PQconnectdbParams($0, $1, 1) }) else {
            throw PostgreSQLError(code: .unreachable, message: "There is no memory to connect.")
        }
        self.raw = raw
        self.options = options
        self.listener = listener
        PQsetNoticeProcessor(raw, { _, _ in }, nil)
        guard PQstatus(raw) == CONNECTION_OK else { throw self.connectingFailed(address) }
        guard PQsetnonblocking(raw, 1) == 0, PQenterPipelineMode(raw) == 1 else { throw self.lost }
    }

    deinit { PQfinish(self.raw) }

    /// Has the address alone tell the passphrase of an encrypted key, once for the process: OpenSSL would ask for one
    /// on the terminal and wait for it.
    private static let askNobody: Void = PQsetSSLKeyPassHook_OpenSSL(PQdefaultSSLKeyPassHook_OpenSSL)

    /// The server's or libpq's own words about the last failure, on one line.
    var problem: String {
        String(cString: PQerrorMessage(self.raw)).split { $0.isNewline || $0 == "\t" }.joined(separator: " ")
    }

    var lost: PostgreSQLError {
        PostgreSQLError(code: .connectionLost, message: "The connection to PostgreSQL broke: \(self.problem)")
    }

    /// Whether the connection still stands, as far as can be told without asking the server.
    ///
    /// A server that was asked nothing has nothing to say but that it ends, or that a setting changed, which is rare.
    var isAlive: Bool {
        var descriptor = pollfd(fd: PQsocket(self.raw), events: Int16(POLLIN), revents: 0)
        return PQstatus(self.raw) == CONNECTION_OK && poll(&descriptor, 1, 0) == 0
    }

    /// What the connection leaves open to whoever is on the way to the server, if anybody is.
    var exposure: PostgreSQLExposure? {
        let options = PQconninfo(self.raw)
        defer { PQconninfoFree(options) }
        let values = options.map { PostgreSQLAddress.values(of: $0) } ?? [:]
        return PostgreSQLExposure(
            host: PQhostaddr(self.raw).map { String(cString: $0) } ?? "", mode: values["sslmode"] ?? "",
            authority: values["sslrootcert"] ?? "", isGSSAPI: PQgssEncInUse(self.raw) == 1)
    }

    /// Sends what is buffered, and takes in what arrives meanwhile, so that neither side waits for the other.
    func flush(until deadline: ContinuousClock.Instant) throws(PostgreSQLError) {
        while true {
            switch PQflush(self.raw) {
            case 0: return
            case 1:
                if try self.wait(POLLIN | POLLOUT, until: deadline) & POLLIN != 0 { try self.takeIn() }
            default: throw self.lost
            }
        }
    }

    /// The next result; `nil` where those of a statement end.
    func nextResult(until deadline: ContinuousClock.Instant) throws(PostgreSQLError) -> OpaquePointer? {
        while PQisBusy(self.raw) == 1 {
            try self.wait(POLLIN, until: deadline)
            try self.takeIn()
        }
        return PQgetResult(self.raw)
    }

    /// Asks the server to end what it still does for this connection.
    ///
    /// - Parameter limit: How long to wait until it was asked; where it takes longer, it is asked later.
    func cancel(within limit: Duration) {
        guard let request = PQgetCancel(self.raw) else { return }
        // Only the thread uses it from here on, and frees it.
        nonisolated(unsafe) let asked = request
        let hasEnded = DispatchSemaphore(value: 0)
        // libpq waits here for as long as the server's machine lives, whatever the options for a connection say.
        let thread = Thread {
            var problem = [CChar](repeating: 0, count: 256)
            PQcancel(asked, &problem, Int32(problem.count))
            PQfreeCancel(asked)
            hasEnded.signal()
        }
        thread.name = "postgresql-cancel"
        thread.start()
        _ = hasEnded.wait(timeout: .now() + .milliseconds(Int(limit.milliseconds)))
    }

    private func takeIn() throws(PostgreSQLError) {
        guard PQconsumeInput(self.raw) == 1 else { throw self.lost }
        self.listener.heard()
    }

    /// What leads a new connection to the server at the other end, of all hosts of the address.
    private var optionsForOthers: [(String, String)] {
        func text(_ value: UnsafeMutablePointer<CChar>?) -> String { value.map { String(cString: $0) } ?? "" }
        let place = [
            ("host", text(PQhost(self.raw))), ("hostaddr", text(PQhostaddr(self.raw))),
            ("port", text(PQport(self.raw))), ("connect_timeout", "2"),
        ]
        return self.options + place
    }

    /// Whether the server at the other end answers a new connection.
    private var isAnsweringOthers: Bool {
        Self.withOptions(self.optionsForOthers) { PQpingParams($0, $1, 1) } != PQPING_NO_RESPONSE
    }

    /// Waits until the socket can be read or written.
    @discardableResult
    private func wait(_ events: Int32, until deadline: ContinuousClock.Instant) throws(PostgreSQLError) -> Int32 {
        let start = ContinuousClock.now
        while true {
            let left = deadline - .now
            var descriptor = pollfd(fd: PQsocket(self.raw), events: Int16(events), revents: 0)
            switch poll(&descriptor, 1, Int32(clamping: max(0, min(left, .seconds(1)).milliseconds + 1))) {
            case 1...:
                return Int32(descriptor.revents) | (Int32(descriptor.revents) & (POLLERR | POLLHUP) != 0 ? POLLIN : 0)
            case 0:
                guard left > .zero else {
                    throw PostgreSQLError(code: .timedOut, message: "PostgreSQL did not answer in time.")
                }
                self.listener.waited(since: start) { self.isAnsweringOthers }
            default: guard errno == EINTR else { throw self.lost }
            }
        }
    }

    private func connectingFailed(_ address: PostgreSQLAddress) -> PostgreSQLError {
        let problem = self.problem
        // Two blanks come before what the server says, and never before libpq's own words.
        let state = problem.contains(":  ") ? self.refusalState(within: .seconds(5)) : nil
        guard !self.isRefused(state, problem) else {
            return PostgreSQLError(
                code: .refused,
                message: "\(address) lets nobody in with this user, password and database: \(problem) "
                    + "Mend the address or the server's pg_hba.conf, or create what is missing.",
                sqlState: state)
        }
        // A server that serves nobody for now was reached, by another way where the wanted one failed.
        guard state != nil || !Self.isMistake(problem) else {
            return PostgreSQLError(
                code: .invalidAddress,
                message: "\(address) cannot be used: \(problem) Mend the address, the files that it names, the "
                    + "variables and the service file that complete it, or what the server offers.")
        }
        // What libpq says of a server that was reached, and is not what `target_session_attrs` wants.
        guard !problem.contains("session is read-only"), !problem.contains("server is in hot standby mode") else {
            return PostgreSQLError(
                code: .unreachable,
                message: "\(address) has no server that takes changes; promote one, or wait for the primary: "
                    + problem)
        }
        return PostgreSQLError(
            code: .unreachable,
            message: "\(address) cannot be reached: \(problem) \(Self.advice(after: state))", sqlState: state)
    }

    /// What to do about a server that gives no connection, by the code with which it refuses; `nil` where nothing answers.
    private static func advice(after state: String?) -> String {
        switch state {
        case nil: "Start the server, or mend host, port or firewall."
        case "53300"?: "Let it take more connections: by max_connections, or the CONNECTION LIMIT of user or database."
        case _?: "It serves nobody for now; wait until it does, or see its log."
        }
    }

    /// Whether the server was reached and lets nobody in like this, rather than nobody for now.
    private func isRefused(_ state: String?, _ problem: String) -> Bool {
        if PQconnectionNeedsPassword(self.raw) == 1 { return true }
        guard let state else { return false }
        // Poolers say so of whatever they do not let through.
        if state == "08P01" { return true }
        return [.statementFailed, .wrongSchema].contains(PostgreSQLError(sqlState: state, message: problem).code)
    }

    /// The server's code for its refusal, which is asked for anew: of the first one libpq keeps the words alone, which
    /// are in the server's language.
    ///
    /// - Parameter limit: How long to try.
    /// - Returns: The code; `nil` where the server does not refuse any more.
    private func refusalState(within limit: Duration) -> String? {
        guard let raw = Self.withOptions(self.optionsForOthers, { PQconnectStartParams($0, $1, 1) }) else { return nil }
        defer { PQfinish(raw) }
        guard PQstatus(raw) != CONNECTION_BAD else { return nil }
        PQsetErrorVerbosity(raw, PQERRORS_SQLSTATE)
        PQsetNoticeProcessor(raw, { _, _ in }, nil)
        let deadline = ContinuousClock.now + limit
        var state = PGRES_POLLING_WRITING
        while state == PGRES_POLLING_READING || state == PGRES_POLLING_WRITING {
            let left = deadline - .now
            let events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT
            var descriptor = pollfd(fd: PQsocket(raw), events: Int16(events), revents: 0)
            guard left > .zero, poll(&descriptor, 1, Int32(clamping: left.milliseconds + 1)) > 0 else { return nil }
            state = PQconnectPoll(raw)
        }
        let words = String(cString: PQerrorMessage(raw))
        return words.firstMatch(of: #/: {2}([0-9A-Z]{5})\s*$/#).map { String($0.output.1) }
    }

    /// Whether libpq itself finds wrong what stands in the address or completes it, or what the server at the other end
    /// makes of it.
    private static func isMistake(_ problem: String) -> Bool {
        problem.contains(/invalid \w+ value/) || Self.mistakes.contains { problem.contains($0) }
    }

    /// How libpq words mistakes in options, beside values that an option cannot have; and OpenSSL, what the server
    /// thinks of a certificate or of the way to encrypt.
    private static let mistakes = [
        "invalid port number", "could not match", "could not parse network address", "definition of service",
        "service file", "certificate file", "private key file", "certificate verify failed",
        "does not match host name", "host name must be specified", "server does not support SSL",
        "SSL protocol version", "alert protocol version", "alert handshake failure", "alert unknown ca",
        "alert bad certificate", "alert unsupported certificate", "alert certificate", "weak sslmode",
        "channel binding", "authentication method requirement", "requirepeer", "GSSAPI encryption",
        "is not compiled in", "local user with ID",
    ]

    private static func withOptions<Result>(
        _ options: [(String, String)],
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<UnsafePointer<CChar>?>?) -> Result
    ) -> Result {
        Self.withCStrings(options.map(\.0)) { keywords in
            Self.withCStrings(options.map(\.1)) { values in body(keywords, values) }
        }
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
    ) -> Result {
        // Each ends with its own NUL, so that one buffer holds them all.
        var bytes: [CChar] = []
        let starts = strings.map { string in
            defer { bytes.append(contentsOf: string.utf8CString) }
            return bytes.count
        }
        return bytes.withUnsafeBufferPointer { buffer in
            let pointers = starts.map { buffer.baseAddress?.advanced(by: $0) } + [nil]
            return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
        }
    }
}
