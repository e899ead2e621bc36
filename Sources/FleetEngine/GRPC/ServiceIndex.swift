// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import SwiftProtobuf

/// What the .proto files declare: for reflection, and for reading and writing logs of calls.
struct ServiceIndex: Sendable {
    /// The full name of every service.
    let services: Set<String>
    /// Every message, by its full name.
    let messages: [String: Google_Protobuf_DescriptorProto]
    /// Every enumeration, by its full name.
    let enumerations: [String: Google_Protobuf_EnumDescriptorProto]
    /// Every method, by its full name with a slash, as gRPC paths have it.
    let methods: [String: Google_Protobuf_MethodDescriptorProto]
    private let files: [String: Google_Protobuf_FileDescriptorProto]
    /// The file of each full name: messages, enumerations, services and methods.
    private let declaring: [String: String]

    /// What the engine serves over gRPC.
    static let publicAPI = Self(serialized: PackageResources.services_binpb)

    /// Reads a serialized `FileDescriptorSet` that includes what its files import.
    init(serialized bytes: [UInt8]) {
        let set = (try? Google_Protobuf_FileDescriptorSet(serializedBytes: bytes)) ?? .init()
        var services: Set<String> = []
        var declaring: [String: String] = [:]
        var declared = Declared()
        var methods: [String: Google_Protobuf_MethodDescriptorProto] = [:]
        for file in set.file {
            var own = Declared()
            own.add(file.messageType, file.enumType, of: file.package)
            for name in [String](own.messages.keys) + own.enumerations.keys { declaring[name] = file.name }
            declared.messages.merge(own.messages) { $1 }
            declared.enumerations.merge(own.enumerations) { $1 }
            for service in file.service {
                let name = "\(file.package).\(service.name)"
                services.insert(name)
                declaring[name] = file.name
                for method in service.method {
                    declaring["\(name).\(method.name)"] = file.name
                    methods["\(name)/\(method.name)"] = method
                }
            }
        }
        self.services = services
        self.messages = declared.messages
        self.enumerations = declared.enumerations
        self.methods = methods
        self.files = Dictionary(set.file.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        self.declaring = declaring
    }

    /// The full names of the request and response messages of a method.
    func messages(of method: FleetMethod) -> (request: String, response: String) {
        let method = self.methods[method.rawValue]
        func fullName(_ name: String?) -> String { String((name ?? "").drop { $0 == "." }) }
        return (fullName(method?.inputType), fullName(method?.outputType))
    }

    /// The file with what it imports, directly or not, serialized; nothing for an unknown one.
    func file(named name: String) -> [[UInt8]] {
        var found: [[UInt8]] = []
        var seen: Set<String> = []
        var wanted = [name]
        while let next = wanted.popLast() {
            guard seen.insert(next).inserted, let file = self.files[next],
                let bytes: [UInt8] = try? file.serializedBytes()
            else { continue }
            found.append(bytes)
            wanted += file.dependency
        }
        return found
    }

    /// The file that declares a full name, with what it imports; nothing for an unknown one.
    func file(declaring symbol: String) -> [[UInt8]] {
        self.declaring[symbol].map { self.file(named: $0) } ?? []
    }

    /// Messages and enumerations, nested ones included.
    private struct Declared {
        var messages: [String: Google_Protobuf_DescriptorProto] = [:]
        var enumerations: [String: Google_Protobuf_EnumDescriptorProto] = [:]

        mutating func add(
            _ messages: [Google_Protobuf_DescriptorProto], _ enumerations: [Google_Protobuf_EnumDescriptorProto],
            of scope: String
        ) {
            for type in enumerations { self.enumerations["\(scope).\(type.name)"] = type }
            for message in messages {
                let name = "\(scope).\(message.name)"
                self.messages[name] = message
                self.add(message.nestedType, message.enumType, of: name)
            }
        }
    }
}

extension Google_Protobuf_FieldDescriptorProto {
    /// The name of the field's type without the dot that descriptors put before it.
    var fullTypeName: String { String(self.typeName.drop { $0 == "." }) }
}
