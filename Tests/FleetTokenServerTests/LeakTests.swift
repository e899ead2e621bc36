// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetSigning
import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import Testing

@testable import FleetTokenServer

/// Every way in, with secrets that can be searched for.
@Suite struct LeakTests {
    final class Log: Sendable {
        private let text = Locked("")
        var contents: String { self.text.withLock { $0 } }
        func append(_ line: String) { self.text.withLock { $0 += line + "\n" } }
    }

    struct Handler: LogHandler {
        let log: Log
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }
        func log(event: LogEvent) {
            self.log.append(
                "\(event.level) \(event.message) \(event.metadata ?? [:]) \(event.error.map { "\($0)" } ?? "")")
        }
    }

    @Test func `no credential, token or shared secret reaches a log or an answer`() async throws {
        let log = Log()
        let key = IdentityProvider.SigningKey.ed25519(.init())
        let made = StaticBearerAuthenticator.makeSecret()
        let session = SessionTokenAuthenticatorTests.secret
        let sessionTokens = try SessionTokenAuthenticator(
            label: "backend", issuer: "https://backend.example", audiences: ["driver-app"],
            secrets: [try SharedSecret(session)], now: { IdentityProvider.now })
        let entry = #"{"name":"app","salt":"\#(made.salt)","secret_sha256":"\#(made.digest)","roles":["driver"]}"#
        let chain = CallerAuthenticators([
            try IDTokenAuthenticatorTests.authenticator(IdentityProvider([("k1", key)])), sessionTokens,
            try StaticBearerAuthenticator(json: Data(#"{"callers":[\#(entry)]}"#.utf8)),
        ])
        let webhook = PolicyWebhookTests.Backend(nil)
        let policy = try RulePolicy(
            yaml: """
                version: 1
                webhook: {url: "https://backend.example/may?key=MARKED-in-query"}
                rules:
                  - {name: static, when: {roles: driver}, grant: driver, for: any}
                  - {name: ask, when: {issuer: acme}, grant: driver, for: webhook}
                """,
            assignments: InMemoryAssignmentStore(),
            webhook: .init(secret: try SharedSecret(session), transport: webhook))
        let account = try #require(try TokenRoutesTests.keys.get()[.driver])
        let router = Router(context: CallerRequestContext.self)
        TokenRoutes(
            desk: TokenDesk(
                issuer: TokenIssuer(minters: [.driver: TokenMinter(signer: try LocalSigner(account))]),
                authenticator: chain, policy: policy, logger: Logger(label: "test") { _ in Handler(log: log) }),
            publishedKeys: { [] }
        ).add(to: router)

        let idToken = try IdentityProvider.token(key: key)
        let credentials = [
            made.secret, made.secret + "x", "MARKED-short", idToken, String(idToken.dropLast(4)) + "AAAA",
            try IdentityProvider.token(["exp": .integer(1)], key: key),
            try IdentityProvider.token(["sub": .string("MARKED\nsub")], key: key),
            try IdentityProvider.token(kid: "unknown", key: key),
            SessionTokenAuthenticatorTests.token(["iss": .string("https://backend.example")]),
            SessionTokenAuthenticatorTests.token(
                ["iss": .string("https://backend.example")], secret: Array("another-secret-of-256-bits-or-more".utf8)),
        ]
        let statuses = try await Application(router: router).test(.router) { client in
            var statuses: Set<Int> = []
            for credential in credentials {
                for path in ["/token/driver/veh-1", "/token/consumer/trip-1", "/token/driver/*"] {
                    let answer = try await client.execute(
                        uri: path, method: .get, headers: [.authorization: "Bearer \(credential)"])
                    statuses.insert(answer.status.code)
                    let body = String(buffer: answer.body)
                    log.append("\(answer.headers)")
                    guard answer.status == .ok else {
                        log.append(body)
                        continue
                    }
                    let issued = try #require(try JSONValue(parsing: Array(body.utf8)).object?["jwt"]?.string)
                    #expect(!log.contents.contains(issued.suffix(40)), "the issued token")
                }
            }
            return statuses
        }
        #expect(statuses == [200, 400, 401, 403, 503], "every kind of answer was seen")
        for secret in credentials { #expect(!log.contents.contains(secret.suffix(16))) }
        #expect(!log.contents.contains("MARKED"))
        #expect(log.contents.contains("token issued") && log.contents.contains("caller refused"))
    }
}
