// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import Logging
import PostgreSQLTestSupport
import Testing

@testable import FleetTokenServer

@Suite struct RevocationTests {
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)

    private static func world(_ kind: TokenStoreKind) async throws -> (world: TemporaryStore, list: RevocationStore) {
        let world = try await TemporaryStore.make(kind)
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        let seconds = Self.now.timeIntervalSince1970
        func add(_ type: TokenType, at offset: Double, to caller: String, subject: String) async throws {
            try await log.append(.granted(type, at: seconds + offset, to: caller, subject: subject))
        }
        let vehicle = TokenType.driver(try VehicleID(checking: "veh-3"))
        try await add(vehicle, at: -3600, to: "app", subject: "dora")
        try await add(vehicle, at: -3599, to: "app", subject: "dora")
        try await add(vehicle, at: -100, to: "app", subject: "dora")
        try await add(.driver(try VehicleID(checking: "veh-4")), at: -90, to: "app", subject: "dora")
        try await add(vehicle, at: -80, to: "tablet", subject: "dirk")
        try await add(.server, at: -70, to: "backend", subject: "backend")
        return (world, RevocationStore(store: world.store))
    }

    private func offsets(_ revocations: [Revocation]) -> [Int] {
        revocations.compactMap { Int($0.value.dropFirst(4)) }
            .map { $0 / 1000 - Int(Self.now.timeIntervalSince1970) }.sorted()
    }

    @Test(arguments: TokenStoreKind.available)
    func `a subject's living tokens are withdrawn, and nobody else's`(kind: TokenStoreKind) async throws {
        let (world, list) = try await Self.world(kind)
        defer { withExtendedLifetime(world) {} }
        let revoked = try await world.revoke(.subject("dora"), at: Self.now)
        // A token ends after 3300 s, for verifiers whose clocks are behind 300 s later.
        #expect(self.offsets(revoked) == [-3599, -100, -90])
        #expect(try await list.current(at: Self.now) == revoked.sorted { $0.value < $1.value })
    }

    @Test(arguments: TokenStoreKind.available)
    func `a vehicle's tokens are those that name it`(kind: TokenStoreKind) async throws {
        let world = try await Self.world(kind).world
        let vehicle = AssignedResource.vehicle(try VehicleID(checking: "veh-3"))
        #expect(self.offsets(try await world.revoke(.resource(vehicle), at: Self.now)) == [-3599, -100, -80])
        #expect(self.offsets(try await world.revoke(.caller("tablet"), at: Self.now)) == [-80])
        #expect(try await world.revoke(.caller("nobody"), at: Self.now).isEmpty)
    }

    @Test(arguments: TokenStoreKind.available)
    func `names that are patterns, or escaped in JSON, stand for themselves`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        let type = TokenType.driver(try VehicleID(checking: "veh-3"))
        let subjects = [#"a"b\c"#, "50%_|x", "50ab|x", "ümläut\n", "auth0|\u{301}x", "plain"]
        for (number, subject) in subjects.enumerated() {
            let time = Self.now.timeIntervalSince1970 - 100 + Double(number)
            try await log.append(.granted(type, at: time, to: "app", subject: subject))
        }
        for (number, subject) in subjects.enumerated() {
            #expect(self.offsets(try await world.revoke(.subject(subject), at: Self.now)) == [number - 100])
        }
    }

    @Test(arguments: TokenStoreKind.available)
    func `a caller goes by the name that its login gives, whatever its letters and length`(
        kind: TokenStoreKind
    ) async throws {
        let world = try await TemporaryStore.make(kind)
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        let type = TokenType.driver(try VehicleID(checking: "veh-3"))
        let names = ["Zoë Müller", String(repeating: "n", count: 300), String(repeating: "ü", count: 256)]
        for (number, name) in names.enumerated() {
            let time = Self.now.timeIntervalSince1970 - 100 + Double(number)
            try await log.append(.granted(type, at: time, to: name, subject: "dora"))
        }
        for (number, name) in names.enumerated() {
            #expect(self.offsets(try await world.revoke(.caller(name), at: Self.now)) == [number - 100])
        }
    }

    @Test(arguments: TokenStoreKind.available)
    func `a caller's name is found in another spelling of the same letters`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        let type = TokenType.driver(try VehicleID(checking: "veh-3"))
        let names = [
            ("Zoe\u{308} Mu\u{308}ller", "Zo\u{EB} M\u{FC}ller"), ("\u{212A}im", "Kim"),
            ("a\u{37E}b \"c\" 100%", "a;b \"c\" 100%"),
            ("\u{E9}", "e\u{301}"), ("Ren\u{E9}", "Rene\u{301}"), ("Kong", "\u{212A}ong"),
        ]
        for (number, (given, _)) in names.enumerated() {
            let time = Self.now.timeIntervalSince1970 - 100 + Double(number)
            try await log.append(.granted(type, at: time, to: given, subject: "dora"))
        }
        for (number, (_, typed)) in names.enumerated() {
            #expect(self.offsets(try await world.revoke(.caller(typed), at: Self.now)) == [number - 100], "\(typed)")
        }
    }

    @Test(arguments: TokenStoreKind.available)
    func `a token that was handed out again and again is withdrawn once`(kind: TokenStoreKind) async throws {
        let world = try await TemporaryStore.make(kind)
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        let type = TokenType.driver(try VehicleID(checking: "veh-3"))
        let time = Self.now.timeIntervalSince1970 - 100
        for _ in 1...3 { try await log.append(.granted(type, at: time, to: "app", subject: "dora")) }
        #expect(self.offsets(try await world.revoke(.subject("dora"), at: Self.now)) == [-100])
    }

    @Test(arguments: TokenStoreKind.available)
    func `a fingerprint or a key is known while a token of it lives`(kind: TokenStoreKind) async throws {
        let (world, list) = try await Self.world(kind)
        defer { withExtendedLifetime(world) {} }
        let revoked = try await world.revoke(.caller("tablet"), at: Self.now)
        let fingerprint = try #require(revoked.first).value
        for target in [RevocationTarget.fingerprint(fingerprint), .key("key-1")] {
            #expect(try await list.knows(target, at: Self.now) == true)
            #expect(try await list.knows(target, at: Self.now + 3600) == false)
        }
        for target in [RevocationTarget.fingerprint("00ff00ff00ff00ff"), .key("key")] {
            #expect(try await list.knows(target, at: Self.now) == false)
        }
    }

    @Test(arguments: TokenStoreKind.available)
    func `the list forgets a token when it has ended, and anything after a token's life`(
        kind: TokenStoreKind
    ) async throws {
        let (world, list) = try await Self.world(kind)
        defer { withExtendedLifetime(world) {} }
        try await world.revoke(.subject("dora"), at: Self.now)
        try await world.revoke(.key("key-1"), at: Self.now)
        // Two tokens end after 3200 and 3210 s, for verifiers whose clocks are behind 300 s later.
        #expect(try await list.current(at: Self.now + 3499).count == 3)
        #expect(try await list.current(at: Self.now + 3511).map(\.kind) == [.key])
        #expect(try await list.current(at: Self.now + 3600).isEmpty)
    }

    @Test(arguments: TokenStoreKind.available)
    func `a token from a time when a clock was ahead stays withdrawn until its own end`(
        kind: TokenStoreKind
    ) async throws {
        let (world, list) = try await Self.world(kind)
        defer { withExtendedLifetime(world) {} }
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        let start = Self.now.timeIntervalSince1970 + 7200
        var record = try AuditRecord.granted(
            .driver(try VehicleID(checking: "veh-5")), at: start, to: "phone", subject: "dina")
        record.token = .init(fingerprint: "00ff00ff00ff00ff", keyID: "key-1", expiresAt: Int64(start) + 3300)
        try await log.append(record)
        // The token ends after 10,500 s, for verifiers whose clocks are behind 300 s later.
        for target in [RevocationTarget.subject("dina"), .fingerprint("00ff00ff00ff00ff")] {
            #expect(try await world.revoke(target, at: Self.now).map(\.endsAt) == [Self.now + 10_800])
            #expect(try await list.current(at: Self.now + 10_799).count == 1)
            #expect(try await list.current(at: Self.now + 10_800).isEmpty)
        }
        // What the audit does not know may have been made now, and ends within the hour.
        let unknown = try await world.revoke(.fingerprint("11ff00ff00ff00ff"), at: Self.now)
        #expect(unknown.map(\.endsAt) == [Self.now + 3600])
    }

    @Test(arguments: TokenStoreKind.available)
    func `a withdrawal from a machine whose clock is ahead takes none back`(kind: TokenStoreKind) async throws {
        let (world, list) = try await Self.world(kind)
        defer { withExtendedLifetime(world) {} }
        let revoked = try await world.revoke(.subject("dora"), at: Self.now)
        try await world.revoke(.key("key-2"), at: Self.now + 7200)
        #expect(Set(revoked).isSubset(of: try await list.current(at: Self.now)))
        // What ended a day ago is forgotten.
        try await world.revoke(.key("key-3"), at: Self.now + 172_800)
        #expect(try await list.current(at: Self.now).map(\.value) == ["key-3"])
    }

    @Test(arguments: TokenStoreKind.available, ["", "a\u{0}b", String(repeating: "k", count: 257)])
    func `what no token has is refused`(kind: TokenStoreKind, value: String) async throws {
        let (world, list) = try await Self.world(kind)
        defer { withExtendedLifetime(world) {} }
        for target in [RevocationTarget.fingerprint(value), .key(value), .caller(value + value), .subject(value)] {
            let error = await #expect(throws: TokenServerError.self) { try await world.revoke(target, at: Self.now) }
            #expect(error?.code == .invalidTarget)
        }
        #expect(try await list.current(at: Self.now).isEmpty)
        #expect(try await world.revoke(.key(String(repeating: "k", count: 256)), at: Self.now).count == 1)
    }
}

