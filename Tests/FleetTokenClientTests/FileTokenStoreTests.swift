// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@Suite final class FileTokenStoreTests {
    private let parent: URL
    private let folder: URL

    init() throws {
        self.parent = FileManager.default.temporaryDirectory.appendingPathComponent("fleetpass-\(UUID().uuidString)")
        self.folder = self.parent.appendingPathComponent("tokens")
    }

    deinit {
        try? FileManager.default.removeItem(at: self.parent)
    }

    private func subject(_ id: String) throws -> TokenSubject { .driver(try VehicleID(checking: id)) }

    private func stored(_ subject: TokenSubject, serial: Int = 0) -> StoredToken {
        StoredToken(
            token: TestTokens.token(for: subject, serial: serial), life: .seconds(3300),
            savedAt: Date(timeIntervalSince1970: 1_767_225_900), sinceBoot: .seconds(1000))
    }

    @Test func `the text that a token is filed under never changes`() throws {
        let van = try DeliveryVehicleID(checking: "van-1")
        let subjects: [TokenSubject] = [
            try self.subject("veh-3"), .consumer(try TripID(checking: "trip-7")), .deliveryDriver(van),
            .deliveryDriver(van, task: try TaskID(checking: "t-7")),
            .deliveryConsumer(try TrackingID(checking: "shp 881")), .fleetReader,
        ]
        #expect(
            subjects.map(\.storeKey) == [
                "driver/veh-3", "consumer/trip-7", "delivery_driver/van-1", "delivery_driver/van-1?task=t-7",
                "delivery_consumer/shp 881", "fleet_reader",
            ])
    }

    private func mode(of url: URL) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        return try #require(attributes[.posixPermissions] as? NSNumber).intValue
    }

    private var files: [URL] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: self.folder.path).map {
                self.folder.appendingPathComponent($0)
            }
        }
    }

    @Test func `what is saved is loaded, replaced and removed, each subject by itself`() throws {
        let store = FileTokenStore(folder: self.folder)
        let task = try TaskID(checking: "t")
        let vehicle = try DeliveryVehicleID(checking: "veh-1")
        let subjects: [TokenSubject] = [
            try self.subject("veh-1"), try self.subject("VEH-1"), .consumer(try TripID(checking: "veh-1")),
            .deliveryDriver(vehicle), .deliveryDriver(vehicle, task: task), .fleetReader,
        ]
        for subject in subjects { #expect(try store.load(subject) == nil) }
        for subject in subjects { try store.save(self.stored(subject), for: subject) }
        for subject in subjects { #expect(try store.load(subject) == self.stored(subject)) }
        try store.save(self.stored(subjects[0], serial: 1), for: subjects[0])
        #expect(try store.load(subjects[0]) == self.stored(subjects[0], serial: 1))
        #expect(try self.files.count == subjects.count)
        try store.remove(subjects[0])
        try store.remove(subjects[0])
        #expect(try store.load(subjects[0]) == nil)
        #expect(try store.load(subjects[1]) == self.stored(subjects[1]))
        try store.removeAll()
        #expect(try self.files.isEmpty)
    }

    @Test func `only the owner may read, and names tell nothing`() throws {
        let subject = try self.subject("veh-1")
        try FileTokenStore(folder: self.folder).save(self.stored(subject), for: subject)
        #expect(try self.mode(of: self.folder) == 0o700)
        let files = try self.files
        #expect(files.count == 1)
        for file in files {
            #expect(try self.mode(of: file) == 0o600)
            #expect(!file.lastPathComponent.contains("veh"))
        }
    }

    @Test func `a folder that is open to others is refused`() throws {
        let subject = try self.subject("veh-1")
        let store = FileTokenStore(folder: self.folder)
        try store.save(self.stored(subject), for: subject)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: self.folder.path)
        let loading = #expect(throws: TokenClientError.self) { try store.load(subject) }
        let saving = #expect(throws: TokenClientError.self) { try store.save(self.stored(subject), for: subject) }
        #expect(loading?.code == .storeFailed && saving?.code == .storeFailed)
        #expect(loading?.message.contains("755") == true)
    }

    @Test(arguments: [0o710, 0o701, 0o740, 0o704, 0o720, 0o702])
    func `a folder in which anybody else may do anything is refused`(mode: Int) throws {
        let subject = try self.subject("veh-1")
        let store = FileTokenStore(folder: self.folder)
        try store.save(self.stored(subject), for: subject)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: self.folder.path)
        #expect(throws: TokenClientError.self) { try store.load(subject) }
        #expect(throws: TokenClientError.self) { try store.save(self.stored(subject), for: subject) }
    }

    @Test func `a save that cannot take the file's place leaves nothing behind`() throws {
        let subject = try self.subject("veh-1")
        let store = FileTokenStore(folder: self.folder)
        try store.save(self.stored(subject), for: subject)
        let file = try #require(try self.files.first)
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        let error = #expect(throws: TokenClientError.self) { try store.save(self.stored(subject), for: subject) }
        #expect(error?.code == .storeFailed)
        #expect(try self.files.map(\.lastPathComponent) == [file.lastPathComponent])
    }

    @Test func `a damaged file is an error, and the next save mends it`() throws {
        let subject = try self.subject("veh-1")
        let store = FileTokenStore(folder: self.folder)
        try store.save(self.stored(subject), for: subject)
        for file in try self.files { try Data("torn".utf8).write(to: file) }
        let error = #expect(throws: TokenClientError.self) { try store.load(subject) }
        #expect(error?.code == .storeFailed)
        try store.save(self.stored(subject), for: subject)
        #expect(try store.load(subject) == self.stored(subject))
    }

    @Test func `a link in place of a file is not followed`() throws {
        let subject = try self.subject("veh-1")
        let store = FileTokenStore(folder: self.folder)
        try store.save(self.stored(subject), for: subject)
        let file = try #require(try self.files.first)
        let other = self.parent.appendingPathComponent("other")
        try FileManager.default.moveItem(at: file, to: other)
        try FileManager.default.createSymbolicLink(at: file, withDestinationURL: other)
        #expect(throws: TokenClientError.self) { try store.load(subject) }
    }

    @Test func `the tokens saved longest ago go first`() throws {
        let store = FileTokenStore(folder: self.folder, capacity: 3)
        for number in 0..<6 {
            let subject = try self.subject("veh-\(number)")
            try store.save(self.stored(subject), for: subject)
            for file in try self.files {
                let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
                let date = try #require(attributes[.modificationDate] as? Date)
                try FileManager.default.setAttributes(
                    [.modificationDate: date.addingTimeInterval(-100)], ofItemAtPath: file.path)
            }
        }
        #expect(try self.files.count == 3)
        #expect(try store.load(self.subject("veh-2")) == nil)
        for number in 3..<6 { #expect(try store.load(self.subject("veh-\(number)")) != nil) }
    }

    @Test func `a half-written file goes before any token, but not while it may still be written`() throws {
        let store = FileTokenStore(folder: self.folder, capacity: 3)
        let old = try self.subject("veh-0")
        try store.save(self.stored(old), for: old)
        let token = try #require(try self.files.first)
        let leftover = token.appendingPathExtension("ended")
        let fresh = token.appendingPathExtension("writing")
        for file in [leftover, fresh] { try Data("half".utf8).write(to: file) }
        for (file, age) in [(token, 500.0), (leftover, 100)] {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: file.path)
        }
        let new = try self.subject("veh-1")
        try store.save(self.stored(new), for: new)
        #expect(!FileManager.default.fileExists(atPath: leftover.path))
        #expect(FileManager.default.fileExists(atPath: fresh.path))
        #expect(try store.load(old) != nil)
        #expect(try store.load(new) != nil)
        try store.removeAll()
        #expect(try self.files.isEmpty)
    }

    @Test func `a file that is being written does not go before older tokens`() throws {
        let store = FileTokenStore(folder: self.folder, capacity: 2)
        let old = try self.subject("veh-0")
        try store.save(self.stored(old), for: old)
        let token = try #require(try self.files.first)
        let fresh = token.appendingPathExtension("writing")
        try Data("half".utf8).write(to: fresh)
        for (file, age) in [(token, 500.0), (fresh, 30)] {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: file.path)
        }
        let new = try self.subject("veh-1")
        try store.save(self.stored(new), for: new)
        #expect(FileManager.default.fileExists(atPath: fresh.path))
        #expect(try store.load(old) == nil && store.load(new) != nil)
    }

    @Test func `a folder that cannot be made is an error`() throws {
        try FileManager.default.createDirectory(at: self.parent, withIntermediateDirectories: true)
        try Data().write(to: self.folder)
        let subject = try self.subject("veh-1")
        #expect(throws: TokenClientError.self) {
            try FileTokenStore(folder: self.folder).save(self.stored(subject), for: subject)
        }
    }
}
