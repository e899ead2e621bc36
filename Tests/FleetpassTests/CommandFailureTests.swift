// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetPostgreSQL
import Testing

@testable import fleetpass

@Suite struct CommandFailureTests {
    private static let open: [PostgreSQLError.Code] = [.connectionLost, .timedOut]

    private static func error(_ code: PostgreSQLError.Code) -> PostgreSQLError {
        PostgreSQLError(code: code, message: "So it was.")
    }

    @Test(arguments: Self.open)
    func `a change that may have been made is looked for before it is made again`(
        code: PostgreSQLError.Code
    ) async throws {
        let failure = try await #require(throws: CommandFailure.self) {
            try await CommandFailure.changing(seenBy: "assignments list") { throw Self.error(code) }
        }
        #expect(failure.status == .unreachable)
        #expect(
            failure.message == "the store: So it was. It is not known whether the change was made; look with "
                + "assignments list before you make it again.")
    }

    @Test(arguments: [PostgreSQLError.Code.conflict, .unreachable, .overloaded])
    func `a change that was not made is made again`(code: PostgreSQLError.Code) async throws {
        let error = try await #require(throws: PostgreSQLError.self) {
            try await CommandFailure.changing(seenBy: "assignments list") { throw Self.error(code) }
        }
        let failure = try #require(CommandFailure(error))
        #expect(failure.status == .unreachable)
        #expect(failure.message == "the store: So it was. Retry when the database serves again.")
    }

    @Test func `of the record of a change of keys it is told whether it was refused or may be there`() async throws {
        let records = try KeyRecordOptions.parse([])
        for (code, words) in Self.open.map({ ($0, "it is not known whether the audit tells: So it was. Look with") })
            + [(.conflict, "the audit does not tell")]
        {
            let failure = try await #require(throws: CommandFailure.self) {
                try await records.record { throw Self.error(code) }
            }
            #expect(failure.status == .failed)
            #expect(failure.message.contains(words), "\(failure.message)")
        }
    }
}
