// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import GoogleCredentials
import Testing

@Suite struct ConfiguredSignersTests {
    private let iam = StandInIAM()

    private func keyFile(of key: ServiceAccountKey) throws -> String {
        let file = FileManager.default.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString).json")
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
        #expect(signers.localKeys.isEmpty, "nothing is published that is not here")
    }

    @Test func `a key of the same account signs while IAM is down, and the metrics tell`() async throws {
        let file = try self.keyFile(of: StandInIAM.key.get())
        let signers = try ConfiguredSigners(
            [
                SignerSettings(
                    role: .driver, account: .email(StandInIAM.account), ways: [.iam(.signJwt), .key], keyFile: file)
            ], keys: nil, google: self.iam.signers())
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
        #expect(try signers.localKeys.map(\.id) == [StandInIAM.key.get().keyID])
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
