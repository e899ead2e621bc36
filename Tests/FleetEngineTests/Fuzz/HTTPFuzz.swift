// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokens
import Foundation
import GzipCoding
import HTTPTypes

@testable import FleetEngine

/// A REST request that is almost right, made from its seed.
struct HTTPFuzz {
    let verb: HTTPRequest.Method
    let uri: String
    let headers: HTTPFields
    let body: [UInt8]

    init(seed: UInt64, pages: [FuzzPage], wildness: Double? = nil) {
        var random = SeededGenerator(seed: seed)
        let rule = random.pick(HTTPRule.all)
        var fuzz = MessageFuzz(random, collection: rule.collection, pages: pages, wildness: wildness)
        let message = fuzz.request(ServiceIndex.publicAPI.messages(of: rule.method).request)
        let caller = FuzzCaller(of: rule, &fuzz)

        self.verb = fuzz.isWild() ? fuzz.random.pick(HTTPRule.verbs) : rule.verb
        self.uri = Self.path(rule, message, &fuzz) + Self.query(rule, message, &fuzz)
        var body: [UInt8] =
            switch rule.body {
            case .none: fuzz.isWild() ? Array("{".utf8) : []
            case .everything: message.json().serialized
            case .field(let name): message.member(name)?.json().serialized ?? []
            }
        if fuzz.isWild() { Self.spoil(&body, &fuzz) }
        var headers = HTTPFields()
        headers[values: .authorization] = caller.authorization
        if fuzz.wildness > 0 {
            headers[.acceptEncoding] = fuzz.random.pick([
                nil, nil, "gzip", "gzip;q=0, *", "br;q=1,;,gzip;q=nan", "*;q=1e400",
            ])
            if fuzz.random.below(12) == 0 {
                headers[.contentEncoding] = fuzz.random.pick(["gzip", "gzip", "gzip", "identity", "br", "x-gzip", ""])
                if fuzz.random.below(6) > 0 { body = Gzip.compress(body) ?? [] }
                if fuzz.isWild() { Self.flip(&body, &fuzz) }
            }
        }
        headers[.contentType] = fuzz.random.pick(["application/json", "application/json", "text/plain", nil])
        self.headers = headers
        self.body = body
    }

    private static func path(_ rule: HTTPRule, _ message: FuzzValue, _ fuzz: inout MessageFuzz) -> String {
        var path =
            "/v1/providers/\(fuzz.isWild() ? fuzz.random.pick(["other", "", "%2F", "a%zz"]) : "acme")/\(rule.collection)"
        if rule.hasID {
            let own = message.name(in: rule.body)?.split(separator: "/", maxSplits: 3).last.map { String($0) }
            let id = fuzz.isWild() ? fuzz.random.pick(MessageFuzz.wildIDs) : own ?? fuzz.id(of: rule.collection)
            path += "/" + (fuzz.isWild() ? id : self.encoded(id))
        }
        path += rule.action
        if fuzz.isWild() { path += fuzz.random.pick(["/", "//", ":search", ":", "%", "%C3", "?", "/../x", "#"]) }
        return path
    }

    private static func query(_ rule: HTTPRule, _ message: FuzzValue, _ fuzz: inout MessageFuzz) -> String {
        var parameters: [String] = []
        for (name, field) in rule.query.sorted(by: { $0.key < $1.key }) {
            if let value = message.member(name) { self.add(value, name, field, to: &parameters, &fuzz) }
        }
        if fuzz.isWild() {
            parameters.append(
                fuzz.random.pick([
                    "", "=", "&&", "a=b", "header", "header.=1", "viewport.low.latitude.x=1", "updateMask=%ff", "%",
                    "$alt=json;enum-encoding=int", "$alt=json%3Benum-encoding%3Dint", "pageSize=1&pageSize=2",
                    "header.traceId=+%00+", "view=99999999999", "update_mask=*", "onTripOnly=maybe",
                ]))
        }
        return parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&")
    }

    private static func add(
        _ value: FuzzValue, _ name: String, _ field: QueryField, to parameters: inout [String],
        _ fuzz: inout MessageFuzz
    ) {
        if case .message(let inner) = field.kind {
            for (key, field) in inner.sorted(by: { $0.key < $1.key }) {
                guard let member = value.member(key) else { continue }
                self.add(member, "\(name).\(key)", field, to: &parameters, &fuzz)
            }
            return
        }
        let values: [JSONValue] =
            if case .array(let elements) = value.json() { elements } else { [value.json()] }
        for value in values {
            let text =
                switch value {
                case .string(let text): text
                default: String(decoding: value.serialized, as: UTF8.self)
                }
            parameters.append("\(name)=\(fuzz.isWild() ? text : self.encoded(text))")
        }
    }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    // MARK: - Damage

    private static func flip(_ bytes: inout [UInt8], _ fuzz: inout MessageFuzz) {
        guard !bytes.isEmpty else { return }
        bytes[fuzz.random.below(bytes.count)] ^= 1 << UInt8(fuzz.random.below(8))
    }

    private static func spoil(_ body: inout [UInt8], _ fuzz: inout MessageFuzz) {
        switch fuzz.random.below(8) {
        case 0: body.removeLast(min(body.count, fuzz.random.below(8)))
        case 1:
            let depth = fuzz.random.pick([3, 99, 101, 5000])
            body = Array(
                (String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)).utf8)
        case 2: body = Array(String(repeating: "[", count: fuzz.random.pick([1, 99, 101, 50_000])).utf8)
        case 3:
            body = fuzz.random.pick(["null", "[]", "\"a\"", "1e400", "-", "{\"a\":}", "{,}", "\u{FEFF}{}", "{}{}", " "])
                .utf8
                .map { $0 }
        case 4: body.insert(contentsOf: #"{"name":1,"name":2,"@type":"x","nobody":{}}"#.utf8, at: 0)
        case 5: body += [0xFF, 0xC0, 0x80]
        default: self.flip(&body, &fuzz)
        }
    }
}

extension FuzzValue {
    /// The name that a request addresses, which those for scheduled tasks have within what is changed.
    fileprivate func name(in body: HTTPRule.Body) -> String? {
        if case .text(let name)? = self.member("name") { return name }
        guard case .field(let field) = body, case .text(let name)? = self.member(field)?.member("name")
        else { return nil }
        return name
    }
}