@Suite struct RevokedTokenTests {
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)

    /// A verifier remembers good tokens or does not; both ask the list at each call.
    @Test(arguments: [0, 1000])
    func `a withdrawn token is refused at the next call, remembered or not`(capacity: Int) async throws {
        let key = try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme")
        let list = RevocationList()
        let verifier = TokenVerifier(
            keys: TrustedKeySet([try key.publicKey()]), revocations: list, cacheCapacity: capacity)
        let minter = TokenMinter(signer: try LocalSigner(key))
        func mint(_ vehicle: String) async throws -> FleetToken {
            let claims = try TokenType.driver(try VehicleID(checking: vehicle)).claims
            return try await minter.mint(claims, at: Self.now).token
        }
        func refusal(of token: FleetToken) -> TokenRefusal.Reason? {
            do throws(TokenRefusal) {
                _ = try verifier.verify(token.compactSerialization, at: Self.now)
                return nil
            } catch {
                return error.reason
            }
        }
        let (first, second) = (try await mint("veh-1"), try await mint("veh-2"))
        #expect(refusal(of: first) == nil)
        list.replace(fingerprints: [first.fingerprint], keyIDs: [])
        #expect(refusal(of: first) == .tokenRevoked)
        #expect(refusal(of: second) == nil)
        list.replace(fingerprints: [], keyIDs: [key.keyID])
        #expect(refusal(of: first) == .tokenRevoked)
        #expect(refusal(of: second) == .tokenRevoked)
        list.replace(fingerprints: [], keyIDs: ["another"])
        #expect(refusal(of: first) == nil)
    }

    @Test(.enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)))
    func `who follows a store by one connection makes no more`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let server = try TokenServerStore(postgreSQL: address, logger: .silent)
        try await server.check()
        try server.close()
        let store = try TokenServerStore(followingPostgreSQL: address, logger: .silent)
        try await withThrowingDiscardingTaskGroup { group in
            for _ in 0..<16 {
                group.addTask { _ = try await RevocationStore(store: store).current(at: Self.now) }
            }
        }
        let count = try await store.database.read { database in
            var count: Int64 = 0
            try database.rows(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND backend_type = 'client backend'
                """, []
            ) { row in
                count = try row.integer(0)
                return false
            }
            return count
        }
        #expect(count == 1)
        try store.close()
    }

    @Test(.enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)))
    func `what is withdrawn stays so where the store's tables are gone, and none are made`() async throws {
        let address = try await PostgreSQLServer.shared().makeDatabase()
        let server = try TokenServerStore(postgreSQL: address, logger: .silent)
        try await Administration(store: server).revoke(.key("key-1"), by: .init(localUser: "ops"), at: Date())
        let list = RevocationList()
        let follower = try StoredRevocations(in: address, for: list, logger: .silent)
        try await follower.prepare()
        #expect(list.holds(keyID: "key-1"))
        try server.close()
        try await PostgreSQLServer.empty(address)
        for _ in 0..<3 { try await follower.prepare() }
        #expect(list.holds(keyID: "key-1"))
        #expect(follower.problem == "the store of withdrawn tokens cannot be read")
        #expect(try await PostgreSQLServer.isEmpty(address))
    }

    @Test func `a minted token is withdrawn by its fingerprint or with its key`() async throws {
        let key = try ServiceAccountKey(generatingFor: "reader@acme", projectID: "acme")
        let minted = try await TokenMinter(signer: try LocalSigner(key)).mint(TokenType.server.claims, at: Self.now)
        let list = RevocationList()
        #expect(!list.holds(minted))
        list.replace(fingerprints: [minted.token.fingerprint], keyIDs: [])
        #expect(list.holds(minted))
        list.replace(fingerprints: [], keyIDs: [key.keyID])
        #expect(list.holds(minted))
        list.replace(fingerprints: ["00ff00ff00ff00ff"], keyIDs: ["another"])
        #expect(!list.holds(minted))
    }
}
