// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetSigning
import FleetTokens
import Foundation
import Logging
import SwiftProtobuf
import Testing

@testable import FleetEngine

@Suite struct TokenVerifyingTests {
    /// Refuses every token for one reason until it is asked for the key.
    private final class LearningVerifier: TokenVerifying {
        private let reason: TokenRefusal.Reason
        private let questions = Locked(0)

        init(_ reason: TokenRefusal.Reason) { self.reason = reason }

        var asked: Int { self.questions.withLock { $0 } }

        func verify(_ token: String, at now: Date) throws(TokenRefusal) -> ExaminedToken {
            guard self.asked > 0 else { throw .unauthenticated(self.reason, "It is refused.", fix: "Ask.") }
            return try TextVerifier().verify(token, at: now)
        }

        func learnKey(of token: String) async -> KeyLookup {
            self.questions.withLock { $0 += 1 }
            return .found
        }
    }

    @Test func `a key is asked for where none is known, or another account's alone, and for nothing else`() async {
        let reasons: [(TokenRefusal.Reason, Bool)] = [
            (.keyUnknown, true), (.issuerMismatch, true), (.signatureInvalid, false), (.tokenExpired, false),
        ]
        for (reason, isKeyLacking) in reasons {
            let verifier = LearningVerifier(reason)
            let engine = Engine(store: MemoryStore(), verifier: verifier)
            #expect(await engine.isGood(serverToken) == isKeyLacking)
            #expect(verifier.asked == (isKeyLacking ? 1 : 0))
        }
    }

    /// Knows no key, and cannot find out.
    private struct CutOffVerifier: TokenVerifying {
        func verify(_ token: String, at now: Date) throws(TokenRefusal) -> ExaminedToken {
            throw .unauthenticated(.keyUnknown, "The key is not known.", fix: "Sign with another.")
        }

        func learnKey(of token: String) async -> KeyLookup { .unavailable }
    }

    @Test(arguments: WireSetup.Adapter.allCases)
    func `where a token's key cannot be had now its caller may come again, and is no refused one`(
        adapter: WireSetup.Adapter
    ) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jsonl")
        defer { try? FileManager.default.removeItem(at: path) }
        let recorder = try CallRecorder(
            appendingTo: path.path(percentEncoded: false), logger: Logger(label: "test"))
        let metrics = EngineMetrics()
        let engine = Engine(store: MemoryStore(), verifier: CutOffVerifier(), recorder: recorder, metrics: metrics)
        let good = try await Self.token(at: Date())
        let failures = try await WireSetup(adapter: adapter, store: .memory).withClient(of: engine) { client in
            let get = WireCall.getVehicle(.with { $0.name = "providers/acme/vehicles/veh-1" })
            let unreadable = WireCall.getVehicle(.with { $0.name = "providers/acme/vehicles/v:1" })
            return try await [
                client.failure(of: get, authorization: "Bearer \(good)"),
                client.failure(of: unreadable, authorization: "Bearer \(good)"),
            ]
        }
        #expect(metrics.text().contains("fleetpass_engine_refusals_total{reason=\"KEYS_UNAVAILABLE\"} 2\n"))
        for failure in failures {
            #expect(failure?.status == "UNAVAILABLE" && failure?.reason == "KEYS_UNAVAILABLE")
            #expect(failure?.message.contains("Come again") == true)
        }
        #expect(engine.activity.snapshot().refusals.isEmpty)
        #expect(recorder.bytesWaiting == 0)
        recorder.finish()
        try await recorder.run()
    }

    /// A token of a key that nobody knows.
    private static func token(at time: Date) async throws -> String {
        let key = try ServiceAccountKey(generatingFor: "backend@acme", projectID: "acme")
        return try await TokenMinter(signer: try LocalSigner(key)).mint(TokenType.server.claims, at: time).token
            .compactSerialization
    }

    @Test func `what no key would mend is told though the keys cannot be had`() async throws {
        let engine = Engine(store: MemoryStore(), verifier: CutOffVerifier())
        let tokens = [("a.b.c", "TOKEN_MALFORMED"), (try await Self.token(at: Date() - 86_400), "TOKEN_TOO_OLD")]
        for (token, reason) in tokens {
            let failure = try await DirectWire(engine: engine).failure(
                of: .getVehicle(.with { $0.name = "providers/acme/vehicles/veh-1" }), authorization: "Bearer \(token)")
            #expect(failure?.status == "UNAUTHENTICATED" && failure?.reason == reason, "\(String(describing: failure))")
        }
    }
}
