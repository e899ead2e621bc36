// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import SwiftProtobuf

/// What the .proto files declare, for reflection.
struct ServiceIndex: Sendable {
    /// The full name of every service.
    let services: Set<String>
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
        for file in set.file {
            for name in file.messageType.flatMap({ Self.names(in: $0, of: file.package) }) {
                declaring[name] = file.name
            }
            for type in file.enumType { declaring["\(file.package).\(type.name)"] = file.name }
            for service in file.service {
                let name = "\(file.package).\(service.name)"
                services.insert(name)
                declaring[name] = file.name
                for method in service.method { declaring["\(name).\(method.name)"] = file.name }
            }
        }
        self.services = services
        self.files = Dictionary(set.file.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        self.declaring = declaring
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

    private static func names(in message: Google_Protobuf_DescriptorProto, of scope: String) -> [String] {
        let name = "\(scope).\(message.name)"
        return [name] + message.enumType.map { "\(name).\($0.name)" }
            + message.nestedType.flatMap { self.names(in: $0, of: name) }
    }
}
