// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FleetPostgreSQL

@Suite struct PostgreSQLErrorTests {
    @Test(arguments: [
        ("40001", PostgreSQLError.Code.conflict, true, false), ("23505", .conflict, true, false),
        ("57014", .timedOut, true, true), ("57P01", .connectionLost, true, true),
        ("08006", .connectionLost, true, true),
        ("25006", .serverFailed, true, true), ("26000", .serverFailed, true, true),
        ("53100", .serverFailed, true, false), ("57P04", .serverFailed, true, false),
        ("58030", .serverFailed, true, false), ("XX001", .serverFailed, true, false),
        ("0A000", .statementFailed, false, false), ("42P01", .wrongSchema, false, false),
        ("22P02", .statementFailed, false, false), ("42501", .wrongSchema, false, false),
        ("42P05", .statementFailed, false, false),
    ])
    func `the server's code tells whether a statement may pass later, and on the same session`(
        state: String, code: PostgreSQLError.Code, mayPass: Bool, endsSession: Bool
    ) {
        let error = PostgreSQLError(sqlState: state, message: "words")
        #expect(error.code == code)
        #expect(error.mayPass == mayPass)
        #expect(error.endsSession == endsSession)
        #expect(error.message.hasPrefix("PostgreSQL says: words (\(state))"))
    }

    @Test(arguments: [
        ("42P05", true, true), ("26000", true, true), ("42P01", false, true), ("42501", false, false),
        ("23505", false, false),
    ])
    func `who finds what another connection left is told of poolers`(
        state: String, isTold: Bool, isToldOnceTablesWereFound: Bool
    ) {
        let error = PostgreSQLError(sqlState: state, message: "words")
        let advice = "A pooler that changes connections between transactions cannot stand in between; "
        #expect(error.message.contains(advice) == isTold)
        #expect(isTold || error.message == "PostgreSQL says: words (\(state))")
        let later = error.missingWhatWasFound
        #expect(later.message.contains(advice) == isToldOnceTablesWereFound)
        #expect((later.code, later.sqlState) == (error.code, state))
    }

    @Test func `a plan that is out of date passes on a new session, in whatever language the server says so`() {
        let error = PostgreSQLError(sqlState: "0A000", message: "Wörter", function: "RevalidateCachedQuery")
        #expect(error.code == .serverFailed)
        #expect(error.mayPass)
        #expect(error.endsSession)
    }

    @Test(arguments: [
        (PostgreSQLError.Code.invalidAddress, false), (.wrongSchema, false), (.statementFailed, false),
        (.unreachable, true), (.refused, true), (.overloaded, true), (.closed, true), (.serverFailed, true),
        (.conflict, true), (.timedOut, true), (.connectionLost, true),
    ])
    func `only a change to the program, its tables or the address helps some errors`(
        code: PostgreSQLError.Code, mayPass: Bool
    ) {
        let error = PostgreSQLError(code: code, message: "words")
        #expect(error.mayPass == mayPass)
        #expect(error.isOutage == (mayPass && code != .refused))
    }
}
