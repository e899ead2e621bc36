// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct JSONTimesTests {
    /// Both ends of what is allowed, what is next to them, and more between and beyond.
    private static let seconds: [Int64] =
        [-315_576_000_000, -62_135_596_800, -86_400, 0, 951_782_400, 1_709_164_800, 253_402_300_799, 315_576_000_000]
        .flatMap { [$0 - 1, $0, $0 + 1] } + [.min, .max]
    private static let nanos: [Int32] =
        [0, 1, 999, 1_000, 90_000, 1_000_000, 500_000_000, 999_999_999, 1_000_000_000, .max]
        .flatMap { [$0, -$0] } + [.min]

    private static func pairs() -> [(seconds: Int64, nanos: Int32)] {
        var random = SeededGenerator(seed: 7)
        let bounds = Self.seconds.flatMap { seconds in Self.nanos.map { (seconds, $0) } }
        let between = (0..<5000).map { number in
            (Int64.random(in: -62_135_596_800...253_402_300_799, using: &random), Self.nanos[number % Self.nanos.count])
        }
        return bounds + between
    }

    private static func text(_ append: (inout [UInt8]) throws -> Void) -> String? {
        var json: [UInt8] = [0x2C]
        do { try append(&json) } catch { return nil }
        return String(decoding: json, as: UTF8.self)
    }

    private static func libraryText(_ message: some Message) -> String? {
        (try? message.jsonString()).map { "," + $0 }
    }

    /// Compares what is appended with the library's text, for all pairs, those that neither writes included.
    private static func expectSame<Value: Message>(
        _ make: (_ seconds: Int64, _ nanos: Int32) -> Value, _ append: (inout [UInt8], Value) throws -> Void
    ) {
        var written = 0
        for (seconds, nanos) in Self.pairs() {
            let value = make(seconds, nanos)
            let text = Self.text { try append(&$0, value) }
            #expect(text == Self.libraryText(value), "\(seconds) s, \(nanos) ns")
            if text != nil { written += 1 }
        }
        #expect(written > 2000)
    }

    @Test func `a time is written as the library writes it`() {
        Self.expectSame(Google_Protobuf_Timestamp.init(seconds:nanos:)) { try $0.append($1) }
    }

    @Test func `a duration is written as the library writes it`() {
        Self.expectSame(Google_Protobuf_Duration.init(seconds:nanos:)) { try $0.append($1) }
    }

    @Test(arguments: [0, -1, 42, Int32.min, Int32.max])
    func `a number is written as the library writes it`(value: Int32) {
        let number = Google_Protobuf_Int32Value(value)
        #expect(Self.text { $0.append(number) } == Self.libraryText(number))
    }
}
