// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetTokens
import Foundation
import Testing

@testable import FleetTokenServer

@Suite struct SessionTokenAuthenticatorTests {
    static let secret = Array("MARKED-0123456789-abcdefghijklmnop".utf8)

    static func authenticator(_ secrets: [[UInt8]] = [secret]) throws -> SessionTokenAuthenticator {
        try SessionTokenAuthenticator(
            label: "backend", issuer: IdentityProvider.issuer, audiences: ["driver-app"],
            secrets: secrets.map { try SharedSecret($0) }, now: { IdentityProvider.now })
    }

    static func token(
        _ changes: JSONObject = [:], header: JSONObject = ["alg": .string("HS256")], secret: [UInt8] = secret
    ) -> String {
        var claims = IdentityProvider.claims
        for (name, value) in changes { claims[name] = value }
        return IdentityProvider.token(
            header: JSONValue.object(header).serialized, payload: JSONValue.object(claims).serialized
        ) { Array(HMAC<Crypto.SHA256>.authenticationCode(for: $0, using: SymmetricKey(data: secret))) }
    }

    @Test func `a session token is accepted, under the old secret and the new`() async throws {
        let other = Array("another-secret-of-256-bits-or-more".utf8)
        let authenticator = try Self.authenticator([Self.secret, other])
        for secret in [Self.secret, other] {
            let caller = try await authenticator.caller(of: IdentityProvider.request(Self.token(secret: secret)))
            #expect(caller?.id == CallerID(issuer: "backend", subject: "user-1"))
        }
    }

    @Test(
        arguments: [
            (token(secret: Array("another-secret-of-256-bits-or-more".utf8)), .signature),
            (token(header: ["alg": .string("none")]), .algorithm),
            (token(header: ["alg": .string("RS256")]), .algorithm),
            (token(["exp": .integer(1)]), .expired), (token(["aud": .string("x")]), .audience),
            (token(["authorization": .object([:])]), .wrongKind),
        ] as [(String, CallerRefusal.Reason)])
    func `a session token that does not hold is refused`(token: String, reason: CallerRefusal.Reason) async throws {
        let refusal = await #expect(throws: CallerRefusal.self) {
            try await Self.authenticator().caller(of: IdentityProvider.request(token))
        }
        #expect(refusal?.reason == reason)
    }

    @Test(arguments: [(0, false), (1, true), (4, true), (5, false)])
    func `an issuer has one to four secrets, and a name of its own`(count: Int, isTaken: Bool) throws {
        let secret = try SharedSecret(Self.secret)
        func make(_ label: String, _ issuer: String, _ secrets: Int) throws {
            _ = try SessionTokenAuthenticator(
                label: label, issuer: issuer, audiences: ["driver-app"],
                secrets: Array(repeating: secret, count: secrets))
        }
        if isTaken {
            try make("backend", IdentityProvider.issuer, count)
        } else {
            #expect(throws: TokenServerError.self) { try make("backend", IdentityProvider.issuer, count) }
        }
        for (label, issuer) in [("", IdentityProvider.issuer), ("backend", "")] {
            #expect(throws: TokenServerError.self) { try make(label, issuer, 1) }
        }
    }

    @Test func `a weak secret is an error, and a secret shows nothing of itself`() throws {
        let (short, even) = (String(decoding: Self.secret.prefix(31), as: UTF8.self), "abcdefghijk-")
        for weak in [
            "short", short, String(repeating: "a", count: 64), String(repeating: "password", count: 8),
            String(repeating: String(even.dropLast()), count: 3),
        ] {
            let error = #expect(throws: TokenServerError.self) {
                try SharedSecret(Array(weak.utf8))
            }
            #expect(error.map { "\($0)".contains(weak) } == false)
        }
        for good in [Self.secret.prefix(32), Array(String(repeating: even, count: 3).utf8)[...]] {
            #expect(throws: Never.self) { try SharedSecret(good) }
        }
        let secret = try SharedSecret(Self.secret)
        var dumped = "\(secret) \(String(reflecting: secret))"
        dump(secret, to: &dumped)
        #expect(!dumped.contains("MARKED"))
    }

    @Test(
        arguments: [
            (Array("\(String(repeating: "0123456789abcdef", count: 4))\n".utf8), 64), (secret + [0x0A, 0x0A], 35),
            (Array("Schlüssel-zum-0123456789-Geheimnis\n".utf8), 35),
            (Array(0...40) + [0x0A], 42), (Array(0x60...0x85) + [0x0A], 39), (secret, 34),
        ] as [([UInt8], Int)])
    func `the line feed at the end of a text is no part of a secret, and among random bytes one of them`(
        file: [UInt8], count: Int
    ) throws {
        let message = Array("message".utf8)
        let code = HMAC<SHA256>.authenticationCode(for: message, using: SymmetricKey(data: file.prefix(count)))
        #expect(try SharedSecret(file: Data(file)).authenticationCode(for: message) == Array(code))
    }

    @Test(arguments: ["0123456789abcdef", "0123456789ABCDEF", "0123456789abcDEF"])
    func `a secret of hexadecimal digits alone has 64 of them`(digits: String) {
        let whole = String(repeating: digits, count: 4)
        for short in [whole.prefix(32), whole.prefix(63)] {
            let error = #expect(throws: TokenServerError.self) { try SharedSecret(Array(short.utf8)) }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.message.contains("openssl rand -hex 32") == true)
            #expect(error?.message.contains("it has \(short.count).") == true)
            #expect(error?.message.contains(short) == false)
        }
        for good in [whole, "\(whole)a", "\(whole.prefix(43))=", "\(whole.prefix(31))g"] {
            #expect(throws: Never.self) { try SharedSecret(Array(good.utf8)) }
        }
    }
}
