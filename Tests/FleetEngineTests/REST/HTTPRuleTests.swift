// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

@testable import FleetEngine

@Suite struct HTTPRuleTests {
    @Test func `every method has one row, and no two rows share verb and path`() {
        #expect(HTTPRule.all.map(\.method.rawValue).sorted() == FleetMethod.allCases.map(\.rawValue).sorted())
        #expect(Set(HTTPRule.all.map { "\($0.verb) \($0.path)" }).count == HTTPRule.all.count)
    }

    @Test(.enabled(if: WireContract.isAvailable, "the published contract is not at hand"))
    func `a query binds every field of the contract that neither path nor body takes`() throws {
        let contract = try WireContract.load()
        for rule in HTTPRule.all {
            var expected: [String: WireContract.Field] = [:]
            switch rule.body {
            case .everything: break
            case .none, .field:
                expected = try contract.message(contract.requestName(of: rule.method)).fields
                expected["name"] = nil
                expected["parent"] = nil
                if case .field(let body) = rule.body {
                    expected = expected.filter { WireContract.camelCase($0.key) != body }
                }
            }
            try Self.compare(rule.query, with: expected, contract, at: rule.method.name)
        }
    }

    private static func compare(
        _ query: [String: QueryField], with expected: [String: WireContract.Field], _ contract: WireContract,
        at place: String
    ) throws {
        #expect(query.keys.sorted() == expected.keys.map(WireContract.camelCase).sorted(), "\(place)")
        for (name, field) in expected {
            let name = WireContract.camelCase(name)
            guard let bound = query[name] else { continue }
            #expect(bound.isRepeated == (field.repeated ?? false), "\(place).\(name)")
            switch (bound.kind, field.type) {
            case (.flag, "bool"), (.mask, "google.protobuf.FieldMask"),
                (.text, "string"), (.text, "int32"), (.text, "double"), (.text, "google.protobuf.Timestamp"),
                (.text, "google.protobuf.Duration"), (.text, "google.protobuf.Int32Value"):
                break
            case (.enumeration, _):
                let isEnumeration = contract.hasEnumeration(field.type)
                #expect(isEnumeration, "\(place).\(name)")
            case (.message(let inner), _):
                try self.compare(inner, with: contract.message(field.type).fields, contract, at: "\(place).\(name)")
            default: Issue.record("\(place).\(name) of type \(field.type) is bound as \(bound.kind)")
            }
        }
    }
}

/// The published contract of the API in the shared folder beside the package.
struct WireContract: Decodable {
    struct Field: Decodable {
        let type: String
        let repeated: Bool?
    }
    struct Message: Decodable {
        var fields: [String: Field]
        fileprivate let messages: [String: Message]?
        fileprivate let enums: [String: Enumeration]?
    }
    fileprivate struct Enumeration: Decodable {}
    private struct RPC: Decodable {
        let request: String
    }
    private struct File: Decodable {
        let package: String
        let messages: [String: Message]
        let enums: [String: Enumeration]?
        let services: [String: [String: RPC]]?
    }
    private struct Unknown: Error {
        let name: String
    }

    private let files: [String: File]

    private static let url = URL(filePath: #filePath).appending(path: "../../../../../shared/spec/wire-contract.json")
        .standardized

    static var isAvailable: Bool { FileManager.default.fileExists(atPath: self.url.path) }

    static func load() throws -> Self {
        try JSONDecoder().decode(Self.self, from: Data(contentsOf: self.url))
    }

    func requestName(of method: FleetMethod) throws -> String {
        let parts = method.rawValue.split(separator: "/")
        let service = String(parts[0].split(separator: ".").last ?? "")
        for file in self.files.values {
            if let rpc = file.services?[service]?[String(parts[1])] { return rpc.request }
        }
        throw Unknown(name: method.rawValue)
    }

    func message(_ name: String) throws -> Message {
        for file in self.files.values where name.hasPrefix(file.package + ".") {
            if let message = file.messages[String(name.dropFirst(file.package.count + 1))] { return message }
        }
        throw Unknown(name: name)
    }

    func hasEnumeration(_ name: String) -> Bool {
        self.files.values.contains { file in
            guard name.hasPrefix(file.package + ".") else { return false }
            var (messages, enums) = (Optional(file.messages), file.enums)
            let path = name.dropFirst(file.package.count + 1).split(separator: ".").map(String.init)
            for part in path.dropLast() { (messages, enums) = (messages?[part]?.messages, messages?[part]?.enums) }
            return path.last.flatMap { enums?[$0] } != nil
        }
    }

    static func camelCase(_ name: String) -> String {
        let words = name.split(separator: "_")
        return words.prefix(1).joined() + words.dropFirst().map(\.capitalized).joined()
    }
}
