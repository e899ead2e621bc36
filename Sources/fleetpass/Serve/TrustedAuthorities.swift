// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GoogleCredentials

/// The certificates that other servers are known by, where `SSL_CERT_FILE` names them.
struct TrustedAuthorities {
    private static let remedy =
        "Name a file of certificates in PEM, or unset SSL_CERT_FILE for the system's authorities."

    private let file: String?
    private var problem: String? { AsyncHTTPClientTransport.problem(ofAuthorities: self.file) }

    init(variables: [String: String] = ProcessInfo.processInfo.environment) {
        self.file = variables["SSL_CERT_FILE"]
    }

    /// Reads the file before a server begins, which could reach no other over TLS without it.
    ///
    /// - Throws: ``CommandFailure`` where the file cannot be used.
    func check() throws {
        guard let problem else { return }
        throw CommandFailure(status: .configuration, message: "\(problem). \(Self.remedy)")
    }

    /// What doctor says of the file; `nil` where the system's authorities are used.
    var finding: DoctorFinding? {
        guard let file, !file.isEmpty else { return nil }
        guard let problem else { return .ok("authorities", "\(file), in place of the system's") }
        return .fault("authorities", problem, next: Self.remedy)
    }
}
