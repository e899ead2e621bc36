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

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct KeyFolderTests {
    /// A folder with one driver's key, removed with the value.
    final class World: Sendable {
        let url = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        let folder: KeyFolder
        let first: ServiceAccountKey

        init() throws {
            try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true)
            self.folder = KeyFolder(path: self.url.path(percentEncoded: false))
            self.first = try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme")
            try self.first.keyFile.write(to: self.url.appending(path: "driver.json"))
        }

        deinit { try? FileManager.default.removeItem(at: self.url) }

        /// The first key under another id, as making keys takes long.
        func copy(_ id: String) throws -> ServiceAccountKey {
            let file = String(decoding: self.first.keyFile, as: UTF8.self)
            return try ServiceAccountKey(json: Data(file.replacing(self.first.keyID, with: id).utf8))
        }

        /// The key files.
        func files() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: self.url.path(percentEncoded: false))
                .filter { !$0.hasPrefix(".") }.sorted()
        }
    }

    private static let now = Date(timeIntervalSince1970: 1_767_225_600)

    @Test(.enabled(if: geteuid() == 0, "Only the superuser makes files for others."))
    func `what the superuser writes is the server's, whose the folder is`() throws {
        let world = try World()
        func owner(of name: String) throws -> UInt32? {
            let path = world.url.appending(path: name).path(percentEncoded: false)
            return (try FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID] as? NSNumber)?.uint32Value
        }
        for name in [".", "driver.json"] {
            #expect(chown(world.url.appending(path: name).path(percentEncoded: false), 10_001, 10_001) == 0)
        }
        _ = try world.folder.rotate(.driver, at: Self.now)
        _ = try world.folder.retire(world.first.keyID, of: .driver, at: Self.now, isForced: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: world.url.path(percentEncoded: false)) {
            #expect(try owner(of: name) == 10_001, "\(name)")
        }
        #expect(try owner(of: ".retired") == 10_001)
    }

    @Test func `a new key is published at once, signs later, and the old one can go last`() async throws {
        let world = try World()
        let keys = try SigningKeys(folder: world.folder, provider: try ProviderID(checking: "acme"))
        let ring = try world.folder.rotate(.driver, at: Self.now)
        let second = try #require(ring.entries.last).key
        #expect(try world.files() == ["driver.1767225600.json", "driver.json"])
        let mode = try FileManager.default.attributesOfItem(
            atPath: world.url.appending(path: "driver.1767225600.json").path(percentEncoded: false))
        #expect((mode[.posixPermissions] as? NSNumber)?.intValue == 0o600)

        try keys.refresh(at: Self.now)
        func signer(after seconds: Double) async throws -> String? {
            let time = Self.now.addingTimeInterval(seconds)
            let minter = try #require(keys.minter(for: .driver, at: time))
            let minted = try await minter.mint(nil, at: time)
            return try CompactJWS(minted.token.compactSerialization).keyID
        }
        #expect(keys.published(at: Self.now).map(\.id) == [world.first.keyID, second.keyID])
        #expect(try await signer(after: 599) == world.first.keyID)
        #expect(try await signer(after: 600) == second.keyID)
        #expect(keys.published(at: Self.now + 4799).count == 2)
        #expect(keys.published(at: Self.now + 4800).map(\.id) == [second.keyID])

        #expect(throws: TokenServerError.self) {
            try world.folder.retire(world.first.keyID, of: .driver, at: Self.now + 4799, isForced: false)
        }
        _ = try world.folder.retire(world.first.keyID, of: .driver, at: Self.now + 4800, isForced: false)
        #expect(try world.files() == ["driver.json"])
        try keys.refresh()
        #expect(keys.published(at: Self.now).map(\.id) == [second.keyID])
        #expect(try await signer(after: 0) == second.keyID)
    }

    @Test func `a service tells once which keys a folder that changed has`() async throws {
        let (world, log) = (try World(), LeakTests.Log())
        let data = world.url.appending(path: "data")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        let service = try TokenService(
            data: data.path(percentEncoded: false), keys: world.url.path(percentEncoded: false),
            provider: try ProviderID(checking: "acme"), following: try FollowedServers(logger: .silent),
            logger: Logger(label: "test") { _ in LeakTests.Handler(log: log) })
        func told() -> [Substring] {
            log.contents.split(separator: "\n").filter { $0.contains("key folder read again") }
        }
        await service.refresh()
        #expect(told().isEmpty)
        let second = try #require(try world.folder.rotate(.driver, at: Date()).entries.last).key
        for _ in 0..<3 { await service.refresh() }
        #expect(told().count == 1)
        #expect(told().first?.hasPrefix("notice ") == true)
        let keys = "driver \(world.first.keyID) signing, driver \(second.keyID) published"
        #expect(told().first?.contains(keys) == true)
        try service.store.close()
    }

    @Test func `the files' names tell what each key is good for`() throws {
        let world = try World()
        _ = try world.folder.rotate(.driver, at: Self.now)
        try Data("no key".utf8).write(to: world.url.appending(path: "callers.json"))
        func states(after seconds: Double) throws -> [String: KeySchedule.State] {
            try world.folder.states(at: Self.now + seconds)
        }
        let (old, new) = ("driver.json", "driver.1767225600.json")
        #expect(try states(after: 599) == [old: .signing, new: .published])
        #expect(try states(after: 600) == [old: .retiring, new: .signing])
        #expect(try states(after: 4800) == [old: .retired, new: .signing])
        #expect(throws: TokenServerError.self) { try KeyFolder(path: "/nowhere").states(at: Self.now) }
    }

    @Test func `a stolen key can go at once, but never the only one`() throws {
        let world = try World()
        #expect(throws: TokenServerError.self) {
            try world.folder.retire(world.first.keyID, of: .driver, at: Self.now, isForced: true)
        }
        let ring = try world.folder.rotate(.driver, at: Self.now)
        let second = try #require(ring.entries.last).key
        let left = try world.folder.retire(world.first.keyID, of: .driver, at: Self.now, isForced: true)
        #expect(left.signing(at: Self.now)?.key.keyID == second.keyID)
    }

    @Test func `the key after a stolen one takes its place, and those before it stay retired`() throws {
        let world = try World()
        let later = Self.now + 30 * 86400
        let second = try #require(try world.folder.rotate(.driver, at: Self.now).entries.last).key
        let third = try #require(try world.folder.rotate(.driver, at: later).entries.last).key
        let keys = try SigningKeys(folder: world.folder, provider: try ProviderID(checking: "acme"))
        #expect(keys.statuses(at: later).map(\.state) == ["retired", "signing", "published"])

        let left = try world.folder.retire(second.keyID, of: .driver, at: later, isForced: true)
        #expect(left.signing(at: later)?.key.keyID == third.keyID)
        #expect(left.published(at: later).map(\.keyID) == [third.keyID])
        #expect(left.schedule.end(of: 0) == Self.now + 4800)
        try keys.refresh()
        #expect(keys.statuses(at: later).map(\.state) == ["retired", "signing"])
        #expect(keys.published(at: later).map(\.id) == [third.keyID])
        #expect(keys.hasGivenUp(second.keyID))
        #expect(try world.files() == ["driver.1767225600.json", "driver.json"])
    }

    @Test func `a retired key never signs again`() throws {
        let world = try World()
        let second = try #require(try world.folder.rotate(.driver, at: Self.now).entries.last).key
        let later = Self.now + 4800
        let error = #expect(throws: TokenServerError.self) {
            try world.folder.retire(second.keyID, of: .driver, at: later, isForced: true)
        }
        #expect(error?.message.contains("rotate first") == true)
        #expect(try world.files() == ["driver.1767225600.json", "driver.json"])
        let third = try #require(try world.folder.rotate(.driver, at: later).entries.last).key
        let left = try world.folder.retire(second.keyID, of: .driver, at: later, isForced: true)
        #expect(left.signing(at: later)?.key.keyID == third.keyID)
        #expect(left.published(at: later).map(\.keyID) == [third.keyID])
        #expect(try world.files() == ["driver.1767225600.json", "driver.json"])
    }

    @Test func `a retired key that is put back is refused, and a new one takes its place`() throws {
        let world = try World()
        let provider = try ProviderID(checking: "acme")
        let second = try #require(try world.folder.rotate(.driver, at: Self.now).entries.last).key
        _ = try world.folder.retire(world.first.keyID, of: .driver, at: Self.now, isForced: true)
        let keys = try SigningKeys(folder: world.folder, provider: provider)
        // As whoever restores the folder does, or copies a secret to it again.
        try world.first.keyFile.write(to: world.url.appending(path: "driver.json"), options: .atomic)
        for _ in 0..<2 {
            let error = #expect(throws: TokenServerError.self) { try keys.refresh(at: Self.now) }
            #expect(error?.code == .invalidConfiguration)
            let words = "The key file driver.json holds the key \(world.first.keyID), which was retired"
            #expect(error?.message.hasPrefix(words) == true)
            #expect(keys.published(at: Self.now).map(\.id) == [second.keyID])
        }
        #expect(throws: TokenServerError.self) { try SigningKeys(folder: world.folder, provider: provider) }
        #expect(try world.folder.states(at: Self.now) == ["driver.json": .retired])

        let third = try #require(try world.folder.rotate(.driver, at: Self.now).entries.last).key
        #expect(throws: TokenServerError.self) { try keys.refresh(at: Self.now) }
        _ = try world.folder.retire(world.first.keyID, of: .driver, at: Self.now, isForced: true)
        try keys.refresh(at: Self.now)
        #expect(keys.published(at: Self.now).map(\.id) == [third.keyID, second.keyID])
        #expect(try world.files() == ["driver.json"])
    }

    @Test func `a retired key that is put beside others is refused until its file is removed`() throws {
        let world = try World()
        let second = try #require(try world.folder.rotate(.driver, at: Self.now).entries.last).key
        _ = try world.folder.retire(world.first.keyID, of: .driver, at: Self.now, isForced: true)
        let file = world.url.appending(path: "driver.1767225500.json")
        try world.first.keyFile.write(to: file)
        let error = #expect(throws: TokenServerError.self) { try world.folder.read() }
        #expect(error?.message.contains("driver.1767225500.json") == true)
        #expect(try world.folder.states(at: Self.now)["driver.1767225500.json"] == .retired)
        try FileManager.default.removeItem(at: file)
        #expect(try world.folder.read()[.driver]?.entries.map(\.key.keyID) == [second.keyID])
    }

    @Test func `no rotation is to a key that was retired`() throws {
        let world = try World()
        _ = try world.folder.rotate(.driver, at: Self.now)
        _ = try world.folder.retire(world.first.keyID, of: .driver, at: Self.now, isForced: true)
        let error = #expect(throws: TokenServerError.self) {
            try world.folder.rotate(.driver, to: world.first, at: Self.now + 600)
        }
        #expect(error?.message.contains("was retired from the role driver, and never signs again") == true)
        #expect(try world.files() == ["driver.json"])
    }

    @Test func `a key is retired from one role, and one that an earlier version retired from all`() throws {
        let world = try World()
        for name in ["consumer.json", "server.json"] {
            try world.first.keyFile.write(to: world.url.appending(path: name))
        }
        _ = try world.folder.rotate(.driver, at: Self.now)
        _ = try world.folder.retire(world.first.keyID, of: .driver, at: Self.now, isForced: true)
        #expect(try world.folder.read()[.consumer]?.entries.map(\.key.keyID) == [world.first.keyID])
        #expect(try world.folder.retired.ids == [world.first.keyID])
        _ = try world.folder.rotate(.consumer, at: Self.now)
        _ = try world.folder.retire(world.first.keyID, of: .consumer, at: Self.now, isForced: true)
        #expect(try world.folder.retired.contains(world.first.keyID, of: .driver))
        #expect(try world.folder.retired.contains(world.first.keyID, of: .consumer))
        #expect(try !world.folder.retired.contains(world.first.keyID, of: .server))
        #expect(throws: Never.self) { try world.folder.read() }

        try Data("another\n\(world.first.keyID)".utf8).write(to: world.url.appending(path: ".retired"))
        #expect(try world.folder.retired.ids == ["another", world.first.keyID])
        let error = #expect(throws: TokenServerError.self) { try world.folder.read() }
        #expect(error?.message.contains("server.json") == true)
    }

    @Test(arguments: ["a folder", "a link to nothing", "not text"])
    func `no key is read and none changed while the list of the retired ones cannot be read`(_ kind: String) throws {
        let world = try World()
        let second = try #require(try world.folder.rotate(.driver, at: Self.now).entries.last).key
        let keys = try SigningKeys(folder: world.folder, provider: try ProviderID(checking: "acme"))
        let list = world.url.appending(path: ".retired")
        switch kind {
        case "a folder": try FileManager.default.createDirectory(at: list, withIntermediateDirectories: false)
        case "a link to nothing":
            try FileManager.default.createSymbolicLink(
                atPath: list.path(percentEncoded: false), withDestinationPath: "nothing")
        default: try Data([0xFF]).write(to: list)
        }
        let attempts: [() throws -> Void] = [
            { _ = try world.folder.read() }, { _ = try world.folder.readToChange() },
            { _ = try world.folder.states(at: Self.now) }, { _ = try world.folder.rotate(.driver, at: Self.now + 600) },
            { _ = try world.folder.retire(world.first.keyID, of: .driver, at: Self.now, isForced: true) },
        ]
        let before = try FileManager.default.attributesOfItem(atPath: list.path(percentEncoded: false))
        for attempt in attempts {
            let error = #expect(throws: TokenServerError.self) { try attempt() }
            #expect(error?.code == .invalidConfiguration)
            let words = "/.retired, the list of the keys that were retired, cannot be read"
            #expect(error?.message.contains(words) == true)
        }
        let after = try FileManager.default.attributesOfItem(atPath: list.path(percentEncoded: false))
        #expect(after[.type] as? FileAttributeType == before[.type] as? FileAttributeType)
        #expect(try world.files() == ["driver.1767225600.json", "driver.json"])

        // A running server goes on with the keys that it has.
        try world.first.keyFile.write(to: world.url.appending(path: "driver.7.json"))
        #expect(throws: TokenServerError.self) { try keys.refresh(at: Self.now) }
        #expect(keys.published(at: Self.now).map(\.id) == [world.first.keyID, second.keyID])
    }

    @Test(arguments: [0.0, 600, 4799])
    func `the key before the newest goes on while tokens of it may be alive`(seconds: Double) throws {
        let world = try World()
        let second = try #require(try world.folder.rotate(.driver, at: Self.now).entries.last).key
        let time = Self.now + seconds
        let left = try world.folder.retire(second.keyID, of: .driver, at: time, isForced: true)
        #expect(left.signing(at: time)?.key.keyID == world.first.keyID)
        #expect(try world.files() == ["driver.json"])
    }

    @Test func `a second rotation waits for the first`() throws {
        let world = try World()
        _ = try world.folder.rotate(.driver, at: Self.now)
        #expect(throws: TokenServerError.self) { try world.folder.rotate(.driver, at: Self.now + 599) }
        #expect(try world.folder.rotate(.driver, at: Self.now + 600).entries.count == 3)
    }

    @Test func `keys that are retired at once are all remembered`() async throws {
        let world = try World()
        let roles = Role.known.prefix(6)
        for role in roles {
            try world.copy("\(role)-1").keyFile.write(to: world.url.appending(path: "\(role).json"))
            try world.copy("\(role)-2").keyFile.write(to: world.url.appending(path: "\(role).7.json"))
        }
        try await withThrowingDiscardingTaskGroup { group in
            for role in roles {
                group.addTask {
                    _ = try world.folder.retire("\(role)-1", of: role, at: Self.now, isForced: true)
                }
            }
        }
        #expect(try world.folder.retired.ids == Set(roles.map { "\($0)-1" }))
        #expect(try world.files() == roles.map { "\($0).json" }.sorted())
        let left = try world.folder.read().mapValues { $0.entries.map(\.key.keyID) }
        #expect(left == Dictionary(uniqueKeysWithValues: roles.map { ($0, ["\($0)-2"]) }))
    }

    @Test func `of rotations of one role at once, one takes place and the others are refused`() async throws {
        let world = try World()
        let keys = try (0..<8).map { try world.copy("k\($0)") }
        let taken = try await withThrowingTaskGroup(of: String?.self) { group in
            for key in keys {
                group.addTask {
                    do throws(TokenServerError) {
                        return try world.folder.rotate(.driver, to: key, at: Self.now).entries.last?.key.keyID
                    } catch {
                        #expect(error.message.contains("does not sign yet"))
                        return nil
                    }
                }
            }
            var taken: [String] = []
            for try await keyID in group { taken += keyID.map { [$0] } ?? [] }
            return taken
        }
        #expect(taken.count == 1)
        #expect(try world.folder.read()[.driver]?.entries.map(\.key.keyID) == [world.first.keyID] + taken)
        let names = try FileManager.default.contentsOfDirectory(atPath: world.url.path(percentEncoded: false))
        #expect(names.sorted() == ["driver.1767225600.json", "driver.json"])
    }

    @Test(arguments: 0..<3)
    func `a change that was made is told, also where the folder cannot be read again`(index: Int) throws {
        let world = try World()
        let path = world.url.path(percentEncoded: false)
        /// The folder, each of whose files can be read but once.
        func folder() -> KeyFolder {
            let seen = Locked<Set<URL>>([])
            return KeyFolder(path: path) { file in
                guard seen.withLock({ $0.insert(file).inserted }) else { throw CocoaError(.fileReadNoPermission) }
                return try Data(contentsOf: file)
            }
        }
        func told(_ ring: KeyRing?, at time: Date) -> [String] {
            (ring?.entries.map(\.file) ?? []) + (ring?.statuses(of: .driver, at: time).map { "\($0)" } ?? [])
        }
        let later = Self.now + 700
        for (id, time) in [("k1", Self.now), ("k2", later)] {
            let rotated = try folder().rotate(.driver, to: try world.copy(id), at: time + 0.5)
            #expect(rotated.entries.last?.key.keyID == id)
            #expect(told(rotated, at: time) == told(try world.folder.read()[.driver], at: time))
        }
        let id = [world.first.keyID, "k1", "k2"][index]
        let left = try folder().retire(id, of: .driver, at: later, isForced: true)
        #expect(left.entries.map(\.key.keyID) == [world.first.keyID, "k1", "k2"].filter { $0 != id })
        #expect(told(left, at: later) == told(try world.folder.read()[.driver], at: later))
    }

    @Test(
        arguments: [
            (EPERM, nil), (ENOSYS, nil), (EROFS, "can only be read"), (ENOSPC, "No space left on device"),
        ] as [(CInt, String?)])
    func `where no file can have two names a key is added all the same, and else the reason is told`(
        problem: CInt, reason: String?
    ) throws {
        let world = try World()
        let folder = KeyFolder(
            path: world.url.path(percentEncoded: false), reading: { file in try Data(contentsOf: file) },
            naming: { _, _ in
                errno = problem
                return -1
            })
        let key = try world.copy("k1")
        guard let reason else {
            #expect(try folder.rotate(.driver, to: key, at: Self.now).entries.last?.key.keyID == "k1")
            #expect(try world.folder.read()[.driver]?.entries.last?.key.keyID == "k1")
            return
        }
        let error = #expect(throws: TokenServerError.self) { try folder.rotate(.driver, to: key, at: Self.now) }
        #expect(error?.message.contains(reason) == true)
        #expect(try world.files() == ["driver.json"])
    }

    @Test func `a file that takes a new key's name meanwhile is left alone, also where no file can have two names`()
        throws
    {
        let world = try World()
        let folder = KeyFolder(
            path: world.url.path(percentEncoded: false), reading: { file in try Data(contentsOf: file) },
            naming: { name, _ in
                _ = FileManager.default.createFile(atPath: name, contents: Data("taken".utf8))
                errno = EPERM
                return -1
            })
        #expect(throws: TokenServerError.self) {
            try folder.rotate(.driver, to: try world.copy("k1"), at: Self.now)
        }
        let file = world.url.appending(path: "driver.1767225600.json")
        #expect(try Data(contentsOf: file) == Data("taken".utf8))
    }

    @Test func `what a rotation left that was killed is in no later one's way`() throws {
        let world = try World()
        try Data("{".utf8).write(to: world.url.appending(path: ".driver.1767225600.json.new"))
        _ = try world.folder.rotate(.driver, to: try world.copy("k1"), at: Self.now)
        #expect(try world.folder.read()[.driver]?.entries.last?.key.keyID == "k1")
    }

    @Test func `the first key of a folder signs at once, whatever time its file names`() {
        let schedule = KeySchedule(published: [Self.now, Self.now + 60])
        #expect(schedule.signing(at: Self.now) == 0)
        #expect(schedule.signing(at: Self.now + 659) == 0 && schedule.signing(at: Self.now + 660) == 1)
    }

    @Test func `a folder is read whole where a key is retired meanwhile, and not where a link leads nowhere`() throws {
        let world = try World()
        let path = world.url.path(percentEncoded: false)
        let second = try #require(try world.folder.rotate(.driver, at: Self.now).entries.last).key
        let isRetired = Locked(false)
        let folder = KeyFolder(path: path) { file in
            let contents = try Data(contentsOf: file)
            let isFirst = isRetired.withLock { isRetired in
                defer { isRetired = true }
                return !isRetired
            }
            if isFirst { _ = try world.folder.retire(world.first.keyID, of: .driver, at: Self.now, isForced: true) }
            return contents
        }
        #expect(try folder.read()[.driver]?.entries.map(\.key.keyID) == [second.keyID])

        try FileManager.default.createSymbolicLink(atPath: "\(path)/driver.9.json", withDestinationPath: "nothing")
        let error = #expect(throws: TokenServerError.self) { try folder.read() }
        #expect(error?.message.contains("driver.9.json cannot be read") == true)
    }

    @Test func `a pipe in the place of a key file is told as what it is`() throws {
        let world = try World()
        #expect(mkfifo(world.url.appending(path: "server.json").path(percentEncoded: false), 0o600) == 0)
        let error = #expect(throws: TokenServerError.self) { try world.folder.read() }
        #expect(
            error?.message == "The key file server.json cannot be read: it is no regular file; put the key file itself "
                + "there.")
    }

    @Test func `a key that was made elsewhere takes its turn, if it is of the same account and new`() throws {
        let world = try World()
        let other = try ServiceAccountKey(generatingFor: "other@acme", projectID: "acme")
        for key in [other, world.first] {
            #expect(throws: TokenServerError.self) { try world.folder.rotate(.driver, to: key, at: Self.now) }
        }
        #expect(try world.files() == ["driver.json"])
        let second = try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme")
        let ring = try world.folder.rotate(.driver, to: second, at: Self.now)
        #expect(ring.entries.map(\.key.keyID) == [world.first.keyID, second.keyID])
        #expect(ring.signing(at: Self.now + 599)?.key.keyID == world.first.keyID)
        #expect(ring.signing(at: Self.now + 600)?.key.keyID == second.keyID)
        try other.keyFile.write(to: world.url.appending(path: "driver.9.json"))
        let error = #expect(throws: TokenServerError.self) { try world.folder.read() }
        #expect(error?.message.contains("belong to different accounts") == true)
    }

    @Test func `keys in force stay when the folder cannot be read`() throws {
        let world = try World()
        let keys = try SigningKeys(folder: world.folder, provider: try ProviderID(checking: "acme"))
        try Data("{".utf8).write(to: world.url.appending(path: "driver.1767225600.json"))
        #expect(throws: TokenServerError.self) { try keys.refresh() }
        #expect(keys.published(at: Self.now).map(\.id) == [world.first.keyID])
    }

    @Test func `a folder of links is read again when what they lead to is exchanged`() throws {
        // As Kubernetes mounts secrets: each name leads through ..data, which alone is exchanged.
        let url = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: url) }
        func link(_ name: String, to target: String) throws {
            let path = url.appending(path: name).path(percentEncoded: false)
            try? FileManager.default.removeItem(atPath: path)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        }
        func mount(_ key: ServiceAccountKey, as name: String) throws {
            let version = url.appending(path: name)
            try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
            try key.keyFile.write(to: version.appending(path: "driver.json"))
            try link("..data", to: name)
        }
        let (first, second) = (
            try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme"),
            try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme")
        )
        try mount(first, as: "..1")
        try link("driver.json", to: "..data/driver.json")
        let keys = try SigningKeys(
            folder: KeyFolder(path: url.path(percentEncoded: false)), provider: try ProviderID(checking: "acme"))
        #expect(keys.published(at: Self.now).map(\.id) == [first.keyID])
        try mount(second, as: "..2")
        try keys.refresh(at: Self.now)
        #expect(keys.published(at: Self.now).map(\.id) == [second.keyID, first.keyID])
        let third = try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme")
        try mount(third, as: "..3")
        try keys.refresh()
        #expect([first, second, third].map { keys.hasGivenUp($0.keyID) } == [true, true, false])
    }

    @Test func `what changes while the folder is first read is read again`() throws {
        let world = try World()
        defer { withExtendedLifetime(world) {} }
        let second = try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme")
        let file = world.url.appending(path: "driver.json")
        let keys = try SigningKeys(
            folder: world.folder, provider: try ProviderID(checking: "acme"),
            reading: { (folder) throws(TokenServerError) in
                let rings = try folder.read()
                try? second.keyFile.write(to: file, options: .atomic)
                return rings
            })
        #expect(keys.published(at: Self.now).map(\.id) == [world.first.keyID])
        try keys.refresh(at: Self.now)
        #expect(keys.published(at: Self.now).map(\.id) == [second.keyID, world.first.keyID])
    }

    @Test func `a key in whose place another is put stays published for an hour and the clocks, and signs no more`()
        throws
    {
        let world = try World()
        let keys = try SigningKeys(folder: world.folder, provider: try ProviderID(checking: "acme"))
        func put(_ key: ServiceAccountKey, at seconds: Double) throws {
            try key.keyFile.write(to: world.url.appending(path: "driver.json"), options: .atomic)
            try keys.refresh(at: Self.now + seconds)
        }
        func published(_ seconds: Double) -> [String] { keys.published(at: Self.now + seconds).map(\.id) }
        let (first, second) = (world.first, try ServiceAccountKey(generatingFor: "driver@acme", projectID: "acme"))

        try put(second, at: 0)
        #expect(keys.signer(for: .driver, at: Self.now)?.account == "driver@acme")
        #expect(published(4199) == [second.keyID, first.keyID])
        #expect(published(4200) == [second.keyID])
        // What is read again meanwhile changes nothing of it.
        let server = world.url.appending(path: "server.json")
        try world.copy("server").keyFile.write(to: server)
        try keys.refresh(at: Self.now + 50)
        #expect(published(4199).contains(first.keyID))
        try FileManager.default.removeItem(at: server)
        try keys.refresh(at: Self.now + 60)
        let account = try #require(keys.published(at: Self.now).last?.account)
        #expect(account.email == "driver@acme" && account.role == .driver)

        // Back in its place it is no former one, and the other is.
        try put(first, at: 100)
        #expect(published(4299) == [first.keyID, second.keyID])
        #expect(published(4300) == [first.keyID])
    }

    @Test(arguments: [(600.0, false), (601, true), (10_800, true)])
    func `a new key of a time that is over leaves the one before it published until its tokens have ended`(
        late: Double, isCutShort: Bool
    ) throws {
        let world = try World()
        let keys = try SigningKeys(folder: world.folder, provider: try ProviderID(checking: "acme"))
        let now = Self.now + late
        // By a clock that is behind.
        let second = try #require(try world.folder.rotate(.driver, at: Self.now).entries.last).key
        #expect(try keys.change(at: now)?.cutShort == (isCutShort ? [world.first.keyID] : []))
        func published(_ seconds: Double) -> Set<String> { Set(keys.published(at: now + seconds).map(\.id)) }
        #expect(published(4199) == [world.first.keyID, second.keyID])
        #expect(published(4200) == [second.keyID])
        #expect(keys.statuses(at: now).last?.state == "signing")
        // What is read again meanwhile changes nothing of it.
        try world.copy("server").keyFile.write(to: world.url.appending(path: "server.json"))
        #expect(try keys.change(at: now + 60)?.cutShort == [])
        #expect(published(4199).contains(world.first.keyID))
    }

    @Test func `a key that is cut short is published no more once it is retired or its file removed`() throws {
        for isRetired in [true, false] {
            let world = try World()
            let keys = try SigningKeys(folder: world.folder, provider: try ProviderID(checking: "acme"))
            let now = Self.now + 10_800
            let second = try #require(
                try world.folder.rotate(.driver, to: try world.copy("second"), at: Self.now).entries.last
            ).key
            try keys.refresh(at: now)
            #expect(keys.published(at: now).count == 2)
            if isRetired {
                _ = try world.folder.retire(world.first.keyID, of: .driver, at: now, isForced: false)
            } else {
                try FileManager.default.removeItem(at: world.url.appending(path: "driver.json"))
            }
            try keys.refresh(at: now)
            #expect(keys.published(at: now).map(\.id) == [second.keyID])
        }
    }

    @Test func `a key that is removed on purpose is published no more, whatever takes its file's name`() throws {
        let world = try World()
        _ = try world.folder.rotate(.driver, at: Self.now)
        let keys = try SigningKeys(folder: world.folder, provider: try ProviderID(checking: "acme"))
        let left = try world.folder.retire(world.first.keyID, of: .driver, at: Self.now, isForced: true)
        try keys.refresh(at: Self.now)
        #expect(keys.published(at: Self.now).map(\.id) == left.entries.map(\.key.keyID))
    }

    @Test func `a stolen key is published no more, also where its server sees the next one in its place only`() throws {
        let world = try World()
        let keys = try SigningKeys(folder: world.folder, provider: try ProviderID(checking: "acme"))
        let next = try #require(try world.folder.rotate(.driver, at: Self.now).entries.last).key
        _ = try world.folder.retire(world.first.keyID, of: .driver, at: Self.now, isForced: true)
        try keys.refresh(at: Self.now)
        #expect(keys.published(at: Self.now).map(\.id) == [next.keyID])
    }

    @Test(
        arguments: [
            ("driver.json", "driver"), ("driver.1767225600.json", "driver"),
            ("delivery_server.7.json", "delivery_server"),
            ("driver.x.json", nil), ("pilot.json", nil), ("pilot.7.json", nil), ("driver.1.2.json", nil),
            ("driver.0.json", nil), ("driver.-7.json", nil), ("driver.7.json.bak", nil), ("driver.7.pem", nil),
            (".driver.7.json.new", nil),
        ] as [(String, String?)])
    func `a key file's name tells its role`(name: String, role: String?) {
        #expect(KeyFolder.role(ofFile: name)?.rawValue == role)
    }
}
