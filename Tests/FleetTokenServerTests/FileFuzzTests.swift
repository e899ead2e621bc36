// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokens
import Foundation
import HTTPTypes
import Testing

@testable import FleetTokenServer

extension FuzzTests {
    // MARK: - Key files

    @Test func `whatever is done to a key file, it is a whole key or an error`() throws {
        let key = try TokenRoutesTests.keys.get()[.driver] ?? ServiceAccountKey(generatingFor: "a@b", projectID: "p")
        let text = String(decoding: key.keyFile, as: UTF8.self)
        let original = try #require(try JSONValue(parsing: text.utf8).object)
        let names = ["type", "project_id", "private_key_id", "private_key", "client_email", "token_uri"]
        var read = 0
        for seed in Self.seeds {
            var random = SplitMix(seed)
            var bytes: [UInt8]
            if seed % 2 == 0 {
                var object = original
                JSONFuzz.change(&object, names: names, using: &random)
                bytes = JSONValue.object(object).serialized
            } else {
                bytes = Array(ByteFuzz.change(text, alphabet: Array(#"{}[]",:\n-=+/A0"#.utf8), using: &random).utf8)
            }
            do {
                let key = try ServiceAccountKey(json: bytes)
                read += 1
                #expect(!key.account.isEmpty && !key.keyID.isEmpty, "seed \(seed)")
            } catch {
                #expect(error.code == .invalidKey, "seed \(seed)")
                #expect(!error.message.contains("MII"), "seed \(seed): the message shows a key")
            }
        }
        #expect(read > 0 && read < Self.seeds.count)
    }

    // MARK: - Key sets of signers

    @Test func `whatever is done to a signers' key set, its keys are sound or it is an error`() throws {
        let key = try TokenRoutesTests.keys.get()[.driver] ?? ServiceAccountKey(generatingFor: "a@b", projectID: "p")
        let text = String(decoding: JWKS.write([try key.publicKey()]), as: UTF8.self)
        let entry = try #require(try JSONValue(parsing: text.utf8).object?["keys"]?.array?.first?.object)
        var read = 0
        for seed in Self.seeds {
            var random = SplitMix(seed)
            var bytes: [UInt8]
            if seed % 2 == 0 {
                var object = entry
                JSONFuzz.change(&object, names: ["kty", "use", "alg", "kid", "n", "e", "key_ops"], using: &random)
                bytes = JSONValue.object(["keys": .array([.object(object)])]).serialized
            } else {
                bytes = Array(ByteFuzz.change(text, alphabet: Array(#"{}[]",:AQ-"#.utf8), using: &random).utf8)
            }
            do {
                for key in try JWKS.read(bytes) {
                    read += 1
                    #expect(!key.id.isEmpty, "seed \(seed)")
                    #expect(!key.isValidSignature([UInt8](repeating: 0, count: 256), for: [1]), "seed \(seed)")
                }
            } catch {
                #expect(error.code == .invalidKeySet || error.code == .invalidKey, "seed \(seed)")
            }
        }
        #expect(read > 0)
    }

    // MARK: - Configurations

    private static let configuration = """
        provider: acme
        data: /var/lib/fleetpass
        keys: keys
        listen:
          host: 127.0.0.1
          port: 8443
          tls:
            certificate: c.pem
            key: k.pem
        limits:
          connections: 5
          idle: 2m
          per_caller: 60/1m
          pending: 32
        cors:
          origins: https://a.example
        callers:
          file: callers.json
          oidc:
            login: {issuer: https://login.example, audience: "a, b"}
          session:
            shop: {issuer: shop, audience: fleet, secret_file: shop.secret}
        policy: {file: policy.yaml, secret_file: hook.secret}
        log: {level: debug, format: json}
        """

    @Test func `whatever is done to a configuration, no server without TLS or callers is set up`() throws {
        let lines = Self.configuration.split(separator: "\n").map(String.init)
        let words = [
            "0.0.0.0", "::", "::1", "127.0.0.1", "~", "[]", "{}", "- ", "&a", "*a", "!!binary", "<<: ", "? ", "|", ">",
            "---", "...", "\t", "-1", "99999999999999999999", "0/0s", "1/0m", "60/1m", "1e9", "0x1F", "\u{0}",
            "\u{FEFF}", "é", "'", "\"", "host:", "callers:", "tls:", "oidc:", "a.b:", "*:",
        ]
        var read = 0
        for seed in Self.seeds {
            var random = SplitMix(seed)
            var changed = lines
            for _ in 0...random.next() % 3 where !changed.isEmpty {
                let index = Int(random.next() % UInt64(changed.count))
                switch random.next() % 6 {
                case 0: changed.remove(at: index)
                case 1: changed.insert(changed[Int(random.next() % UInt64(changed.count))], at: index)
                case 2:
                    changed[index] = ByteFuzz.change(
                        changed[index], alphabet: Array(" :-[]{},'\"#&*!./".utf8), using: &random)
                case 3: changed[index] = "  " + changed[index]
                default:
                    var parts = changed[index].split(separator: " ", omittingEmptySubsequences: false).map(String.init)
                    guard !parts.isEmpty else { continue }
                    parts[Int(random.next() % UInt64(parts.count))] = words[Int(random.next() % UInt64(words.count))]
                    changed[index] = parts.joined(separator: " ")
                }
            }
            do {
                let made = try TokenServerConfiguration(
                    yaml: changed.joined(separator: "\n"), folder: URL(filePath: "/etc", directoryHint: .isDirectory),
                    environment: [:])
                read += 1
                #expect(made.tls != nil || LoopbackAddress.isLoopback(made.host), "seed \(seed)")
                #expect(
                    made.callersFile != nil || !made.identityProviders.isEmpty || !made.sessions.isEmpty,
                    "seed \(seed)")
                #expect((0...65535).contains(made.port), "seed \(seed)")
            } catch {
                #expect(error.code == .invalidConfiguration, "seed \(seed)")
            }
        }
        #expect(read > 0 && read < Self.seeds.count)
    }

    // MARK: - Requests

    @Test func `whatever path is asked for, a token is for one id that can be one, or it is an error`() throws {
        let pieces = [
            "token", "driver", "consumer", "delivery_driver", "delivery_consumer", "fleet_reader", "DRIVER", "server",
            "veh-1", "%2F", "%", "%zz", "..", ".", "*", "%2A", "%00", "é", "%C3%A9", "%FF", "a%2Fb", " ", "+", "a:b",
            String(repeating: "a", count: 70), "\u{202E}",
        ]
        var read = 0
        for seed in Self.seeds {
            var random = SplitMix(seed)
            func piece() -> String { pieces[Int(random.next() % UInt64(pieces.count))] }
            var path = "/token"
            for _ in 0..<random.next() % 4 { path += "/" + piece() }
            if random.next() % 3 == 0 {
                path = ByteFuzz.change(path, alphabet: Array("/%.*aA2F:".utf8), using: &random)
            }
            let query = random.next() % 4 == 0 ? "task=\(piece())" : nil
            do {
                let (_, type) = try TokenRoute.tokenType(ofPath: path, query: query)
                read += 1
                #expect(PolicyTarget.roles.contains(type.role) && type.role != .fleetReader, "seed \(seed)")
                let claims = try type.claims.summary
                #expect(type.role == .deliveryFleetReader || !claims.contains("\"*\""), "seed \(seed)")
                #expect(!claims.contains("/"), "seed \(seed)")
            } catch let error as RouteError {
                #expect(error.status == .badRequest || error.status == .notFound, "seed \(seed)")
            }
        }
        #expect(read > 0 && read < Self.seeds.count)
    }
}
