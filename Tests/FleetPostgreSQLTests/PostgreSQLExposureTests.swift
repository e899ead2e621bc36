// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import PostgreSQLTestSupport
import Testing

@testable import FleetPostgreSQL

@Suite struct PostgreSQLExposureTests {
    @Test(arguments: ["10.0.0.5", "fd00::2", "128.0.0.1"], ["", "disable", "allow", "prefer", "require"])
    func `a server over a network whose certificate need not be checked is told with the next step`(
        host: String, mode: String
    ) throws {
        let exposure = try #require(PostgreSQLExposure(host: host, mode: mode, authority: "/none", isGSSAPI: false))
        #expect(exposure.problem.contains("PostgreSQL at \(host) is reached over a network, and sslmode=\(mode) "))
        #expect(exposure.problem.contains("encryption") == (mode != "require"))
        #expect(exposure.next.contains("sslmode=verify-full&sslrootcert="))
    }

    @Test(arguments: [
        ("10.0.0.5", "verify-full", false), ("10.0.0.5", "verify-ca", false), ("10.0.0.5", "prefer", true),
        ("127.0.0.1", "disable", false), ("127.0.0.53", "prefer", false), ("::1", "prefer", false),
        ("::ffff:127.0.0.1", "require", false), ("", "prefer", false),
    ])
    func `where nobody is on the way, or the other end is known, nothing is told`(
        host: String, mode: String, isGSSAPI: Bool
    ) {
        #expect(PostgreSQLExposure(host: host, mode: mode, authority: "/none", isGSSAPI: isGSSAPI) == nil)
    }

    @Test(arguments: [("require", true), ("prefer", false), ("", false)])
    func `an authority that is there is checked by whoever requires encryption`(mode: String, isChecked: Bool) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data().write(to: file)
        let authority = file.path(percentEncoded: false)
        let exposure = PostgreSQLExposure(host: "10.0.0.5", mode: mode, authority: authority, isGSSAPI: false)
        #expect((exposure == nil) == isChecked)
    }

    @Test(
        .enabled(if: PostgreSQLServer.isInstalled, Comment(rawValue: PostgreSQLServer.absence)),
        .timeLimit(.minutes(5)))
    func `a socket is open to nobody`() async throws {
        let address = try PostgreSQLAddress(try await PostgreSQLServer.shared().makeDatabase())
        let pool = PostgreSQLPool(address, connections: 1, logger: .silent)
        let exposure = try await pool.run { $0.exposure }
        #expect(exposure == nil)
        await pool.close()
    }

    @Test(arguments: ["postgresql://u@127.0.0.1:1/d", "data/token-server.sqlite", ""])
    func `where nobody answers, and of what is no address, nothing is told`(text: String) async {
        #expect(await PostgreSQLExposure.found(at: text) == nil)
    }
}
