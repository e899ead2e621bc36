// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import SwiftASN1
import Testing
import X509

@testable import FleetOperation

@Suite struct ClientAuthoritiesTests {
    private static let key = P256.Signing.PrivateKey()

    private static func name(_ text: String) throws -> DistinguishedName {
        try DistinguishedName {
            OrganizationName("Acme")
            CommonName(text)
        }
    }

    private static func pem(
        _ subject: DistinguishedName, signedBy issuer: DistinguishedName
    ) throws -> String {
        try Certificate(
            version: .v3, serialNumber: .init(), publicKey: .init(Self.key.publicKey),
            notValidBefore: Date() - 60, notValidAfter: Date() + 3600, issuer: issuer, subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256, extensions: .init(), issuerPrivateKey: .init(Self.key)
        ).serializeAsPEM().pemString
    }

    private static func pem(_ subject: String, signedBy issuer: String) throws -> String {
        try self.pem(self.name(subject), signedBy: self.name(issuer))
    }

    /// How many authorities are read from a file of these certificates.
    private static func count(_ certificates: String...) throws -> Int {
        let file = URL.temporaryDirectory.appending(path: "\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(certificates.joined(separator: "\n").utf8).write(to: file)
        return try ClientAuthorities.read(from: file.path(percentEncoded: false)).count
    }

    @Test func `an authority whose issuer is not in the file is refused by both names`() throws {
        let (root, other) = (try Self.pem("root", signedBy: "root"), try Self.pem("other", signedBy: "other"))
        let (issuing, below) = (try Self.pem("issuing", signedBy: "root"), try Self.pem("below", signedBy: "issuing"))
        for (certificates, subject, issuer) in [
            ([issuing], "issuing", "root"), ([other, issuing], "issuing", "root"), ([below, root], "below", "issuing"),
            ([below, issuing, other], "issuing", "root"),
        ] {
            let error = #expect(throws: ConfigurationError.self) {
                try Self.count(certificates.joined(separator: "\n"))
            }
            #expect(error?.message.contains(" CN=\(subject),O=Acme is signed by CN=\(issuer),O=Acme, ") == true)
        }
        #expect(try Self.count(issuing, root) == 2)
        #expect(try Self.count(root, other, below, issuing) == 4)
    }

    @Test func `names are compared as TLS does`() throws {
        let other = try DistinguishedName([
            .init(type: .RDNAttributeType.organizationName, printableString: "ACME"),
            .init(type: .RDNAttributeType.commonName, printableString: "Root"),
        ])
        #expect(try Self.count(Self.pem(other, signedBy: other), Self.pem("issuing", signedBy: "root")) == 2)
    }

    @Test func `a root may have a second certificate, of another that is not in the file`() throws {
        #expect(try Self.count(Self.pem("root", signedBy: "older"), Self.pem("root", signedBy: "root")) == 2)
    }
}
