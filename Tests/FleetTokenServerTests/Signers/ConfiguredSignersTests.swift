// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTestSupport
import FleetTokens
import Foundation
import GoogleCredentials
import Testing

@testable import FleetTokenServer

@Suite final class ConfiguredSignersTests {
    private let iam = StandInIAM()
    /// For key files, which nobody else may read; it is gone after the test.
    private let folder = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(
            at: self.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(at: self.folder) }

    private func keyFile(of key: ServiceAccountKey) throws -> String {
        let file = self.folder.appending(path: "\(UUID().uuidString).json")
        try key.keyFile.write(to: file)
        return file.path(percentEncoded: false)
    }

    private func vehicle(_ id: String) throws -> AuthorizationClaims {
        try TokenType.driver(VehicleID(checking: id)).claims
    }

    @Test func `ten thousand callers of a token for everything cost one signing call`() async throws {
        let signers = try ConfiguredSigners(
            [SignerSettings(role: .deliveryFleetReader)], keys: nil, google: self.iam.signers())
        let claims = try TokenType.deliveryFleetReader.claims
        let tokens = try await withThrowingTaskGroup(of: FleetToken?.self) { group in
            for _ in 0..<10_000 {
                group.addTask { try await signers.mint(claims, as: .deliveryFleetReader)?.token }
            }
            return try await group.reduce(into: Set<FleetToken?>()) { $0.insert($1) }
        }
        #expect(tokens.count == 1)
        #expect(self.iam.signatures == 1)
        let counts = try #require(signers.sharedTokens[.deliveryFleetReader])
        #expect((counts.fetches, counts.hits + counts.misses) == (1, 10_000))
        let other = try await signers.mint(claims, as: .deliveryFleetReader, isShared: false)
        #expect(other != nil)
        #expect(self.iam.signatures == 2, "who must not share gets a signature of its own")
    }

    @Test func `the process's own account and one to impersonate sign, and a role without a signer gives nothing`()
        async throws
    {
        let settings = [
            SignerSettings(role: .driver), SignerSettings(role: .consumer, account: .email(StandInIAM.account)),
        ]
        let signers = try ConfiguredSigners(settings, keys: nil, google: self.iam.signers())
        for role in [Role.driver, .consumer] {
            let minted = try #require(try await signers.mint(self.vehicle("veh-1"), as: role))
            #expect(minted.claims.issuer == StandInIAM.account)
        }
        #expect(try await signers.mint(self.vehicle("veh-1"), as: .server) == nil)
        #expect(signers.publishedKeys(at: .now).isEmpty, "nothing is published that is not here")
    }

    @Test func `a way that is tried by itself fails although the next would sign`() async throws {
        let file = try self.keyFile(of: StandInIAM.key.get())
        let settings = SignerSettings(
            role: .driver, account: .email(StandInIAM.account), ways: [.iam(.signJwt), .key], keyFile: file)
        let signers = try ConfiguredSigners([settings], keys: nil, google: self.iam.signers())
        let claims = try self.vehicle("veh-1")
        for way in settings.ways {
            #expect(try await signers.mint(claims, as: .driver, by: way)?.claims.issuer == StandInIAM.account)
        }
        #expect(try await signers.mint(claims, as: .driver, by: .iam(.signBlob)) == nil)
        self.iam.answer(403)
        await #expect(throws: (any Error).self) { try await signers.mint(claims, as: .driver, by: .iam(.signJwt)) }
        #expect(try await signers.mint(claims, as: .driver, by: .key) != nil)
        #expect(try await signers.mint(claims, as: .driver) != nil)
    }

