// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenServer
import FleetTokens
import Foundation
import Logging

/// A store in a folder of its own, which is removed with the value.
final class TemporaryStore {
    let folder: URL
    let store: TokenServerStore

    var path: String { self.store.path }
    var reader: AuditReader { AuditReader(store: self.store) }

    init() throws {
        self.folder = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.store = try TokenServerStore(
            creatingAt: self.folder.appending(path: "tokens.sqlite").path(percentEncoded: false))
    }

    deinit {
        try? self.store.close()
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// Keeps records of tokens for vehicles `veh-1` and up.
    func append(_ count: Int) async throws {
        let log = SQLiteAuditLog(store: self.store, logger: Logger(label: "test"))
        for number in 1...count {
            try await log.append(try .granted(.driver(try VehicleID(checking: "veh-\(number)")), at: Double(number)))
        }
    }

    /// Everything that a query finds.
    func matches(_ query: AuditQuery) async throws -> [AuditMatch] {
        let (matches, continuation) = AsyncStream.makeStream(of: AuditMatch.self)
        try await self.reader.search(query) { continuation.yield($0) }
        continuation.finish()
        return await matches.reduce(into: []) { $0.append($1) }
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
