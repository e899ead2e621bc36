// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens

/// A signed request to AWS that proves who asks, which the security token service sends on (AIP-4117).
struct AWSSubject: SubjectTokenSource {
    private static let service = "The AWS metadata service"

    let regionURL: String?
    let credentialsURL: String?
    let verificationURL: String
    /// Where a session token for the metadata service comes from (IMDSv2).
    let sessionTokenURL: String?
    let audience: String
    let context: CredentialContext

    func subjectToken() async throws -> String {
        var session: [(name: String, value: String)] = []
        if let sessionTokenURL, self.needsMetadata {
            let token = try await self.ask(
                UpstreamRequest(
                    method: "PUT", url: sessionTokenURL, headers: [("X-aws-ec2-metadata-token-ttl-seconds", "300")]))
            session = [("X-aws-ec2-metadata-token", token)]
        }
        let region = try await self.region(session)
        let keys = try await self.keys(session)
        let request = try AWSRequestSigner(region: region, keys: keys).sign(
            method: "POST",
            url: self.verificationURL.replacing("{region}", with: region),
            headers: ["x-goog-cloud-target-resource": self.audience],
            at: self.context.time.date
        )
        let headers = request.headers.map { JSONValue.object(["key": .string($0.key), "value": .string($0.value)]) }
        let token = JSONValue.object([
            "url": .string(request.url), "method": .string("POST"), "headers": .array(headers),
        ])
        return PercentCoding.encode(String(decoding: token.serialized, as: UTF8.self))
    }

    private var environmentRegion: String? {
        self.context.variable("AWS_REGION") ?? self.context.variable("AWS_DEFAULT_REGION")
    }

    private var environmentKeys: AWSKeys? {
        guard let id = self.context.variable("AWS_ACCESS_KEY_ID"),
            let secret = self.context.variable("AWS_SECRET_ACCESS_KEY")
        else { return nil }
        return AWSKeys(id: id, secret: secret, sessionToken: self.context.variable("AWS_SESSION_TOKEN"))
    }

    private var needsMetadata: Bool { self.environmentRegion == nil || self.environmentKeys == nil }

    private func region(_ session: [(name: String, value: String)]) async throws -> String {
        if let environmentRegion { return environmentRegion }
        guard let regionURL else { throw self.missing("region_url", "AWS_REGION") }
        // The answer is a zone, such as us-east-1d.
        let zone = try await self.ask(UpstreamRequest(url: regionURL, headers: session))
        return String(zone.dropLast())
    }

    private func keys(_ session: [(name: String, value: String)]) async throws -> AWSKeys {
        if let environmentKeys { return environmentKeys }
        guard let credentialsURL else { throw self.missing("url", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY") }
        let role = try await self.ask(UpstreamRequest(url: credentialsURL, headers: session))
        let answer = try await self.ask(
            UpstreamRequest(url: "\(credentialsURL)/\(PercentCoding.encode(role))", headers: session))
        guard let members = (try? JSONValue(parsing: Array(answer.utf8)))?.object,
            let id = members["AccessKeyId"]?.string, let secret = members["SecretAccessKey"]?.string
        else {
            throw CredentialError(code: .invalidAnswer, message: "\(Self.service) sent no security credentials.")
        }
        return AWSKeys(id: id, secret: secret, sessionToken: members["Token"]?.string)
    }

    private func missing(_ field: String, _ variables: String) -> CredentialError {
        CredentialError(
            code: .invalidConfiguration,
            message: "The credential source has no \"\(field)\"; add it, or set \(variables)."
        )
    }

    private func ask(_ request: UpstreamRequest) async throws -> String {
        // The exchange around it tries again.
        try await self.context.exchange(with: Self.service, policy: RetryPolicy(attempts: 1)) {
            request
        } read: { response in
            guard let text = String(validating: response.body, as: UTF8.self)?.trimmedOfWhitespace, !text.isEmpty else {
                throw CredentialError(code: .invalidAnswer, message: "\(Self.service) sent an empty answer.")
            }
            return text
        }
    }
}

extension String {
    fileprivate var trimmedOfWhitespace: String {
        var text = self[...]
        while text.first?.isWhitespace ?? false { text.removeFirst() }
        while text.last?.isWhitespace ?? false { text.removeLast() }
        return String(text)
    }
}
