// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import PostgreSQLTestSupport
import Testing

@testable import FleetTokenServer

@Suite struct ListedRevocationsTests {
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)

    /// A token of a key, made some seconds before now, that lives for 55 minutes.
    private static func record(
        _ fingerprint: String, of key: String, to subject: String, at offset: TimeInterval = -100
    ) throws -> AuditRecord {
        let time = Self.now.timeIntervalSince1970 + offset
        var record = try AuditRecord.granted(
            .driver(try VehicleID(checking: "veh-1")), at: time, to: "app", subject: subject)
        record.token = .init(fingerprint: fingerprint, keyID: key, expiresAt: Int64(time) + 3300)
        return record
    }

    /// Withdraws 47,000 tokens that no record tells of, a little more than a list has room for.
    private static func fill(_ store: TokenServerStore, until end: Date) async throws {
        let tokens = (1...47_000).map { number in
            Revocation(kind: .fingerprint, value: String(format: "ff%014x", number), endsAt: end)
        }
        try await store.database.write { try $0.withdraw(tokens) }
    }

    @Test(arguments: TokenStoreKind.available)
    func `tokens of a withdrawn key are left out once they were looked up, and no others`(
        kind: TokenStoreKind
    ) async throws {
        let world = try await TemporaryStore.make(kind)
        defer { withExtendedLifetime(world) {} }
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        try await log.append(Self.record("0000000000000001", of: "key-1", to: "dora"))
        try await log.append(Self.record("0000000000000002", of: "key-2", to: "dora"))
        // A key's id within a record is that of its token in one place only.
        try await log.append(Self.record("0000000000000003", of: "key-2", to: "key-1"))
        let store = RevocationStore(store: world.store)
        try await world.revoke(.subject("dora"), at: Self.now)
        try await world.revoke(.subject("key-1"), at: Self.now)
        let listed = ListedRevocations(of: store)
        func values() async throws -> [String] { try await listed.current(at: Self.now + 1).map(\.value).sorted() }
        try await listed.lookUpTokensOfKeys(at: Self.now)
        #expect(try await values() == ["0000000000000001", "0000000000000002", "0000000000000003"])

        try await world.revoke(.key("key-1"), at: Self.now)
        #expect(try await values() == ["0000000000000001", "0000000000000002", "0000000000000003", "key-1"])
        try await listed.lookUpTokensOfKeys(at: Self.now)
        #expect(try await values() == ["0000000000000002", "0000000000000003", "key-1"])
        // Who shares the store is told all.
        #expect(try await store.current(at: Self.now).count == 4)

        try await log.append(Self.record("0000000000000004", of: "key-1", to: "dirk"))
        // This one's withdrawal lasts longer than the key's.
        try await log.append(Self.record("0000000000000005", of: "key-1", to: "dirk", at: 100))
        try await world.revoke(.subject("dirk"), at: Self.now)
        try await listed.lookUpTokensOfKeys(at: Self.now)
        #expect(try await values() == ["0000000000000002", "0000000000000003", "0000000000000005", "key-1"])
    }

    @Test(arguments: TokenStoreKind.available)
    func `what the list has no room for is counted without the tokens of withdrawn keys`(
        kind: TokenStoreKind
    ) async throws {
        let world = try await TemporaryStore.make(kind)
        defer { withExtendedLifetime(world) {} }
        let log = StoredAuditLog(store: world.store, logger: Logger(label: "test"))
        for number in 1...3 {
            try await log.append(Self.record(String(format: "%016x", number), of: "key-1", to: "dora"))
        }
        try await Self.fill(world.store, until: Self.now + 3000)
        let store = RevocationStore(store: world.store)
        let count = try await store.countLeftOut(at: Self.now)
        #expect(count > 3)
        try await world.revoke(.subject("dora"), at: Self.now)
        #expect(try await store.countLeftOut(at: Self.now) == count + 3)
        try await world.revoke(.key("key-1"), at: Self.now)
        // The key's entry is shorter than a token's, and never longer than two of them.
        #expect([count, count + 1, count + 2].contains(try await store.countLeftOut(at: Self.now)))
        #expect(try await store.countLeftOut(at: Self.now + 3001) == 0)
    }

    @Test func `a server whose list has no room for all says so, and stays ready`() async throws {
        let world = try KeyFolderTests.World()
        let data = world.url.appending(path: "data")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        let log = LeakTests.Log()
        let logger = Logger(label: "test") { _ in LeakTests.Handler(log: log) }
        let service = try TokenService(
            data: data.path(percentEncoded: false), keys: world.url.path(percentEncoded: false),
            provider: try ProviderID(checking: "acme"), following: try FollowedServers(logger: .silent),
            logger: logger)
        func told() -> [Substring] { log.contents.split(separator: "\n").filter { $0.contains("list of revocations") } }
        try await Self.fill(service.store, until: Date() + 3000)
        try await Administration(store: service.store).revoke(
            .key("stolen"), by: .init(localUser: "ops"), at: Date())
        await service.refresh()
        #expect(service.remarks().isEmpty && told().isEmpty)
        #expect(service.metrics.text.contains("fleetpass_published_revocations_left_out 0\n"))
        let router = Router()
        service.revocationRoutes.add(to: router)
        try await Application(router: router).test(.router) { client in
            let answer = try await client.execute(uri: "/.well-known/revocations", method: .get)
            #expect(answer.status == .ok)
            let payload = try #require(String(buffer: answer.body).split(separator: ".").dropFirst().first)
            let list = try JSONValue(parsing: try #require(Base64URL.decode(payload.utf8))).object
            let first = list?["revocations"]?.array?.first?.object
            #expect(first?["kind"] == .string("key") && first?["value"] == .string("stolen"))
        }
        for _ in 1...2 {
            await service.refresh()
            #expect(service.remarks()["revocations"]?.contains("no room for") == true)
            #expect(service.readiness.problems[.revocations] == nil)
            #expect(told().count == 1 && told().first?.hasPrefix("error ") == true)
            let shown = service.metrics.text.split(separator: "\n")
                .first { $0.hasPrefix("fleetpass_published_revocations_left_out ") }
            #expect((shown?.split(separator: " ").last.flatMap { Int($0) } ?? 0) > 0)
        }
        try service.store.close()
    }
}
