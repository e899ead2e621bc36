// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// Sends marked secrets through everything that can be printed and looks for them in the print.
@Suite struct SecretsTests {
    private static let credential = "MARKED-CREDENTIAL-5f1d"

    private static func everyPrint(of value: some Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return [String(describing: value), String(reflecting: value), "\(value)", dumped].joined(separator: "\n")
    }

    @Test func `no error, event or request shows a token or a credential`() async throws {
        let server = try #require(URL(string: "https://t.example"))
        let endpoint = try TokenEndpoint.fleetpass(server)
        let subject = TokenSubject.driver(try VehicleID(checking: "veh-3"))
        let right = TestTokens.token(for: subject)
        let wrong = TestTokens.token(for: .fleetReader)
        func body(_ text: String) -> StubTransport.Answer {
            .response(
                HTTPTransportResponse(status: 200, headers: [("Set-Cookie", Self.credential)], body: Data(text.utf8)))
        }
        let echo = HTTPTransportResponse(status: 403, body: Data(right.compactSerialization.utf8))
        let script: [StubTransport.Answer] = [
            body(#"{"jwt":"\#(right.compactSerialization)","expires_in":3300}"#),
            body(#"{"jwt":"\#(wrong.compactSerialization)","expires_in":3300}"#),
            body(#"{"jwt":"\#(right.compactSerialization)","expires_in":"\#(Self.credential)"}"#),
            body(#"{"jwt":"\#(Self.credential)","expires_in":3300}"#),
            body(#"{"\#(Self.credential)":1,"\#(Self.credential)":2}"#),
            body(right.compactSerialization),
            .response(echo),
            body(#"{"jwt":"\#(right.compactSerialization)","expires_in":0}"#),
        ]
        let transport = StubTransport(script)
        let clock = ManualClock()
        let provider = try FleetTokenProvider(endpoint: endpoint, transport: transport, clock: clock) {
            [(name: "Authorization", value: Self.credential)]
        }
        let events = provider.events(bufferingNewest: 1000)
        var prints = [Self.everyPrint(of: endpoint), Self.everyPrint(of: TokenGrant(token: right, life: .seconds(1)))]
        var failures = 0
        for _ in script {
            do {
                let token = try await provider.token(for: subject)
                prints.append(Self.everyPrint(of: token))
                provider.invalidate(token, for: subject)
            } catch {
                failures += 1
                prints.append(Self.everyPrint(of: error))
            }
            clock.advance(by: .seconds(61))
        }
        #expect(failures == script.count - 1)
        prints += transport.requests.map { Self.everyPrint(of: $0) }
        prints.append(Self.everyPrint(of: transport.requests))
        prints.append(Self.everyPrint(of: echo))
        prints.append(Self.everyPrint(of: provider))
        for _ in 0..<script.count {
            for await event in events {
                prints.append(Self.everyPrint(of: event))
                break
            }
        }
        let text = prints.joined(separator: "\n")
        #expect(text.contains(right.fingerprint), "the fingerprint is what may be shown")
        #expect(!text.contains(Self.credential))
        for token in [right, wrong] {
            for part in token.compactSerialization.split(separator: ".") { #expect(!text.contains(part)) }
        }
    }

    @Test func `a request shows its address without the query`() throws {
        let request = HTTPTransportRequest(
            url: try #require(URL(string: "https://t.example/token?key=\(Self.credential.filter(\.isLetter))")))
        var dumped = ""
        dump(request, to: &dumped)
        for text in ["\(request)", String(reflecting: request), dumped] {
            #expect(text.contains("GET https://t.example/token [") && !text.contains("key="))
        }
    }
}
