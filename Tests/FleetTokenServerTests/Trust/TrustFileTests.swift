// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokens
import Foundation
import Testing

@Suite struct TrustFileTests {
    private func read(_ yaml: String) throws -> [TrustedAccountSource] {
        try TrustFile(
            yaml: yaml, file: "trust.yaml", folder: URL(filePath: "/etc/fleetpass", directoryHint: .isDirectory)
        ).accounts
    }

    @Test func `accounts have one role, several, or one of the file's own`() throws {
        let accounts = try self.read(
            """
            version: 1
            roles:
              dispatcher: {includes: fleet_reader, permissions: [fleetengine.trips.create, trips.update]}
            accounts:
              - {email: a@acme.iam.gserviceaccount.com, roles: server}
              - {email: b@acme.iam.gserviceaccount.com, roles: [server, delivery_server], keys: "https://keys.example/b"}
              - {email: c@elsewhere.example, provider: acme-two, roles: dispatcher, keys: google}
            """)
        #expect(accounts.map(\.account.provider?.value) == ["acme", "acme", "acme-two"])
        #expect(accounts[0].account.role == .server)
        #expect(accounts[0].account.granted == nil)
        #expect(
            accounts[0].keys
                == .address("https://www.googleapis.com/robot/v1/metadata/x509/a@acme.iam.gserviceaccount.com"))
        #expect(accounts[1].account.permissions == Role.server.permissions.union(Role.deliveryServer.permissions))
        #expect(accounts[1].keys == .address("https://keys.example/b"))
        #expect(accounts[2].account.permissions == Role.fleetReader.permissions.union([.tripsCreate, .tripsUpdate]))
        #expect(accounts[2].account.role?.rawValue == "dispatcher")
    }

    @Test func `an account has the roles that it is given, and those that a role of the file includes`() throws {
        let accounts = try self.read(
            """
            version: 1
            roles:
              dispatcher: {includes: [fleet_reader, server], permissions: trips.create}
              clerk: {permissions: trips.get}
            accounts:
              - {email: a@acme.iam.gserviceaccount.com, roles: driver}
              - {email: b@acme.iam.gserviceaccount.com, roles: [driver, delivery_untrusted_driver]}
              - {email: c@acme.iam.gserviceaccount.com, roles: [driver, dispatcher]}
              - {email: d@acme.iam.gserviceaccount.com, roles: clerk}
            """)
        let roles: [Set<Role>] = [
            [.driver], [.driver, .deliveryUntrustedDriver], [.driver, .fleetReader, .server], [],
        ]
        #expect(accounts.map(\.account.roles) == roles)
        #expect(accounts.map(\.account.isForDevices) == [true, true, false, false])
    }

    @Test(arguments: [
        ("accounts: []", "trust.yaml:1:1: a trust file begins with version: 1."),
        ("version: 1\naccounts: []", "trust.yaml:2:11: accounts must have 1 to 1000 entries."),
        ("version: 1\naccounts: [{email: a@b, roles: server}]", "provider must name the project"),
        ("version: 1\naccounts: [{email: a@p.iam.gserviceaccount.com}]", "an account needs email and roles"),
        ("version: 1\naccounts: [{email: a@p.iam.gserviceaccount.com, roles: king}]", "there is no role \"king\""),
        (
            "version: 1\naccounts: [{email: a@p.iam.gserviceaccount.com, roles: server, keys: 'http://k.example/'}]",
            "keys must be google, a file"
        ),
        (
            "version: 1\naccounts: [{email: a@p.iam.gserviceaccount.com, roles: server, keys: no.pem}]",
            "the keys' file /etc/fleetpass/no.pem cannot be read: /etc/fleetpass/no.pem is missing."
        ),
        (
            "version: 1\naccounts: [{email: a@p.iam.gserviceaccount.com, roles: server, keys: /tmp}]",
            "the keys' file /tmp cannot be read: /tmp is a folder, not a file."
        ),
        (
            "version: 1\naccounts:\n- &a {email: a@p.iam.gserviceaccount.com, roles: server}\n- *a",
            "aliases are not read"
        ),
        ("version: 1\nroles: {server: {permissions: trips.get}}\naccounts: []", "server is a role of the service"),
        ("version: 1\nroles: {x: {permissions: trips.fly}}\naccounts: []", "there is no permission \"trips.fly\""),
        ("version: 1\nroles: {x: {includes: y}}\naccounts: []", "includes names roles of the service"),
        ("version: 1\nroles: {x: {}}\naccounts: []", "the role x permits nothing"),
    ])
    func `what is wrong is told with its place`(yaml: String, message: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try self.read(yaml) }
        #expect(error.message.hasPrefix("trust.yaml:"))
        #expect(error.message.contains(message))
    }

    @Test func `an account that stands twice is an error`() throws {
        let entry = "\n- {email: a@p.iam.gserviceaccount.com, roles: server}"
        let error = try #require(throws: ConfigurationError.self) {
            try self.read("version: 1\naccounts:\(entry)\(entry)")
        }
        #expect(error.message.contains("stands twice"))
    }
}
