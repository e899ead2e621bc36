// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import SwiftProtobuf

extension LoggedCall {
    /// What tells an entry of a log from all others.
    struct EntryID: Hashable {
        private let log: String
        private let timestamp: String
        private let insertID: String

        /// The id of an entry; `nil` where it tells less.
        init?(_ entry: JSONObject) {
            let entry = entry.lowercasedKeys
            guard let log = entry["logname"]?.string, let timestamp = entry["timestamp"]?.string,
                let insertID = entry["insertid"]?.string
            else { return nil }
            self.log = log
            self.timestamp = timestamp
            self.insertID = insertID
        }
    }

    /// Reads an entry of a Cloud Logging export, with its keys in lower case or in camel case; `nil` for an entry of
    /// something else.
    ///
    /// - Parameter entry: The entry.
    /// - Throws: ``CallRecordingError`` for a call without a time.
    init?(entry: JSONObject) throws(CallRecordingError) {
        let name = Self.type(of: entry)
        let entry = entry.lowercasedKeys
        guard let payload = entry["jsonpayload"]?.object?.lowercasedKeys, name.hasSuffix("Log"),
            let method = FleetMethod(named: name.dropLast("Log".count))
        else { return nil }
        let stamp = entry["timestamp"]?.string ?? ""
        guard let time = try? Google_Protobuf_Timestamp(jsonString: "\"\(stamp)\"") else {
            throw CallRecordingError("has the timestamp \"\(stamp.shown(upTo: 64))\", which is no time")
        }
        let schema = LogSchema.publicAPI
        let types = schema.index.messages(of: method)
        let logged = payload["request"]?.object ?? JSONObject()
        let response = payload["response"]?.object.map { schema.apiObject($0, as: types.response) }
        self.method = method
        self.time = time.date
        self.insertID = entry["insertid"]?.string
        self.failure = payload["errorresponse"].flatMap(Failure.init)
        self.response = self.failure == nil ? response : nil
        self.request = Self.request(
            schema.apiObject(logged, as: types.request), logged.lowercasedKeys, method,
            provider: Self.provider(entry, logged, response))
    }

    /// The type that an entry's payload names, such as `GetVehicleLog`, without what precedes its last dot; empty without one.
    static func type(of entry: JSONObject) -> String {
        let kind = entry.lowercasedKeys["jsonpayload"]?.object?.lowercasedKeys["@type"]?.string ?? ""
        return kind.split(separator: ".").last.map(String.init) ?? ""
    }

    /// The call as an entry of a Cloud Logging export, in the spelling of the public data sets.
    var entry: JSONObject {
        let schema = LogSchema.publicAPI
        let types = schema.index.messages(of: self.method)
        var request = schema.logObject(self.request, as: types.request)
        var labels = JSONObject()
        if let id = self.resourceID, let field = self.idField {
            request[field.lowercased()] = .string(id)
            labels[field.lowercased()] = .string(id)
        }
        let name = self.method.name
        let stamp = Google_Protobuf_Timestamp(date: self.time)
        let time = JSONValue.string((try? stamp.jsonString()).map { String($0.dropFirst().dropLast()) } ?? "")
        var payload: JSONObject = [
            "@type": .string("type.googleapis.com/maps.fleetengine.v1.\(name)Log"), "request": .object(request),
        ]
        payload["response"] = self.response.map { .object(schema.logObject($0, as: types.response)) }
        payload["errorresponse"] = self.failure.map {
            .object(["code": .string($0.status), "message": .string($0.message)])
        }
        var entry: JSONObject = [
            "logname": .string("projects/\(self.provider)/logs/fleetengine.googleapis.com%2F\(Self.snakeCase(name))"),
            "labels": .object(labels), "timestamp": time, "receivetimestamp": time,
            "severity": .string(self.isRefused ? "ERROR" : "INFO"),
            "resource": .object([
                "type": .string("fleetengine.googleapis.com/Fleet"),
                "labels": .object([
                    "location": .string("global"), "resourcecontainer": .string("projects/\(self.provider)"),
                ]),
            ]),
            "jsonpayload": .object(payload),
        ]
        entry["insertid"] = .string(
            self.insertID ?? String(JSONValue.object(entry).serialized.sha256Hex.prefix(32)))
        return entry
    }

    /// The request as the API has it: the log keeps ids in place of names.
    private static func request(
        _ request: JSONObject, _ logged: JSONObject, _ method: FleetMethod, provider: String
    ) -> JSONObject {
        let call = Self(method: method, time: .distantPast, request: request, response: nil, failure: nil)
        var request = request
        let parent = "providers/\(provider)"
        guard let collection = call.collection, let idField = call.idField else {
            if request["name"] == nil { request["parent"] = request["parent"] ?? .string(parent) }
            return request
        }
        if let field = call.resourceField {
            request[field] = Self.resource(of: call, logged: logged[field.lowercased()])
        }
        let id = logged[idField.lowercased()]?.string ?? call.resourceID ?? ""
        let name = JSONValue.string("\(parent)/\(collection)/\(id)")
        switch method {
        case .createVehicle, .createTrip, .createDeliveryVehicle, .createTask:
            request["parent"] = .string(parent)
            request[idField] = .string(id)
        case .updateDeliveryVehicle, .updateTask:
            let field = call.resourceField ?? ""
            var resource = request[field]?.object ?? JSONObject()
            resource["name"] = name
            request[field] = .object(resource)
        default:
            request["name"] = name
        }
        return request
    }

    /// The resource of a request: the log has the handle of a segment in every one, whether a segment was sent or not.
    private static func resource(of call: LoggedCall, logged: JSONValue?) -> JSONValue? {
        guard var resource = call.resource, !call.maskedFields.contains("currentRouteSegment"),
            logged?.object?.lowercasedKeys["currentroutesegmenthandle"] != nil
        else { return call.resource.map(JSONValue.object) }
        resource["currentRouteSegment"] = nil
        return .object(resource)
    }

    private static func provider(_ entry: JSONObject, _ request: JSONObject, _ response: JSONObject?) -> String {
        let names = [response?["name"]?.string, entry["logname"]?.string]
        for case let name? in names {
            let parts = Array(PathSegments(name[...]))
            if parts.count > 1, parts[0] == "providers" || parts[0] == "projects" { return String(parts[1]) }
        }
        return ""
    }

    private static func snakeCase(_ name: String) -> String {
        name.reduce(into: "") { text, character in
            if character.isUppercase, !text.isEmpty { text.append("_") }
            text.append(contentsOf: character.lowercased())
        }
    }
}

extension LoggedCall.Failure {
    /// Reads the log's account of a refusal; `nil` where there is none.
    init?(_ logged: JSONValue) {
        guard let object = logged.object?.lowercasedKeys, !object.isEmpty else { return nil }
        let code = object["code"] ?? object["status"] ?? object["httpstatuscode"]
        self.status = code?.string ?? code?.integer.map(String.init) ?? "UNKNOWN"
        self.message = object["message"]?.string ?? ""
    }
}

extension JSONObject {
    /// The object with its own keys in lower case; of keys that differ in case only, one is kept.
    fileprivate var lowercasedKeys: JSONObject {
        JSONObject(Dictionary(self.map { ($0.key.lowercased(), $0.value) }) { first, _ in first })
    }
}
