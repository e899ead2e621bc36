// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import HTTPTypes
import Testing
import X509

@testable import FleetTokenServer

@Suite struct SubjectNameTests {
    /// Runs OpenSSL, and gives what it prints.
    private static func openssl(_ arguments: [String]) throws -> Data {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let printed = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "openssl \(arguments.joined(separator: " "))")
        return printed
    }

    @Test(arguments: [
        ("/C=DE/O=Müller GmbH/CN=dispatch", "CN=dispatch,O=Müller GmbH,C=DE"),
        ("/DC=com/DC=acme/UID=u1/CN=d", "CN=d,UID=u1,DC=acme,DC=com"),
        ("/O=A/UID=u7+CN=d", "CN=d+UID=u7,O=A"),
        ("/O=A/street=Weg 1/title=Dr/GN=Ann/SN=Lee/CN=d", "CN=d,SN=Lee,GN=Ann,title=Dr,street=Weg 1,O=A"),
        ("/O=A, B/emailAddress=a@b.c/serialNumber=7/CN= x ", #"CN=\ x\ ,serialNumber=7,emailAddress=a@b.c,O=A\, B"#),
        (
            ##"/O=#A"<>;\\q/organizationIdentifier=NTRDE-1/CN=d"##,
            ##"CN=d,organizationIdentifier=NTRDE-1,O=\#A\"\<\>\;\\q"##
        ),
        ("/O=A/description=line 3/telephoneNumber=1/CN=d", "CN=d,telephoneNumber=1,description=line 3,O=A"),
        (
            "/O=A/mail=a@b.c/houseIdentifier=h/unstructuredName=u/CN=d",
            "CN=d,unstructuredName=u,houseIdentifier=h,mail=a@b.c,O=A"
        ),
        ("/O=A/jurisdictionC=DE/CN=d", "CN=d,jurisdictionC=DE,O=A"),
    ])
    func `a certificate is known by what OpenSSL prints of its subject`(subject: String, text: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "subject-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "certificate.pem").path
        _ = try Self.openssl([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-utf8",
            "-multivalue-rdn", "-keyout", "/dev/null", "-out", file, "-subj", subject,
        ])
        let certificate = try ClientCertificate(der: Array(try Self.openssl(["x509", "-in", file, "-outform", "DER"])))
        #expect(certificate.subject == text)
        let line = try Self.openssl(["x509", "-in", file, "-noout", "-subject", "-nameopt", "RFC2253"])
        let printed = String(decoding: line, as: UTF8.self).trimmingPrefix("subject=").trimmingCharacters(in: .newlines)
        #expect(SubjectName(parsing: printed)?.text == text, "\(printed)")
        let authenticator = try ClientCertificateAuthenticator(
            entries: [.init(identity: .subject(printed), name: "dispatch", roles: [.driver])])
        let request = CallerRequest(headers: [:], clientCertificate: certificate)
        #expect(try await authenticator.caller(of: request)?.name == "dispatch")
    }

    @Test(arguments: [
        ("cn=d, o=Acme", "CN=d,O=Acme"), ("E=a@b.c", "emailAddress=a@b.c"), ("2.5.4.3=d", "CN=d"),
        (#"CN=\4C\c3\a4\+"#, #"CN=Lä\+"#), ("1.2.3=#0c0161", "1.2.3=a"), ("CN=#1e0200e4", "CN=ä"),
        ("CN=#020107", "CN=#020107"), ("CN=", "CN="), ("O=A+CN=d", "CN=d+O=A"),
    ])
    func `a name is one in each of its spellings`(text: String, expected: String) {
        let name = SubjectName(parsing: text)
        #expect(name?.text == expected)
        #expect(name.flatMap { SubjectName(parsing: $0.text) } == name)
    }

    @Test(arguments: [
        "", "dispatch", "CN", "=d", "XY=d", "CN=d,", "CN=d+", "1..2=d", "CN=a\"b", "CN=a;b", #"CN=a\"#, #"CN=\q"#,
        #"CN=\ff"#, "CN=#0", "CN=#zz", ",CN=d",
    ])
    func `what is no name is none`(text: String) {
        #expect(SubjectName(parsing: text) == nil)
    }
}
