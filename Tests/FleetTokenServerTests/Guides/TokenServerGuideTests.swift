// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import SwiftASN1
import Testing
import X509

/// The program of the guide "Run a token server".
struct TokenServerGuideTests {
    /// What the program needs, in a folder that is removed with the value.
    private final class World {
        let folder = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        let secret: String
        var server: AcmeTokenServer

        init() throws {
            let (secret, salt, digest) = StaticBearerAuthenticator.makeSecret()
            self.secret = secret
            self.server = AcmeTokenServer(folder: self.folder, provider: try ProviderID(checking: "acme"))
            self.server.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let keys = self.folder.appending(path: "keys")
            try FileManager.default.createDirectory(at: keys, withIntermediateDirectories: true)
            try ServiceAccountKey(generatingFor: "driver@acme.example", projectID: "acme").keyFile
                .write(to: keys.appending(path: "driver.json"))
            let callers = """
                {"callers": [{"name": "app", "salt": "\(salt)", "secret_sha256": "\(digest)", "roles": ["driver"]}]}
                """
            try Data(callers.utf8).write(to: self.folder.appending(path: "callers.json"))
        }

        deinit { try? FileManager.default.removeItem(at: self.folder) }

        func file(_ name: String) -> String { self.folder.appending(path: name).path(percentEncoded: false) }

        /// Serves over TLS with a certificate of its own.
        func certify() throws {
            let key = P256.Signing.PrivateKey()
            let name = try DistinguishedName { CommonName("localhost") }
            let certificate = try Certificate(
                version: .v3, serialNumber: .init(), publicKey: .init(key.publicKey), notValidBefore: .now - 60,
                notValidAfter: .now + 3600, issuer: name, subject: name, signatureAlgorithm: .ecdsaWithSHA256,
                extensions: Certificate.Extensions(), issuerPrivateKey: .init(key))
            try Data(certificate.serializeAsPEM().pemString.utf8).write(to: self.folder.appending(path: "chain.pem"))
            try Data(key.pemRepresentation.utf8).write(to: self.folder.appending(path: "key.pem"))
            self.server.certificate = (chain: self.file("chain.pem"), key: self.file("key.pem"))
        }
    }

    @Test(arguments: [false, true])
    func `the program gives tokens to the callers that it knows`(overTLS: Bool) async throws {
        let world = try World()
        if overTLS { try world.certify() }
        let store = try TokenServerStore(creatingAt: world.file("token-server.sqlite"))
        let secret = world.secret
        try await world.server.application(over: store).test(overTLS ? .ahc(.https) : .live) { client in
            let origin = "https://tracking.acme.example"
            let headers: HTTPFields = [.authorization: "Bearer \(secret)", .origin: origin]
            let granted = try await client.execute(uri: "/token/driver/veh-3", method: .get, headers: headers)
            #expect(granted.status == .ok)
            #expect(granted.headers[.accessControlAllowOrigin] == origin)
            let stranger = try await client.execute(
                uri: "/token/driver/veh-3", method: .get, headers: [.origin: origin])
            #expect(stranger.status == .unauthorized)
            #expect(stranger.headers[.accessControlAllowOrigin] == origin)
            #expect(try await client.execute(uri: "/healthz", method: .get).status == .ok)
            let metrics = try await client.execute(uri: "/metrics", method: .get)
            let line = #"fleetpass_token_requests_total{role="driver",outcome="granted"} 1"#
            #expect(String(buffer: metrics.body).contains(line))
        }
        try store.close()
    }
}
