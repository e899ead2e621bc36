// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTestSupport
import Foundation
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct MessageImageTests {
    private static func image(_ message: some Message, leavingOut omitted: [Int] = []) -> [UInt8]? {
        MessageImage.bytes(of: message, leavingOut: omitted, expecting: 1024)
    }

    @Test func `two messages have one image if they have one binary form`() throws {
        var equal = 0
        var different = 0
        for seed in 0..<3000 as Range<UInt64> {
            var fuzz = MessageFuzz(SeededGenerator(seed: seed), collection: "trips", pages: [])
            var bytes: [UInt8] = []
            fuzz.message(Trip.protoMessageName, depth: 0).append(to: &bytes)
            guard let trip = try? Trip(serializedBytes: bytes), !bytes.isEmpty else { continue }
            bytes[fuzz.random.below(bytes.count)] ^= 1 << UInt8(fuzz.random.below(8))
            guard let other = try? Trip(serializedBytes: bytes) else { continue }
            let isEqual = try trip.serializedBytes() as [UInt8] == other.serializedBytes()
            if isEqual { equal += 1 } else { different += 1 }
            #expect((Self.image(trip) == Self.image(other)) == isEqual, "seed \(seed)")
            #expect(Self.image(trip) == Self.image(try Trip(serializedBytes: trip.serializedBytes() as [UInt8])))
        }
        #expect(different > 500)
        #expect(equal > 0)
    }

    @Test func `each kind of field is told by its number, its value and where it ends`() throws {
        let aggregate = Google_Protobuf_UninterpretedOption.with { $0.aggregateValue = "ab" }
        let imitation = Data(try #require(Self.image(aggregate)))
        let options: [Google_Protobuf_UninterpretedOption] = [
            .init(), .with { $0.positiveIntValue = 1 }, .with { $0.positiveIntValue = 2 },
            .with { $0.negativeIntValue = 1 }, .with { $0.negativeIntValue = 2 },
            .with { $0.doubleValue = Double(bitPattern: 1) }, .with { $0.doubleValue = Double(bitPattern: 2) },
            .with { $0.stringValue = Data("ab".utf8) }, .with { $0.stringValue = Data("ac".utf8) },
            .with { $0.identifierValue = "ab" }, .with { $0.identifierValue = "ac" },
            aggregate, .with { $0.stringValue = imitation },
            .with {
                $0.identifierValue = "a"
                $0.aggregateValue = "b"
            },
            .with {
                $0.stringValue = Data("a".utf8)
                $0.aggregateValue = "b"
            },
        ]
        for (index, option) in options.enumerated() {
            let alike = options.indices.filter { Self.image(options[$0]) == Self.image(option) }
            #expect(alike == [index])
        }
    }

    @Test func `a field within a message is not one behind it`() {
        let choice = Google_Protobuf_EnumDescriptorProto.with { $0.name = "Choice" }
        let within = Google_Protobuf_DescriptorProto.with { $0.nestedType = [.with { $0.enumType = [choice] }] }
        let behind = Google_Protobuf_DescriptorProto.with {
            $0.nestedType = [.init()]
            $0.enumType = [choice]
        }
        #expect(Self.image(within) != nil && Self.image(within) != Self.image(behind))
    }

    @Test func `a field that is left out is one of the message itself`() {
        func stop(at latitude: Double, trip: String = "a") -> TripWaypoint {
            .with {
                $0.location.point.latitude = latitude
                $0.tripID = trip
            }
        }
        #expect(Self.image(stop(at: 1)) != Self.image(stop(at: 2)))
        #expect(Self.image(stop(at: 1), leavingOut: [1]) == Self.image(stop(at: 2), leavingOut: [1]))
        #expect(Self.image(stop(at: 1), leavingOut: [1]) != Self.image(stop(at: 1, trip: "b"), leavingOut: [1]))
        // The place of a stop has its point in its own field 1.
        let vehicles = [1, 2].map { latitude in Vehicle.with { $0.waypoints = [stop(at: latitude)] } }
        #expect(Self.image(vehicles[0], leavingOut: [1]) != Self.image(vehicles[1], leavingOut: [1]))
    }

    @Test func `a message with a map has no image`() {
        let message = Google_Protobuf_Struct(fields: ["a": .init(numberValue: 1)])
        #expect(Self.image(message) == nil)
        #expect(Self.image(Google_Protobuf_Struct()) == [])
    }
}
