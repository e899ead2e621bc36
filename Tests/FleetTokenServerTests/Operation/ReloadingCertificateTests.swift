// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetTokens
import Foundation
import Logging
import SwiftASN1
import Testing
import X509

@testable import FleetOperation

@Suite struct ReloadingCertificateTests {
    private static let day: TimeInterval = 86_400
    private static let start = Date(timeIntervalSince1970: 1_767_225_600)

    /// A pair of files, and a clock.
    private final class World {
        private let folder = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        private let time = Locked(ReloadingCertificateTests.start)
        private let log = LeakTests.Log()

        /// What was told so far at a level.
        func told(_ level: Logger.Level) -> [Substring] {
            self.log.contents.split(separator: "\n").filter { $0.hasPrefix("\(level) ") }
        }

        init() throws {
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        func set(_ now: Date) { self.time.withLock { $0 = now } }

        /// Puts another pair in place.
        func write(from start: Date, to end: Date) throws {
            let key = P256.Signing.PrivateKey()
            let name = try DistinguishedName { CommonName("server") }
            let certificate = try Certificate(
                version: .v3, serialNumber: .init(), publicKey: .init(key.publicKey), notValidBefore: start,
                notValidAfter: end, issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
                extensions: .init(), issuerPrivateKey: .init(key))
            let files = [
                ("server.pem", try certificate.serializeAsPEM().pemString), ("server-key.pem", key.pemRepresentation),
            ]
            for (name, text) in files {
                try Data(text.utf8).write(to: self.folder.appending(path: name), options: .atomic)
            }
        }

        func certificate() throws -> ReloadingCertificate {
            func path(_ name: String) -> String { self.folder.appending(path: name).path(percentEncoded: false) }
            return try ReloadingCertificate(
                ListenerTLS(certificate: path("server.pem"), key: path("server-key.pem")),
                now: { [time] in time.withLock { $0 } },
                logger: Logger(label: "test") { [log] _ in LeakTests.Handler(log: log) })
        }
    }

    @Test func `a renewal with a certificate that has ended is warned of once`() throws {
        let (world, day) = (try World(), Self.day)
        try world.write(from: Self.start - 60 * day, to: Self.start + 30 * day)
        let certificate = try world.certificate()
        try certificate.refresh()
        #expect(world.told(.warning).isEmpty)
        try world.write(from: Self.start - 90 * day, to: Self.start - 3600)
        for _ in 0..<3 { try certificate.refresh() }
        #expect(world.told(.notice).count == 1)
        #expect(world.told(.warning).count == 1)
        #expect(world.told(.warning).first?.contains("has ended") == true)
        let end = Int(Self.start.timeIntervalSince1970) - 3600
        #expect(certificate.metrics.contains("\nfleetpass_certificate_expiry_timestamp_seconds \(end)\n"))
        // Another such is news.
        try world.write(from: Self.start - 90 * day, to: Self.start - 60)
        for _ in 0..<3 { try certificate.refresh() }
        #expect(world.told(.warning).count == 2)
        try world.write(from: Self.start - day, to: Self.start + 89 * day)
        try certificate.refresh()
        #expect(world.told(.warning).count == 2)
    }

    @Test(arguments: [
        (1.0, 90.0, "is not valid before 2026-01-02T00:00:00Z"), (-90, -1, "has ended"), (-88, 2, "ends soon"),
    ])
    func `a certificate that is not valid at the start, or not for long, is warned of and used`(
        from: Double, to: Double, words: String
    ) throws {
        let world = try World()
        try world.write(from: Self.start + from * Self.day, to: Self.start + to * Self.day)
        let certificate = try world.certificate()
        #expect(world.told(.warning).count == 1)
        #expect(world.told(.warning).first?.contains(words) == true)
        try certificate.refresh()
        #expect(world.told(.warning).count == 1)
    }

    @Test func `a certificate that nobody renews is warned of before it ends, and when it has`() throws {
        let world = try World()
        let end = Self.start + 90 * Self.day
        try world.write(from: Self.start, to: end)
        let certificate = try world.certificate()
        for (left, count) in [(4 * Self.day, 0), (2 * Self.day, 1), (Self.day, 1), (-60, 2), (-3600, 2)] {
            world.set(end - left)
            try certificate.refresh()
            #expect(world.told(.warning).count == count)
        }
    }
}
