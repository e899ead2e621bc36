// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetTokens
import Foundation

/// The keys of an AWS identity; printing them shows the id only.
struct AWSKeys: Sendable, CustomStringConvertible, CustomReflectable {
    let id: String
    let secret: String
    let sessionToken: String?

    var description: String { "AWSKeys(\(self.id))" }
    var customMirror: Mirror { Mirror(self, children: ["id": self.id]) }
}

/// Signs requests without a body for AWS (Signature Version 4).
struct AWSRequestSigner: Sendable {
    let region: String
    let keys: AWSKeys

    /// Signs a request.
    ///
    /// - Parameters:
    ///   - method: The verb.
    ///   - url: An `https` URL.
    ///   - headers: Header fields to add and to sign, with names in lower case.
    ///   - date: The time of signing.
    /// - Returns: The URL and the header fields to send, signature included.
    /// - Throws: ``CredentialError`` with ``CredentialError/Code/invalidConfiguration`` for a URL that is no `https` URL.
    func sign(
        method: String, url: String, headers: [String: String], at date: Date
    ) throws(CredentialError) -> (url: String, headers: [String: String]) {
        guard url.hasPrefix("https://"), let parts = URLComponents(string: url), let host = parts.host, !host.isEmpty
        else {
            throw CredentialError(
                code: .invalidConfiguration, message: "The AWS verification URL is not an absolute https URL.")
        }
        let stamp = Self.stamp(date)
        let day = String(stamp.prefix(8))
        var signed = headers
        signed["host"] = host
        signed["x-amz-date"] = stamp
        if let sessionToken = self.keys.sessionToken { signed["x-amz-security-token"] = sessionToken }

        let names = signed.keys.sorted()
        let signedNames = names.joined(separator: ";")
        let query = (parts.queryItems ?? []).map {
            (PercentCoding.encode($0.name), PercentCoding.encode($0.value ?? ""))
        }
        .sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        let canonical = [
            method, parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath, query,
            names.map { "\($0):\(signed[$0] ?? "")\n" }.joined(), signedNames, SHA256.hash(data: [UInt8]()).hexadecimal,
        ].joined(separator: "\n")

        let label = host.prefix { $0 != "." }
        // Endpoints with FIPS modules are of the same service.
        let service = label.hasSuffix("-fips") ? label.dropLast("-fips".count) : label
        let scope = "\(day)/\(self.region)/\(service)/aws4_request"
        let toSign = ["AWS4-HMAC-SHA256", stamp, scope, SHA256.hash(data: Array(canonical.utf8)).hexadecimal]
            .joined(separator: "\n")
        var key = SymmetricKey(data: Array("AWS4\(self.keys.secret)".utf8))
        for part in [day, self.region, String(service), "aws4_request"] {
            key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array(part.utf8), using: key))
        }
        let signature = HMAC<SHA256>.authenticationCode(for: Array(toSign.utf8), using: key).hexadecimal
        signed["Authorization"] =
            "AWS4-HMAC-SHA256 Credential=\(self.keys.id)/\(scope), SignedHeaders=\(signedNames), Signature=\(signature)"
        return (url, signed)
    }

    private static func stamp(_ date: Date) -> String {
        let format = Date.ISO8601FormatStyle(
            dateSeparator: .omitted, dateTimeSeparator: .standard, timeSeparator: .omitted)
        return date.formatted(format)
    }
}
