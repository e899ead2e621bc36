// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

/// Keeps `docs/permission-matrix.md` equal to the table that decides.
///
/// After a change of the table, run the tests with `FLEETPASS_WRITE_DOCS=1` to write the page anew.
@Suite struct PermissionMatrixPageTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "docs/permission-matrix.md")

    private static func fields(_ row: AccessRule) -> String {
        switch row.fields {
        case .all: return "any"
        case .only(let names): return names.sorted().map { "`\($0)`" }.joined(separator: " ")
        case .others: return "any other"
        }
    }

    private static func table(of service: String) -> String {
        let rows = AccessRule.matrix.filter { $0.method.rawValue.contains(service) }.map { row in
            let permissions = row.permissions.map(\.rawValue).sorted().joined(separator: " and ")
            let roles = Role.known.filter { row.permissions.isSubset(of: $0.permissions) }.map(\.rawValue)
            return "| \(row.method.name) | \(Self.fields(row)) | \(permissions) | \(row.claim.requirement) | "
                + "\(roles.joined(separator: ", ")) |"
        }
        return rows.joined(separator: "\n")
    }

    private static var text: String {
        """
        # Who may call what

        A call passes when the role of the signing account has every permission of each row that the call touches, and the token's
        claims meet the row's condition. The two admin roles need no claims. The role comes from the account that signs, never from
        the token. This page is written from the table in `AccessRule.matrix`, which also decides in the engine and in
        `fleetpass explain`; a test keeps them equal.

        Where a trip has no vehicle and UpdateTrip gives it none, `vehicle_waypoints` is ignored: the permissions of its row are needed,
        but the claim of any other field is enough. `fleetpass explain`, which sees no trip, says where that makes a difference.

        A path of a mask that names no field, as one with a blank before it, is `any other`; the refusal names the paths whose
        permission the role lacks.

        Permissions are IAM's without `fleetengine.`; `billabletrips.report` is ours, as IAM names none for the billing report.

        ## On-demand trips

        | RPC | masked fields | permission | claim | roles with the permission |
        | --- | --- | --- | --- | --- |
        \(Self.table(of: "fleetengine.v1."))

        ## Scheduled tasks

        | RPC | masked fields | permission | claim | roles with the permission |
        | --- | --- | --- | --- | --- |
        \(Self.table(of: "fleetengine.delivery.v1."))

        """
    }

    @Test func `the page of the matrix says what the table says`() throws {
        if ProcessInfo.processInfo.environment["FLEETPASS_WRITE_DOCS"] != nil {
            try Data(Self.text.utf8).write(to: Self.page)
        }
        #expect(try String(contentsOf: Self.page, encoding: .utf8) == Self.text)
    }
}
