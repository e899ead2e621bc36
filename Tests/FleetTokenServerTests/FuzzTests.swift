// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetTokens
import Foundation
import HTTPTypes
import Testing

@testable import FleetTokenServer

/// Inputs that are almost right, in great number.
///
/// Each is made from its seed alone, so a failure names what to repeat. `FLEETPASS_FUZZ_INPUTS` sets how many each test
/// tries; `FLEETPASS_FUZZ_SEED` where it begins.
@Suite struct FuzzTests {
    static let seeds: Range<UInt64> = {
        func number(_ name: String) -> UInt64? { ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } }
        let first = number("FLEETPASS_FUZZ_SEED") ?? 1
        return first..<first + (number("FLEETPASS_FUZZ_INPUTS") ?? 2000)
    }()

    // MARK: - ID tokens

    @Test func `whatever is done to an ID token, what is accepted is signed and says what it must`() async throws {
        let key = IdentityProvider.SigningKey.ed25519(.init())
        let authenticator = try IDTokenAuthenticatorTests.authenticator(IdentityProvider([("k1", key)]))
        let good = try IdentityProvider.token(key: key)
        var accepted = 0
        for seed in Self.seeds {
            var random = SplitMix(seed)
            let isResigned = seed % 2 == 0
            let token: String
            if isResigned {
                var header: JSONObject = ["alg": .string("EdDSA"), "kid": .string("k1")]
                var claims = IdentityProvider.claims
                if random.next() % 4 == 0 {
                    JSONFuzz.change(&header, names: ["alg", "kid", "typ", "crit", "b64"], using: &random)
                }
                for _ in 0...random.next() % 2 {
                    JSONFuzz.change(
                        &claims, names: ["iss", "aud", "sub", "exp", "iat", "nbf", "azp", "authorization", "groups"],
                        using: &random)
                }
                token = try IdentityProvider.token(header: header, claims: claims, key: key)
            } else {
                token = ByteFuzz.change(good, alphabet: Array("AZaz09-_.=".utf8), using: &random)
            }
            guard let caller = try? await authenticator.caller(of: IdentityProvider.request(token)) else { continue }
            accepted += 1
            guard isResigned else {
                #expect(token == good, "seed \(seed)")
                continue
            }
            let claims = try #require(UserToken(token)).claims
            let audience = claims["aud"]
            #expect(audience == .string("driver-app") || audience?.array?.contains(.string("driver-app")) == true)
            #expect(claims["authorization"] == nil && claims["iss"] == .string(IdentityProvider.issuer), "seed \(seed)")
            #expect(claims["sub"]?.string == caller.subject, "seed \(seed)")
            #expect(caller.claims.count <= UserTokenClaims.maximumNested, "seed \(seed)")
        }
        #expect(accepted > 0, "nothing was accepted, so nothing was shown")
        #expect(accepted < Self.seeds.count)
    }

    // MARK: - Key sets

    @Test func `whatever is done to a key set, its keys are of the three kinds and named`() throws {
        let keys: [IdentityProvider.SigningKey] = [
            try IdentityProvider.rsaKey.get(), .p256(.init()), .ed25519(.init()),
        ]
        let entries = try keys.enumerated().map { try $1.publicJWK(id: "k\($0)") }
        let text = JSONValue.object(["keys": .array(entries.map(JSONValue.object))]).serialized
        let original = String(decoding: text, as: UTF8.self)
        let names = ["kty", "kid", "use", "alg", "key_ops", "crv", "n", "e", "x", "y", "d"]
        var read = 0
        for seed in Self.seeds {
            var random = SplitMix(seed)
            var bytes = text
            if seed % 2 == 0 {
                var changed = entries
                let index = Int(random.next() % 3)
                JSONFuzz.change(&changed[index], names: names, using: &random)
                bytes = JSONValue.object(["keys": .array(changed.map(JSONValue.object))]).serialized
            } else {
                bytes = Array(ByteFuzz.change(original, alphabet: Array(#"{}[]",:AQ-"#.utf8), using: &random).utf8)
            }
            guard let set = try? UserTokenKeySet(parsing: bytes) else { continue }
            read += 1
            #expect((1...UserTokenKeySet.maximumKeys).contains(set.keys.count), "seed \(seed)")
            #expect(set.keys.allSatisfy { (1...256).contains($0.id.utf8.count) && $0.algorithm != .hs256 })
            // None of the keys takes a signature that nobody made.
            #expect(set.keys.allSatisfy { !$0.isValidSignature([UInt8](repeating: 0, count: 64), for: [1]) })
        }
        #expect(read > 0 && read < Self.seeds.count)
    }

    // MARK: - Policy files

    @Test func `whatever is done to a policy file, it grants nobody what no rule can grant`() async throws {
        let lines = RulePolicyTests.yaml.split(separator: "\n").map(String.init)
        let words = [
            "any", "everything", "assigned", "webhook", "any_caller", "fleet_reader", "driver", "server", "\"*\"", "~",
            "[]", "{}", "- ", "&a", "*a", "!!binary", "<<: ", "? ", "|", ">", "---", "...", "\t", "%YAML 1.1", "0x1F",
            "{claim: groups}", "when: any_caller", "for: any", "\u{0}", "\u{FEFF}", "é", "'", "\"",
        ]
        let assignments = try RulePolicyTests.assignments()
        let everybody = RulePolicyTests.callers.values
        let never = try ["server", "delivery-server", "batch", "custom-driver", "custom-reader", "admin"].map {
            try RulePolicyTests.type($0)
        }
        let stranger = Caller(name: "stranger", issuer: "nowhere")
        let asked = try ["driver zzz", "consumer zzz", "reader", "trusted zzz yyy"].map { try RulePolicyTests.type($0) }
        var read = 0
        for seed in Self.seeds {
            var random = SplitMix(seed)
            var changed = lines
            for _ in 0...random.next() % 2 {
                let index = Int(random.next() % UInt64(changed.count))
                switch random.next() % 6 {
                case 0: changed.remove(at: index)
                case 1: changed.insert(changed[Int(random.next() % UInt64(changed.count))], at: index)
                case 2:
                    changed[index] = ByteFuzz.change(
                        changed[index], alphabet: Array(" :-[]{},'\"#&*!".utf8), using: &random)
                case 3: changed[index] = "  " + changed[index]
                default:
                    var parts = changed[index].split(separator: " ", omittingEmptySubsequences: false).map(String.init)
                    parts[Int(random.next() % UInt64(parts.count))] = words[Int(random.next() % UInt64(words.count))]
                    changed[index] = parts.joined(separator: " ")
                }
            }
            let policy: RulePolicy
            do {
                policy = try RulePolicy(yaml: changed.joined(separator: "\n"), assignments: assignments)
            } catch {
                #expect(error.code == .invalidConfiguration, "seed \(seed)")
                continue
            }
            read += 1
            for type in never {
                for caller in everybody {
                    let decision = try await policy.decide(type, for: caller, at: RulePolicyTests.noon)
                    #expect(!decision.isGranted, "seed \(seed)")
                }
            }
            for type in asked {
                let decision = try await policy.decide(type, for: stranger, at: RulePolicyTests.noon)
                #expect(!decision.isGranted, "seed \(seed): a caller whom no rule names, and an id that none does")
            }
        }
        #expect(read > 0 && read < Self.seeds.count)
    }
}

/// Changes of JSON that keep it JSON.
enum JSONFuzz {
    static func change(_ object: inout JSONObject, names: [String], using random: inout SplitMix) {
        let name = names[Int(random.next() % UInt64(names.count))]
        object[name] = random.next() % 6 == 0 ? nil : self.value(depth: 0, using: &random)
    }

    static func value(depth: Int, using random: inout SplitMix) -> JSONValue {
        let texts = [
            "", "driver-app", "k1", "*", "sig", "RSA", "EC", "P-256", "OKP", "Ed25519", "RS256", "none", "\u{0}",
            "a\nb",
            "https://fleetengine.googleapis.com/", "https://login.example", "AQAB", "AA",
            String(repeating: "A", count: 600),
            "\u{202E}é\u{301}",
        ]
        let integers: [Int64] = [0, -1, 1, 1_767_225_600, 1_767_229_100, .max, .min]
        switch random.next() % (depth < 4 ? 8 : 6) {
        case 0: return .null
        case 1: return .bool(random.next() % 2 == 0)
        case 2: return .integer(integers[Int(random.next() % UInt64(integers.count))])
        case 3: return .double(Double(bitPattern: random.next() & 0x7FEF_FFFF_FFFF_FFFF))
        case 4, 5: return .string(texts[Int(random.next() % UInt64(texts.count))])
        case 6: return .array((0..<random.next() % 4).map { _ in self.value(depth: depth + 1, using: &random) })
        default:
            let members = (0..<random.next() % 4).map { ("m\($0)", self.value(depth: depth + 1, using: &random)) }
            return .object(JSONObject(Dictionary(members) { first, _ in first }))
        }
    }
}

/// Changes of a text's bytes: replaced, removed, doubled, cut, put together anew.
enum ByteFuzz {
    static func change(_ text: String, alphabet: [UInt8], using random: inout SplitMix) -> String {
        var bytes = Array(text.utf8)
        for _ in 0...random.next() % 3 where !bytes.isEmpty {
            let index = Int(random.next() % UInt64(bytes.count))
            switch random.next() % 6 {
            case 0: bytes[index] ^= 1 << UInt8(random.next() % 7)
            case 1: bytes.remove(at: index)
            case 2: bytes.insert(bytes[index], at: index)
            case 3: bytes.removeSubrange(index...)
            case 4: bytes.append(contentsOf: bytes[index...])
            default: bytes[index] = alphabet[Int(random.next() % UInt64(alphabet.count))]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
