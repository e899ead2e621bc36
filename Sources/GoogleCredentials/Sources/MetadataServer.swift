// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens

/// The server that tells a virtual machine or container of Google Cloud who it is (AIP-4115).
///
/// Both sides name themselves with a `Metadata-Flavor` header, so that neither a stray proxy nor a request forged
/// through the process is taken for the real thing.
struct MetadataServer: TokenSource {
    private static let service = "The metadata server"
    private static let flavor = (name: "Metadata-Flavor", value: "Google")
    private static let account = "instance/service-accounts/default"

    let context: CredentialContext

    private var host: String { self.context.variable("GCE_METADATA_HOST") ?? "metadata.google.internal" }

    /// How long one try to find a server may take: a second, or the seconds of `GCE_METADATA_TIMEOUT`, 60 at most.
    private var patience: Duration {
        let seconds = self.context.variable("GCE_METADATA_TIMEOUT").flatMap(Double.init) ?? 1
        return seconds > 0 ? .seconds(min(seconds, 60)) : .seconds(1)
    }

    /// Looks whether there is a metadata server.
    ///
    /// - Returns: Whether there is, and how that was found out.
    /// - Throws: `CancellationError`.
    func detect() async throws -> (isPresent: Bool, finding: String) {
        if let host = self.context.variable("GCE_METADATA_HOST") { return (true, "GCE_METADATA_HOST names \(host)") }
        if self.context.variable("NO_GCE_CHECK")?.lowercased() == "true" {
            return (false, "NO_GCE_CHECK forbids asking")
        }
        let address = self.context.variable("GCE_METADATA_IP") ?? "169.254.169.254"
        do {
            // Absent servers do not answer at all, so each try is short.
            let patience = self.patience
            let policy = RetryPolicy(attempts: 3, limit: patience * 3, firstPause: .milliseconds(100))
            try await self.context.exchange(with: Self.service, policy: policy) {
                UpstreamRequest(url: "http://\(address)/", headers: [Self.flavor], timeout: patience)
            } read: {
                try Self.checkFlavor($0)
            }
            return (true, "answered at \(address)")
        } catch let error as CredentialError {
            return (false, "no answer of a metadata server at \(address) (\(error.code))")
        }
    }

    func fetch(scopes: [String]) async throws -> FetchedToken {
        let query = scopes.isEmpty ? "" : "?scopes=" + PercentCoding.encode(scopes.joined(separator: ","))
        return try await self.ask("\(Self.account)/token\(query)") {
            try FetchedToken(oauthAnswer: $0, from: Self.service)
        }
    }

    /// The e-mail of the account that the machine runs as.
    func email() async throws -> String {
        try await self.text("\(Self.account)/email")
    }

    /// The universe that the machine runs in; servers that do not know the question are of the usual one.
    func universe() async throws -> String {
        try await self.ask("universe/universe-domain", acceptsNotFound: true) { response in
            let text = String(decoding: response.body, as: UTF8.self)
            return response.status == 404 || text.isEmpty ? OAuth.defaultUniverse : text
        }
    }

    private func text(_ path: String) async throws -> String {
        try await self.ask(path) { response in
            guard let text = String(validating: response.body, as: UTF8.self), !text.isEmpty, text.utf8.count <= 1024,
                !text.contains(where: \.isWhitespace)
            else { throw CredentialError(code: .invalidAnswer, message: "\(Self.service) sent an unusable answer.") }
            return text
        }
    }

    private func ask<Answer: Sendable>(
        _ path: String, acceptsNotFound: Bool = false, read: @escaping @Sendable (UpstreamResponse) throws -> Answer
    ) async throws -> Answer {
        try await self.context.exchange(with: Self.service, accepting: acceptsNotFound ? [404] : []) {
            UpstreamRequest(url: "http://\(self.host)/computeMetadata/v1/\(path)", headers: [Self.flavor])
        } read: { response in
            try Self.checkFlavor(response)
            return try read(response)
        }
    }

    private static func checkFlavor(_ response: UpstreamResponse) throws(CredentialError) {
        guard response.header(Self.flavor.name) == Self.flavor.value else {
            throw CredentialError(
                code: .invalidAnswer,
                message: "What answered in place of the metadata server did not name itself as one."
            )
        }
    }
}
