// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import Foundation
import Logging
import SwiftProtobuf
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

    @Test func `a fault of the engine's own is told of every ten seconds at most`() async throws {
        let (log, clock) = (RecordedLog(), TestClock(TestClock.start))
        let engine = Engine(
            store: FaultyStore(store: MemoryStore()), verifier: TextVerifier(), logger: log.logger, now: { clock.now })
        func fail(_ times: Int) async {
            for _ in 0..<times {
                let error = await #expect(throws: EngineError.self) {
                    try await engine.perform(
                        GetVehicle.self, .with { $0.name = "providers/acme/vehicles/veh-1" }, token: serverToken)
                }
                #expect(error?.code == .internalError)
            }
        }
        await fail(100)
        #expect(log.messages(at: .error) == ["A call failed for a reason of the engine's own"])
        clock.advance(by: 10)
        await fail(2)
        #expect(log.messages(at: .error).count == 2)
    }

    @Test func `the message is the localized description`() {
        let error: any Error = EngineError(code: .notFound, reason: "TRIP_PURGED", message: "The trip is gone.")
        #expect(error.localizedDescription == "The trip is gone.")
    }
}

/// A store that fails for no reason of its database.
private struct FaultyStore: StoreAround {
    struct Broken: Error {}

    let store: any EngineStore

    func read<Result: Sendable>(
        _ body: @escaping @Sendable (any EngineReader) throws -> Result
    ) async throws -> Result {
        throw Broken()
    }
}
