// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Hummingbird
import Logging

extension AdminRoutes {
    func listAssignments(_ call: Call) async throws -> Response {
        var query = RequestMembers(queryOf: call.request)
        let holder = query.optionalHolder("holder")
        let resource = query.optionalResource()
        let time = query.optionalDate("at")
        let end = query.optionalDate("ending_after")
        let limit = query.optionalNumber("limit", 1...1000) ?? 100
        try query.finish(())
        let assignments = try await self.records.assignments.assignments(
            of: holder, to: resource, at: time, endingAfter: end, limit: limit)
        return .uncachedJSON(JSONValue.object(["assignments": .array(assignments.map(\.json))]))
    }

    func addAssignment(_ call: Call) async throws -> Response {
        var members = RequestMembers(try await APIBody.object(of: call.request))
        let holder = members.optionalHolder("holder", isRequired: true)
        let resource = members.optionalResource(isRequired: true)
        let named = members.optionalDate("start")
        let start = named ?? call.time
        let end = members.optionalDate("end")
        if let end, end <= start { members.refuse("end", "The end must be after the start.") }
        let assignment = holder.flatMap { holder in
            resource.map { Assignment(holder: holder, resource: $0, start: start, end: end) }
        }
        let wanted = try members.finish(assignment)
        let (held, isNew) = try await self.records.administration.add(
            wanted, unlessBegun: named == nil, by: call.actor, at: call.time)
        guard isNew else { return .uncachedJSON(held.json) }
        self.note(
            "assignment added", call, ["holder": "\(held.holder)", "\(held.resource.kind)": "\(held.resource.id)"])
        return .uncachedJSON(held.json, status: .created)
    }

    func endAssignment(_ call: Call) async throws -> Response {
        var members = RequestMembers(try await APIBody.object(of: call.request))
        let holder = members.optionalHolder("holder", isRequired: true)
        let resource = members.optionalResource(isRequired: true)
        let start = members.optionalDate("start")
        let time = members.optionalDate("at") ?? call.time
        let ended = try members.finish(holder.flatMap { holder in resource.map { (holder: holder, resource: $0) } })
        let count = try await self.records.administration.end(
            ended.resource, of: ended.holder, beginning: start, at: time, by: call.actor, now: call.time)
        self.note(
            "assignment ended", call,
            ["holder": "\(ended.holder)", "\(ended.resource.kind)": "\(ended.resource.id)", "count": "\(count)"])
        return .uncachedJSON(JSONValue.object(["ended": .integer(Int64(count))]))
    }
}

extension Assignment {
    /// The assignment as the admin API shows it.
    fileprivate var json: JSONValue {
        var object: JSONObject = [
            "holder": .string(self.holder.description), "kind": .string(self.resource.kind),
            "id": .string(self.resource.id), "start": .string(APITime.text(self.start)),
        ]
        object["end"] = self.end.map { .string(APITime.text($0)) }
        return .object(object)
    }
}

extension RequestMembers {
    /// A holder, as an authenticator's label, a slash, and the subject.
    fileprivate mutating func optionalHolder(_ name: String, isRequired: Bool = false) -> CallerID? {
        guard let text = isRequired ? self.string(name) : self.optionalString(name) else { return nil }
        guard let holder = CallerID(text), holder.isUsable else {
            self.refuse(name, "A holder is an authenticator's label, a slash, and the subject there.")
            return nil
        }
        return holder
    }

    /// A resource by `kind` and `id`, which stand together.
    fileprivate mutating func optionalResource(isRequired: Bool = false) -> AssignedResource? {
        let isNamed = isRequired || self.has("kind") || self.has("id")
        guard isNamed else { return nil }
        let (first, second) = (self.string("kind"), self.string("id"))
        guard let kind = first, let id = second else { return nil }
        guard AssignedResource.kinds.contains(kind) else {
            self.refuse("kind", "The kind must be \(AssignedResource.kinds.joined(separator: ", ")).")
            return nil
        }
        return self.checked("id") { () throws(TokenError) in try AssignedResource(kind: kind, id: id) }
    }
}