    @Test func `the key of the credentials is published, once it signs`() async throws {
        let key = try StandInIAM.key.get()
        let context = CredentialContext(variables: [:], transport: self.iam)
        let google = GoogleSigners(ApplicationDefaultCredentials(context: context, explicit: .json(Array(key.keyFile))))
        let signers = try ConfiguredSigners([SignerSettings(role: .driver)], keys: nil, google: google)
        #expect(signers.publishedKeys(at: .now).isEmpty)
        let minted = try await signers.mint(self.vehicle("veh-1"), as: .driver)
        #expect(minted?.keyID == key.keyID)
        #expect(signers.publishedKeys(at: .now).map(\.id) == [key.keyID])
        let other = SignerSettings(role: .driver, account: .email(StandInIAM.account))
        #expect(try ConfiguredSigners([other], keys: nil, google: google).publishedKeys(at: .now).isEmpty)
    }

    @Test func `a key of the same account signs while IAM is down, and the metrics tell`() async throws {
        let file = try self.keyFile(of: StandInIAM.key.get())
        let signers = try ConfiguredSigners(
            [
                SignerSettings(
                    role: .driver, account: .email(StandInIAM.account), ways: [.iam(.signJwt), .key], keyFile: file)
            ], keys: nil, google: self.iam.signers(), clock: ManualClock())
        let metrics = TokenServerMetrics()
        signers.report(to: metrics)
        _ = try await signers.mint(self.vehicle("veh-1"), as: .driver)
        self.iam.answer(503)
        for _ in 0..<5 { #expect(try await signers.mint(self.vehicle("veh-1"), as: .driver) != nil) }
        let lines = metrics.text.split(separator: "\n")
        for line in [
            #"fleetpass_signer_calls_total{role="driver",way="sign_jwt",outcome="signed"} 1"#,
            #"fleetpass_signer_calls_total{role="driver",way="sign_jwt",outcome="failed"} 3"#,
            #"fleetpass_signer_calls_total{role="driver",way="key",outcome="signed"} 5"#,
            #"fleetpass_signer_passed_over{role="driver",way="sign_jwt"} 1"#,
            #"fleetpass_signer_passed_over{role="driver",way="key"} 0"#,
            #"fleetpass_signing_budget_calls_per_minute 60000"#, #"fleetpass_signing_budget_remaining 59996"#,
            #"fleetpass_access_token_fetches_total{outcome="fetched"} 1"#,
            #"fleetpass_access_token_uses_total{result="hit"} 3"#,
        ] { #expect(lines.contains(Substring(line)), "\(line)") }
        #expect(try signers.publishedKeys(at: .now).map(\.id) == [StandInIAM.key.get().keyID])
    }

    @Test(.timeLimit(.minutes(2)))
    func `an IAM that takes calls and never answers costs three callers 3 s, and nobody else anything`() async throws {
        let clock = ManualClock()
        let file = try self.keyFile(of: StandInIAM.key.get())
        let signers = try ConfiguredSigners(
            [
                SignerSettings(
                    role: .driver, account: .email(StandInIAM.account), ways: [.iam(.signJwt), .key], keyFile: file),
                SignerSettings(role: .consumer, ways: [.key], keyFile: file),
            ], keys: nil, google: self.iam.signers(limitedBy: clock), clock: clock)
        _ = try await signers.mint(self.vehicle("veh-0"), as: .driver)
        #expect(self.iam.signatures == 1)

        self.iam.hang(true)
        let waiting = try (1...3).map { number in
            let claims = try self.vehicle("veh-\(number)")
            return Task { try await signers.mint(claims, as: .driver) }
        }
        // For each of them IAM's limit and the ladder's.
        await clock.waitForSleepers(6)
        // Another role's token does not wait for the one that hangs.
        #expect(try await signers.mint(TokenType.consumer(TripID(checking: "trip-1")).claims, as: .consumer) != nil)
        clock.advance(by: SignerLadder.patience)
        for task in waiting { #expect(try await task.value?.claims.issuer == StandInIAM.account) }
        #expect(signers.statistics[.driver]?.map(\.rung.isPassedOver) == [true, false])
        #expect(signers.statistics[.driver]?.map(\.rung.failures) == [3, 0])

        // Passed over: the next rung answers at once, and IAM is not asked.
        let asked = self.iam.signatures
        for number in 4...20 { #expect(try await signers.mint(self.vehicle("veh-\(number)"), as: .driver) != nil) }
        #expect(self.iam.signatures == asked)

        self.iam.hang(false)
        clock.advance(by: .seconds(1))
        #expect(try await signers.mint(self.vehicle("veh-21"), as: .driver) != nil)
        #expect(self.iam.signatures == asked + 1)
        #expect(signers.statistics[.driver]?.map(\.rung.isPassedOver) == [false, false])
    }

    @Test func `a key file that changed signs, and the key before stays published for an hour and the clocks`()
        async throws
    {
        let first = try StandInIAM.key.get()
        let second = try ServiceAccountKey(generatingFor: StandInIAM.account, projectID: "acme")
        let file = try self.keyFile(of: first)
        let signers = try ConfiguredSigners(
            [SignerSettings(role: .driver, ways: [.key], keyFile: file)], keys: nil, google: self.iam.signers())
        let now = Date(timeIntervalSince1970: 1_767_225_600)
        func keyID() async throws -> String? { try await signers.mint(self.vehicle("veh-1"), as: .driver)?.keyID }
        func write(_ bytes: Data) throws { try bytes.write(to: URL(filePath: file), options: .atomic) }

        #expect(signers.refreshKeyFiles(at: now).changes == 0)
        #expect(signers.statuses(at: now).map(\.keyID) == [first.keyID])
        #expect(signers.statuses(at: now).map(\.signsFrom) == [nil])
        try write(second.keyFile)
        #expect(signers.refreshKeyFiles(at: now).changes == 1)
        #expect(try await keyID() == second.keyID)
        #expect(signers.publishedKeys(at: now).map(\.id) == [second.keyID, first.keyID])
        #expect(signers.publishedKeys(at: now + 4199).map(\.id) == [second.keyID, first.keyID])
        #expect(signers.publishedKeys(at: now + 4200).map(\.id) == [second.keyID])
        let statuses = signers.statuses(at: now + 4199)
        #expect(statuses.map(\.role) == ["driver", "driver"])
        #expect(statuses.map(\.keyID) == [first.keyID, second.keyID])
        #expect(statuses.map(\.state) == ["retiring", "signing"])
        #expect(statuses.map(\.signsFrom) == [nil, now])
        #expect(statuses.map(\.retiredFrom) == [now + 4200, nil])
        #expect(signers.statuses(at: now + 4200).map(\.keyID) == [second.keyID])

        let stranger = try ServiceAccountKey(generatingFor: "other@acme.iam.gserviceaccount.com", projectID: "acme")
        for (bad, word) in [(Data("{".utf8), file), (stranger.keyFile, "other@acme")] {
            try write(bad)
            let problems = signers.refreshKeyFiles(at: now).problems
            #expect(problems.count == 1 && problems[0].message.contains(word))
            #expect(signers.refreshKeyFiles(at: now).problems.isEmpty, "told once")
            #expect(try await keyID() == second.keyID)
        }
        try FileManager.default.removeItem(atPath: file)
        #expect(signers.refreshKeyFiles(at: now).problems.count == 1)
        #expect(try await keyID() == second.keyID)
        try write(first.keyFile)
        #expect(signers.refreshKeyFiles(at: now).changes == 1)
        #expect(try await keyID() == first.keyID)
    }

    @Test func `a key file that could not be used signs once it can be, though its size and date stay`() async throws {
        let file = try self.keyFile(of: StandInIAM.key.get())
        let signers = try ConfiguredSigners(
            [SignerSettings(role: .driver, ways: [.key], keyFile: file)], keys: nil, google: self.iam.signers())
        let second = try ServiceAccountKey(generatingFor: StandInIAM.account, projectID: "acme")
        /// Writes into the same file, with the same date each time, as mended permissions leave it.
        func write(_ bytes: Data) throws {
            try bytes.write(to: URL(filePath: file))
            try FileManager.default.setAttributes([.modificationDate: Self.start], ofItemAtPath: file)
        }

        let bytes = second.keyFile
        try write(Data(repeating: UInt8(ascii: "{"), count: bytes.count))
        let seen = FileVersions(of: [file])
        #expect(signers.refreshKeyFiles(at: Self.start).problems.count == 1)
        #expect(signers.refreshKeyFiles(at: Self.start).problems.isEmpty, "told once")
        try write(bytes)
        #expect(FileVersions(of: [file]) == seen)
        #expect(signers.refreshKeyFiles(at: Self.start).changes == 1)
        #expect(try await signers.mint(self.vehicle("veh-1"), as: .driver)?.keyID == second.keyID)
    }

    private static let start = Date(timeIntervalSince1970: 1_767_225_600)

    private func signers(
        _ settings: SignerSettings, keys: SigningKeys? = nil, revocations: RevocationList? = nil, clock: ManualClock
    ) throws -> ConfiguredSigners {
        try ConfiguredSigners(
            [settings], keys: keys, google: self.iam.signers(), revocations: revocations, clock: clock
        ) {
            Self.start + Double(clock.now.sinceStart.components.seconds)
        }
    }

    /// The fleet reader's token for everything, as the signers give it to all who ask.
    private func shared(_ signers: ConfiguredSigners) async throws -> MintedToken {
        try #require(try await signers.mint(TokenType.deliveryFleetReader.claims, as: .deliveryFleetReader))
    }

    @Test func `a shared token goes with the folder's key that signed it, and the next one is shared again`()
        async throws
    {
        let first = try StandInIAM.key.get()
        try first.keyFile.write(to: self.folder.appending(path: "delivery_fleet_reader.json"))
        let folder = KeyFolder(path: self.folder.path(percentEncoded: false))
        let keys = try SigningKeys(folder: folder, provider: try ProviderID(checking: "acme"))
        let clock = ManualClock()
        let signers = try self.signers(
            SignerSettings(role: .deliveryFleetReader, ways: [.key]), keys: keys, clock: clock)

        let token = try await self.shared(signers)
        #expect(token.keyID == first.keyID)
        let ring = try folder.rotate(.deliveryFleetReader, at: Self.start)
        let second = try #require(ring.entries.last).key
        try keys.refresh()
        clock.advance(by: .seconds(1))
        #expect(try await self.shared(signers) == token, "the old key is published and its tokens are good")

        _ = try folder.retire(first.keyID, of: .deliveryFleetReader, at: Self.start, isForced: true)
        try keys.refresh()
        #expect(try await self.shared(signers).keyID == second.keyID)
        clock.advance(by: .seconds(60))
        let next = try await self.shared(signers)
        #expect(next.keyID == second.keyID)
        clock.advance(by: .seconds(1))
        #expect(try await self.shared(signers) == next)
    }

    @Test func `a shared token goes with the key file that was replaced, and one that IAM signed does not`()
        async throws
    {
        let second = try ServiceAccountKey(generatingFor: StandInIAM.account, projectID: "acme")
        let cases: [(ways: [SignerSettings.Way], keyID: String)] = [
            ([.key], second.keyID), ([.iam(.signJwt), .key], try StandInIAM.key.get().keyID),
        ]
        for (ways, keyID) in cases {
            let file = try self.keyFile(
                of: ServiceAccountKey(generatingFor: StandInIAM.account, projectID: "acme"))
            let clock = ManualClock()
            let signers = try self.signers(
                SignerSettings(
                    role: .deliveryFleetReader, account: .email(StandInIAM.account), ways: ways, keyFile: file),
                clock: clock)
            let token = try await self.shared(signers)
            try second.keyFile.write(to: URL(filePath: file), options: .atomic)
            #expect(signers.refreshKeyFiles(at: Self.start).changes == 1)
            clock.advance(by: .seconds(60))
            let next = try await self.shared(signers)
            #expect(next.keyID == keyID)
            #expect((next == token) == (ways.count == 2))
        }
    }

    @Test func `a way whose key is withdrawn gives place to the next, and takes its shared token along`() async throws {
        let second = try ServiceAccountKey(generatingFor: StandInIAM.account, projectID: "acme")
        let (list, clock, first) = (RevocationList(), ManualClock(), try StandInIAM.key.get().keyID)
        let signers = try self.signers(
            SignerSettings(
                role: .deliveryFleetReader, account: .email(StandInIAM.account), ways: [.iam(.signJwt), .key],
                keyFile: self.keyFile(of: second)),
            revocations: list, clock: clock)
        #expect(try await self.shared(signers).keyID == first)

        list.replace(fingerprints: [], keyIDs: [first])
        clock.advance(by: .seconds(60))
        let next = try await self.shared(signers)
        #expect(next.keyID == second.keyID)
        clock.advance(by: .seconds(1))
        #expect(try await self.shared(signers) == next)

        list.replace(fingerprints: [], keyIDs: [first, second.keyID])
        let error = await #expect(throws: SigningError.self) { try await self.shared(signers) }
        #expect(error?.message.contains("The key \(second.keyID) of \(StandInIAM.account) is withdrawn") == true)
    }

    @Test func `a key of another account is no way to sign for this one`() throws {
        let file = try self.keyFile(of: ServiceAccountKey(generatingFor: "other@acme", projectID: nil))
        let settings = SignerSettings(
            role: .driver, account: .email(StandInIAM.account), ways: [.iam(.signJwt), .key], keyFile: file)
        let error = #expect(throws: TokenServerError.self) {
            try ConfiguredSigners([settings], keys: nil, google: self.iam.signers())
        }
        #expect(error?.message.contains("other@acme") == true)
    }

    @Test(arguments: [nil, "/nowhere/driver.json"])
    func `a way without its key is named with the fix`(file: String?) throws {
        let settings = SignerSettings(role: .driver, ways: [.key], keyFile: file)
        let error = #expect(throws: TokenServerError.self) {
            try ConfiguredSigners([settings], keys: nil, google: self.iam.signers())
        }
        #expect(error?.message.contains("signers.driver.key") == true)
    }

    @Test func `when the budget runs low apps come back over a longer time, until a minute has passed`() async throws {
        let clock = SteppedClock()
        let signers = try ConfiguredSigners(
            [SignerSettings(role: .driver)], keys: nil, google: self.iam.signers(callsPerMinute: 500, clock: clock))
        let now = Date(timeIntervalSince1970: 1_767_225_600)
        let issuer = TokenIssuer(now: { now }, spreadsWider: { signers.isBudgetLow }) { claims, role, _ in
            try await signers.mint(claims, as: role)
        }
        func refreshes(_ count: Int) async throws -> [Duration] {
            var refreshes: [Duration] = []
            for number in 0..<count {
                refreshes.append(try await issuer.issue(.driver(VehicleID(checking: "veh-\(number)"))).refreshAfter)
            }
            return refreshes
        }
        let usual = try await refreshes(100)
        #expect(usual.allSatisfy { (.seconds(1800) ... .seconds(2700)).contains($0) })
        for number in 0..<310 { _ = try await signers.mint(self.vehicle("other-\(number)"), as: .driver) }
        #expect(signers.isBudgetLow)
        let wide = try await refreshes(80)
        #expect(wide.allSatisfy { (.seconds(1500) ... .seconds(3000)).contains($0) })
        #expect(wide.contains { $0 < .seconds(1700) } && wide.contains { $0 > .seconds(2800) })
        clock.advance(by: .seconds(61))
        #expect(try await refreshes(100) == usual)
    }
}
