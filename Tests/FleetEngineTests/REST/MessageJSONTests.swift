// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Testing

@testable import FleetEngine

@Suite struct MessageJSONTests {
    private static func vehicle(naming text: String) throws(EngineError) -> Vehicle {
        try MessageJSON.read(
            Array(#"{"attributes":[{"key":"name","value":"\#(text)"}],"vehicleState":"ONLINE"}"#.utf8), at: "The body")
    }

    private static func name(_ vehicle: Vehicle) -> [Unicode.Scalar]? {
        vehicle.attributes.first.map { Array($0.value.unicodeScalars) }
    }

    @Test(
        arguments: [
            ("\\ud842\\udfb7", "\u{20BB7}"), ("\\uDB40\\uDD00", "\u{E0100}"), ("\\udbff\\udfff", "\u{10FFFF}"),
            ("\\ud83D\\uDe00", "\u{1F600}"), ("\\ud800\\udc00", "\u{10000}"), ("\\u91ce", "野"),
        ] as [(String, Unicode.Scalar)])
    func `a character is the same one, escaped or not`(escaped: String, plain: Unicode.Scalar) throws {
        for (before, after) in [("", ""), ("\\\\", "\\\\"), ("\\n\\\"", "野家"), (escaped, escaped)] {
            let read = try Self.vehicle(naming: before + escaped + after)
            #expect(read == (try Self.vehicle(naming: before + String(plain) + after)))
            #expect(Self.name(read)?.contains(plain) == true)
        }
    }

    @Test func `an escaped backslash escapes nothing more`() throws {
        #expect(Self.name(try Self.vehicle(naming: #"\\ud842\\udfb7"#)) == Array(#"\ud842\udfb7"#.unicodeScalars))
        #expect(Self.name(try Self.vehicle(naming: #"\\\ud842\udfb7"#)) == ["\\", "\u{20BB7}"])
        #expect(Self.name(try Self.vehicle(naming: #"\\\\ud842"#)) == Array(#"\\ud842"#.unicodeScalars))
    }

    @Test(
        arguments: [
            #"\ud842"#, #"\udfb7"#, #"\ud842x"#, #"\ud842\\udfb7"#, #"\udfb7\ud842"#, #"\ud842\ud842\udfb7"#,
            #"\ud842\ud842"#, #"\ud842\udfb"#, #"\ud842\udfbg"#, #"\ud842\n"#, #"\ud842\Udfb7"#,
        ])
    func `half a pair is refused`(text: String) {
        let error = #expect(throws: EngineError.self) { try Self.vehicle(naming: text) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message == "The body is not well-formed JSON of its message.")
    }

    @Test func `JSON that ends in the midst of an escape is refused`() {
        let whole = Array(#"{"attributes":[{"key":"\ud842\udfb7"#.utf8)
        for count in 1...whole.count {
            let error = #expect(throws: EngineError.self) {
                let _: Vehicle = try MessageJSON.read(Array(whole.prefix(count)), at: "The body")
            }
            #expect(error?.code == .invalidArgument)
        }
    }
}
