// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokens
import GRPCCore
import GRPCProtobuf
import SwiftProtobuf

@testable import FleetEngine

/// A gRPC request that is almost right, made from its seed.
struct RPCFuzz {
    let method: FleetMethod
    let metadata: Metadata
    let message: [UInt8]

    init(seed: UInt64, pages: [FuzzPage], wildness: Double? = nil) {
        var random = SeededGenerator(seed: seed)
        let rule = random.pick(HTTPRule.all)
        var fuzz = MessageFuzz(random, collection: rule.collection, pages: pages, wildness: wildness)
        let value = fuzz.request(ServiceIndex.publicAPI.messages(of: rule.method).request)
        let caller = FuzzCaller(of: rule, &fuzz)
        var bytes: [UInt8] = []
        value.append(to: &bytes)
        if fuzz.isWild() { Self.spoil(&bytes, &fuzz) }
        var metadata = Metadata()
        for value in caller.authorization { metadata.addString(value, forKey: "authorization") }
        self.method = rule.method
        self.metadata = metadata
        self.message = bytes
    }

    private static func spoil(_ bytes: inout [UInt8], _ fuzz: inout MessageFuzz) {
        switch fuzz.random.below(7) {
        case 0: bytes.removeLast(min(bytes.count, fuzz.random.below(8)))
        case 1:
            // A field that no message has, or one of another type.
            let key = UInt64(1 + fuzz.random.below(40)) << 3
            FuzzValue.append([0x80, 0x80, 0x80], key, to: &bytes)
        case 2: bytes += [UInt8](repeating: 0x0B, count: fuzz.random.pick([1, 99, 101, 5000]))
        case 3: FuzzValue.append(varint: fuzz.random.next() >> UInt64(fuzz.random.below(64)), to: &bytes)
        case 4: bytes = (0..<fuzz.random.below(64)).map { _ in UInt8(truncatingIfNeeded: fuzz.random.next()) }
        case 5: bytes += bytes
        default:
            guard !bytes.isEmpty else { return }
            bytes[fuzz.random.below(bytes.count)] ^= 1 << UInt8(fuzz.random.below(8))
        }
    }
}

/// Calls the gRPC adapter below its transport: bytes in, bytes out.
struct RPCEntry: Sendable {
    /// Gives the answer's bytes.
    let call: @Sendable (GRPCAdapter, Metadata, [UInt8]) async throws -> [UInt8]
    /// Whether an answer's bytes say what an answer in JSON says.
    let isSame: @Sendable (_ bytes: [UInt8], _ json: [UInt8]) throws -> Bool

    /// Every method.
    static let all: [FleetMethod: RPCEntry] = Dictionary(
        uniqueKeysWithValues: [
            Self.entry(GetVehicle.self), Self.entry(ListVehicles.self), Self.entry(SearchVehicles.self),
            Self.entry(CreateVehicle.self), Self.entry(UpdateVehicle.self), Self.entry(UpdateVehicleAttributes.self),
            Self.entry(DeleteVehicle.self), Self.entry(GetTrip.self), Self.entry(SearchTrips.self),
            Self.entry(CreateTrip.self), Self.entry(UpdateTrip.self), Self.entry(DeleteTrip.self),
            Self.entry(ReportBillableTrip.self), Self.entry(GetDeliveryVehicle.self),
            Self.entry(ListDeliveryVehicles.self), Self.entry(CreateDeliveryVehicle.self),
            Self.entry(UpdateDeliveryVehicle.self), Self.entry(DeleteDeliveryVehicle.self), Self.entry(GetTask.self),
            Self.entry(ListTasks.self), Self.entry(GetTaskTrackingInfo.self), Self.entry(CreateTask.self),
            Self.entry(BatchCreateTasks.self), Self.entry(UpdateTask.self), Self.entry(DeleteTask.self),
        ])

    private static func entry<Call: EngineCall>(_ call: Call.Type) -> (FleetMethod, RPCEntry) {
        let entry = RPCEntry(
            call: { adapter, metadata, bytes in
                let message = try ProtobufDeserializer<Call.Request>().deserialize(bytes)
                let response = try await adapter.perform(call, ServerRequest(metadata: metadata, message: message))
                return try ProtobufSerializer<Call.Response>().serialize(try response.message)
            },
            isSame: { bytes, json in
                try Call.Response(serializedBytes: bytes).isEqualTo(message: Call.Response(jsonUTF8Bytes: json))
            })
        return (Call.method, entry)
    }
}
