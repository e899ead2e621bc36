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
        let keys = (self.records.keys?.statuses(at: call.time) ?? []).map { status -> JSONValue in
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
        self.note("tokens withdrawn", call, ["target": "\(found)", "count": "\(revocations.count)"])
        return try Self.answer(revocations)
    }

    private static func answer(_ revocations: [Revocation]) throws -> Response {
        let list = revocations.map { revocation -> JSONValue in
            .object([
                "kind": .string(revocation.kind.rawValue), "value": .string(revocation.value),
                "ends_at": .string(APITime.text(revocation.endsAt)),
            ])
        }
        return .uncachedJSON(JSONValue.object(["revocations": .array(list)]))
    }
}

extension RequestMembers {
    /// A token's fingerprint that may be missing.
    fileprivate mutating func optionalFingerprint(_ name: String) -> String? {
        guard let text = self.optionalString(name) else { return nil }
        return self.fingerprint(text, as: name)
    }

    /// A text, or `nil` and a note where it is no fingerprint.
    private mutating func fingerprint(_ text: String, as name: String) -> String? {
        guard text.utf8.count == 16, text.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }) else {
            self.refuse(name, "A fingerprint is 16 hexadecimal digits in lower case.")
            return nil
        }
        return text
    }

    /// Whose tokens are to be withdrawn, by `kind` and `value`.
    fileprivate mutating func revocationTarget() -> RevocationTarget? {
        let (first, second) = (self.string("kind"), self.string("value"))
        guard let kind = first, let value = second else { return nil }
        switch kind {
        case "fingerprint":
            guard let fingerprint = self.fingerprint(value, as: "value") else { return nil }
            return .fingerprint(fingerprint)
        case "caller":
            let target = RevocationTarget.caller(value)
            guard target.lengths.contains(value.utf8.count) else {
                self.refuse("value", "The value must be 1 to \(target.lengths.upperBound) bytes.")
                return nil
            }
            return target
        case "key", "subject":
            guard CallerID.isUsable(subject: value) else {
                self.refuse("value", "The value must be 1 to 255 printable ASCII characters.")
                return nil
            }
            return kind == "key" ? .key(value) : .subject(value)
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
