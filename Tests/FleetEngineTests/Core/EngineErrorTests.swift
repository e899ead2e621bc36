// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import FleetEngine

@Suite struct EngineErrorTests {
    @Test(arguments: ["a", "\u{e9}", "\u{20ac}", "\u{1f600}", "x\u{301}\u{301}"])
    func `a text that is too long is cut behind a whole scalar`(piece: String) {
        let long = String(repeating: piece, count: 5000)
        let error = EngineError.invalidArgument(long, field: long)
        for text in [error.message, error.metadata["field"] ?? ""] {
            #expect((994...1000).contains(text.utf8.count))
            #expect(text.unicodeScalars.last == "\u{2026}")
            #expect(long.unicodeScalars.starts(with: text.unicodeScalars.dropLast()))
        }
    }

    @Test func `a text that is not too long stays as it is`() {
        let text = String(repeating: "x", count: 1000)
        #expect(EngineError.invalidArgument(text).message == text)
    }

    @Test func `the message is the localized description`() {
        let error: any Error = EngineError(code: .notFound, reason: "TRIP_PURGED", message: "The trip is gone.")
        #expect(error.localizedDescription == "The trip is gone.")
    }
}
