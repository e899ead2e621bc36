// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation
import Hummingbird
import Logging

extension AdminRoutes {
    func listDecisions(_ call: Call) async throws -> Response {
        var members = RequestMembers(queryOf: call.request)
        var query = AuditQuery()
        query.kind = .decision
        let decision = members.optionalString("decision")
        query.decision = decision.flatMap(AuditRecord.Decision.init(rawValue:))
        if decision != nil, query.decision == nil {
            members.refuse("decision", "The decision must be granted or refused.")
        }
        query.subject = members.optionalString("subject")
        query.fingerprint = members.optionalFingerprint("fingerprint")
        let limit = members.optionalNumber("limit", 1...1000) ?? 100
        try members.finish(())
        let matches = try await self.records.audit.latest(query, limit: limit)
        let entries = matches.map { match -> JSONValue in
            .object([
                "sequence": .integer(match.entry.sequence), "hash": .string(match.entry.hash),
                "record": match.event.json,
            ])
        }
        return .uncachedJSON(JSONValue.object(["decisions": .array(entries)]))
    }

    func listKeys(_ call: Call) async throws -> Response {
        var query = RequestMembers(queryOf: call.request)
        try query.finish(())
        let statuses =
            (self.records.keys?.statuses(at: call.time) ?? []) + (self.records.signers?.statuses(at: call.time) ?? [])
        let keys = statuses.map { status -> JSONValue in
            var object: JSONObject = [
                "role": .string(status.role), "key_id": .string(status.keyID), "state": .string(status.state),
            ]
            object["signs_from"] = status.signsFrom.map { .string(APITime.text($0)) }
            object["retired_from"] = status.retiredFrom.map { .string(APITime.text($0)) }
            return .object(object)
        }
        return .uncachedJSON(JSONValue.object(["keys": .array(keys)]))
    }

    func listRevocations(_ call: Call) async throws -> Response {
        var query = RequestMembers(queryOf: call.request)
        try query.finish(())
        return try Self.answer(await self.records.revocations.current(at: call.time))
    }

    func revoke(_ call: Call) async throws -> Response {
        var members = RequestMembers(try await APIBody.object(of: call.request))
        let target = members.revocationTarget()
        let found = try members.finish(target)
        let revocations = try await self.records.administration.revoke(found, by: call.actor, at: call.time)
        self.note("tokens withdrawn", call, [found.kind: "\(found.value)", "count": "\(revocations.count)"])
        // They are withdrawn, whether or not this can be told.
        let leftOut = try? await self.records.revocations.countLeftOut(at: call.time)
        return try Self.answer(revocations, leftOut: leftOut ?? 0)
    }

    private static func answer(_ revocations: [Revocation], leftOut: Int = 0) throws -> Response {
        let list = revocations.map { revocation -> JSONValue in
            .object([
                "kind": .string(revocation.kind.rawValue), "value": .string(revocation.value),
                "ends_at": .string(APITime.text(revocation.endsAt)),
            ])
        }
        var answer: JSONObject = ["revocations": .array(list)]
        if leftOut > 0 { answer["left_out"] = .integer(Int64(leftOut)) }
        return .uncachedJSON(JSONValue.object(answer))
    }
}

extension RequestMembers {
    /// A token's fingerprint that may be missing.
    fileprivate mutating func optionalFingerprint(_ name: String) -> String? {
        guard let text = self.optionalString(name), self.usable(.fingerprint(text), as: name) != nil else { return nil }
        return text
    }

    /// The target, or `nil` and a note where no token can have such a one.
    private mutating func usable(_ target: RevocationTarget, as name: String) -> RevocationTarget? {
        guard let fault = target.fault else { return target }
        self.refuse(name, "The \(name) \(fault).")
        return nil
    }

    /// Whose tokens are to be withdrawn, by `kind` and `value`.
    fileprivate mutating func revocationTarget() -> RevocationTarget? {
        let (first, second) = (self.string("kind"), self.string("value"))
        guard let kind = first, let value = second else { return nil }
        switch kind {
        case "fingerprint": return self.usable(.fingerprint(value), as: "value")
        case "key": return self.usable(.key(value), as: "value")
        case "caller": return self.usable(.caller(value), as: "value")
        case "subject":
            guard CallerID.isUsable(subject: value) else {
                self.refuse("value", "The value must be 1 to 255 printable ASCII characters.")
                return nil
            }
            return .subject(value)
        case _ where AssignedResource.kinds.contains(kind):
            return self.checked("value") { () throws(TokenError) in
                .resource(try AssignedResource(kind: kind, id: value))
            }
        default:
            let kinds = ["fingerprint", "key", "caller", "subject"] + AssignedResource.kinds
            self.refuse("kind", "The kind must be \(kinds.joined(separator: ", ")).")
            return nil
        }
    }
}
