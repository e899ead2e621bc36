// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Testing

@testable import FleetTokenServer

extension FuzzTests {
    /// Keeps what it is asked for, and grants nothing, as signing would take most of the time.
    private final class RecordingPolicy: TokenPolicy {
        private let last = Locked<TokenType?>(nil)

        /// The token that was asked for since this was read.
        var asked: TokenType? {
            self.last.withLock { last in
                defer { last = nil }
                return last
            }
        }

        func decide(_ type: TokenType, for caller: Caller, at time: Date) -> PolicyDecision {
            self.last.withLock { $0 = type }
            return .refused(rule: nil, reason: "nothing is granted")
        }
    }

    private static let members = [
        "role", "vehicle", "trip", "delivery_vehicle", "task", "tracking", "Role", "roles", "vehicle ", "a/b~c", "",
    ]
    private static let bodies: [JSONObject] = [
        ["role": .string("driver"), "vehicle": .string("veh-1")],
        ["role": .string("consumer"), "trip": .string("trip-1")],
        ["role": .string("delivery_untrusted_driver"), "delivery_vehicle": .string("dv-1")],
        [
            "role": .string("delivery_trusted_driver"), "delivery_vehicle": .string("dv-1"),
            "task": .string("task-1"),
        ],
        ["role": .string("delivery_consumer"), "tracking": .string("shp-1")],
        ["role": .string("fleet_reader")], ["role": .string("delivery_fleet_reader")],
    ]
    private static let words = [
        "driver", "consumer", "delivery_consumer", "fleet_reader", "server", "delivery_server", "ondemand_admin", "*",
        "DRIVER", "veh-1", "a/b", "..", "%2A", "\u{0}", "\u{FF0A}", "é", "e\u{301}", "\u{202E}",
        String(repeating: "a", count: 64), String(repeating: "a", count: 65),
    ]

    /// A body that is nearly one, with the headers that it comes with.
    private static func post(_ random: inout SplitMix) -> (headers: HTTPFields, body: [UInt8]) {
        func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }
        var object = Self.bodies[below(Self.bodies.count)]
        for _ in 0..<below(3) {
            let name = Self.members[below(Self.members.count)]
            if below(2) == 0 {
                object[name] = .string(Self.words[below(Self.words.count)])
            } else {
                JSONFuzz.change(&object, names: [name], using: &random)
            }
        }
        var body = JSONValue.object(object).serialized
        switch below(12) {
        case 0...2:
            let text = String(decoding: body, as: UTF8.self)
            body = Array(ByteFuzz.change(text, alphabet: Array(#"{}[]",:\*0u"#.utf8), using: &random).utf8)
        case 3: body += body
        case 4 where below(20) == 0: body += [UInt8](repeating: UInt8(ascii: " "), count: APIBody.maximumBytes)
        case 5 where below(20) == 0: body = [UInt8](repeating: UInt8(ascii: "["), count: APIBody.maximumBytes)
        case 6: body[below(body.count)] = UInt8(truncatingIfNeeded: random.next())
        default: break
        }
        var headers: HTTPFields = [:]
        let types = [
            "application/json", "Application/JSON ; charset=utf-8", "text/plain", "", ";", "application/json,a",
        ]
        headers[.contentType] = below(20) > 0 ? types[0] : types[below(types.count)]
        if below(60) == 0 { headers[.contentEncoding] = ["gzip", "identity", ""][below(3)] }
        return (headers, body)
    }

    @Test func `whatever is posted for a token, it asks for one id that can be one, or it is a problem`() async throws {
        let policy = RecordingPolicy()
        let router = Router(context: FuzzContext.self)
        TokenRoutes(
            desk: TokenDesk(
                issuer: TokenIssuer(minters: [:]), authenticator: OpenAuthenticator(), policy: policy,
                logger: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() }),
            publishedKeys: { [] }
        ).add(to: router)
        let responder = router.buildResponder()
        let context = FuzzContext(source: FuzzContext.Source(logger: Logger(label: "fuzz")))
        var counts: [Int: Int] = [:]
        for seed in Self.seeds {
            var random = SplitMix(seed)
            let (headers, body) = Self.post(&random)
            let head = HTTPRequest(
                method: .post, scheme: "https", authority: "tokens.example", path: "/v1/tokens", headerFields: headers)
            let response = try await responder.respond(
                to: Request(head: head, body: RequestBody(buffer: ByteBuffer(bytes: body))), context: context)
            counts[response.status.code, default: 0] += 1
            let asked = policy.asked
            guard response.status == .forbidden else {
                if asked != nil || ![400, 413, 415].contains(response.status.code) {
                    Issue.record("seed \(seed): \(response.status), asked for \(asked.map { "\($0)" } ?? "nothing")")
                }
                continue
            }
            let type = try #require(asked, "seed \(seed)")
            let claims = try type.claims.summary
            if !PolicyTarget.roles.contains(type.role) || claims.contains("/")
                || (claims.contains("\"*\"") && ![.fleetReader, .deliveryFleetReader].contains(type.role))
            {
                Issue.record("seed \(seed): \(type.role) \(claims)")
            }
        }
        for status in [400, 403, 415] { #expect(counts[status, default: 0] > 0, "\(counts)") }
        #expect(Set(counts.keys).isSubset(of: [400, 403, 413, 415]), "\(counts)")
    }
}

/// The context of a request that came over no channel.
private struct FuzzContext: RequestContext {
    struct Source: RequestContextSource {
        let logger: Logger
    }

    var coreContext: CoreRequestContextStorage

    init(source: Source) { self.coreContext = CoreRequestContextStorage(source: source) }
}
