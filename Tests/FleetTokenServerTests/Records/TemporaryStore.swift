// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FleetPostgreSQL
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import GRDB
import Logging
import PostgreSQLTestSupport
import Testing

/// The databases that must behave alike.
enum TokenStoreKind: String, CustomTestStringConvertible {
    case sqlite
    case postgreSQL

    /// Those that this machine has.
    static let available: [Self] = PostgreSQLServer.isInstalled ? [.sqlite, .postgreSQL] : [.sqlite]

    var testDescription: String { self.rawValue }
}

/// A store of its own, which is gone with the value.
final class TemporaryStore {
    let folder: URL
    let store: TokenServerStore
    private let address: String

    var path: String { self.store.path }
    var reader: AuditReader { AuditReader(store: self.store) }

    init() throws {
        self.folder = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.address = self.folder.appending(path: "tokens.sqlite").path(percentEncoded: false)
        self.store = try TokenServerStore(creatingAt: self.address)
    }

    private init(address: String) throws {
        self.folder = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        self.address = address
        self.store = try TokenServerStore(postgreSQL: address, logger: .silent)
    }

    /// Makes a store of a kind.
    static func make(_ kind: TokenStoreKind) async throws -> TemporaryStore {
        switch kind {
        case .sqlite: try TemporaryStore()
        case .postgreSQL: try TemporaryStore(address: try await PostgreSQLServer.shared().makeDatabase())
        }
    }

    /// Another node's access to the same store.
    func another() throws -> TokenServerStore {
        try TokenServerStore.isAddress(self.address)
            ? TokenServerStore(postgreSQL: self.address, logger: .silent) : TokenServerStore(openingAt: self.address)
    }

    /// Does something to the database behind the server's back.
    func tamper(_ sql: String) async throws {
        guard TokenServerStore.isAddress(self.address) else {
            return try await DatabaseQueue(path: self.path).write { try $0.execute(sql: sql) }
        }
        try await self.store.check()
        let pool = PostgreSQLPool(try PostgreSQLAddress(self.address), connections: 1, logger: .silent)
        let statements = sql.replacing(/DROP TRIGGER \w+/) { "\($0.output) ON audit_record" }
            .replacing(
                "(sequence, content, hash) SELECT 9, content, hash",
                with: "SELECT 9, content, hash, time_ms, fingerprint"
            )
            .split(separator: ";")
        try await pool.run { session in
            try session.query(.once("SET search_path = fleetpass"))
            for statement in statements { try session.query(.once(String(statement))) }
        }
        await pool.close()
    }

    /// What runs statements on a connection of its own and waits for their end, for code that cannot await.
    ///
    /// - Returns: Runs the statements; the store must be in PostgreSQL.
    func bystander() throws -> @Sendable (_ statements: [String]) throws -> Void {
        let pool = PostgreSQLPool(try PostgreSQLAddress(self.address), connections: 1, logger: .silent)
        return { statements in
            let outcome = Locked<Result<Void, any Error>>(.success(()))
            let hasEnded = DispatchSemaphore(value: 0)
            pool.submit { session in
                let result: Result<Void, any Error> = Result {
                    for sql in statements { try session.get().query(.once(sql)) }
                }
                outcome.withLock { $0 = result }
                hasEnded.signal()
            }
            hasEnded.wait()
            try outcome.withLock { $0 }.get()
        }
    }

    /// Has the database take no changes, as one whose lock another process holds, or a standby of PostgreSQL.
    ///
    /// - Returns: Has nodes that connect from then on make changes again.
    func refuseChanges() async throws -> @Sendable () async throws -> Void {
        guard TokenServerStore.isAddress(self.address) else {
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let queue = try DatabaseQueue(path: self.path, configuration: configuration)
            try await queue.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
            return {
                try await queue.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
                try queue.close()
            }
        }
        let name = try #require(self.address.firstMatch(of: /t_[0-9a-f]{32}/)).output
        let address = try PostgreSQLAddress(self.address)
        @Sendable func set(_ sql: String) async throws {
            let pool = PostgreSQLPool(address, connections: 1, logger: .silent)
            try await pool.run { session in
                try session.query(.once("SET default_transaction_read_only = off"))
                try session.query(.once(sql))
            }
            await pool.close()
        }
        try await set("ALTER DATABASE \(name) SET default_transaction_read_only = on")
        return { try await set("ALTER DATABASE \(name) RESET default_transaction_read_only") }
    }

    deinit {
        try? self.store.close()
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// Keeps records of tokens for vehicles `veh-1` and up.
    func append(_ count: Int) async throws {
        let log = StoredAuditLog(store: self.store, logger: Logger(label: "test"))
        for number in 1...count {
            try await log.append(try .granted(.driver(try VehicleID(checking: "veh-\(number)")), at: Double(number)))
        }
    }

    /// Withdraws tokens, as an administrator does.
    @discardableResult
    func revoke(_ target: RevocationTarget, at now: Date) async throws -> [Revocation] {
        try await Administration(store: self.store).revoke(target, by: .init(localUser: "ops"), at: now)
    }

    /// Lets somebody hold something, as an administrator does.
    func assign(_ assignment: Assignment) async throws {
        try await Administration(store: self.store).add(
            assignment, by: .init(localUser: "ops"), at: assignment.start)
    }

    /// Everything that a query finds.
    func matches(_ query: AuditQuery) async throws -> [AuditMatch] {
        let (matches, continuation) = AsyncStream.makeStream(of: AuditMatch.self)
        try await self.reader.search(query) { continuation.yield($0) }
        continuation.finish()
        return await matches.reduce(into: []) { $0.append($1) }
    }
}

extension AuditMatch {
    /// The caller of a decision.
    var caller: String? {
        guard case .decision(let record) = self.event else { return nil }
        return record.caller
    }
}

extension AuditRecord {
    /// A record of a token that was given at a time in seconds and lives for 55 minutes.
    static func granted(
        _ type: TokenType, at time: Double, to caller: String = "app", subject: String? = nil
    ) throws -> Self {
        AuditRecord(
            time: Date(timeIntervalSince1970: time), caller: Caller(name: caller, subject: subject, issuer: "test"),
            address: "192.0.2.7", role: type.role, claims: try type.claims, decision: .granted, rule: "drivers",
            token: .init(fingerprint: "00ff\(Int64(time * 1000))", keyID: "key-1", expiresAt: Int64(time) + 3300))
    }
}
