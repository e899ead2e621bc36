// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation

/// What a proof of the app's integrity must cover: one request to the token server, which no other request repeats.
///
/// With App Attest, sign the hash of ``clientData`` with the key that the app has attested to your server before:
///
/// ```swift
/// let tokens = try FleetTokenProvider(endpoint: .fleetpass(server)) {
///     [(name: "Authorization", value: "Bearer \(try await session.idToken())")]
/// } proof: { challenge in
///     let hash = Data(SHA256.hash(data: challenge.clientData))
///     let assertion = try await DCAppAttestService.shared.generateAssertion(keyID, clientDataHash: hash)
///     return [
///         (name: "App-Attest-Key", value: keyID),
///         (name: "App-Attest-Assertion", value: assertion.base64EncodedString()),
///     ]
/// }
/// ```
///
/// The server rebuilds ``clientData`` from the request that reached it, checks the assertion and its counter with the
/// attested key, and takes each nonce once. With DeviceCheck, send the token of `DCDevice`, which covers no data: it proves
/// the device and nothing about the request. Neither replaces the user's own session.
public struct TokenRequestChallenge: Hashable, Sendable {
    /// The header that carries the nonce.
    public static let nonceHeader = "Fleetpass-Nonce"

    /// The verb, such as `GET`.
    public let method: String
    /// The request's address.
    public let url: URL
    /// 128 random bits in base64url, new for each request; sent in ``nonceHeader``.
    public let nonce: String
    /// The bytes to be signed: verb, address and nonce, one per line, in UTF-8.
    public var clientData: Data { Data("\(self.method)\n\(self.url.absoluteString)\n\(self.nonce)".utf8) }

    /// Describes a request.
    ///
    /// - Parameters:
    ///   - method: The verb.
    ///   - url: The request's address.
    ///   - nonce: What makes the request the only one of its kind.
    public init(method: String, url: URL, nonce: String) {
        self.method = method
        self.url = url
        self.nonce = nonce
    }

    init(method: String, url: URL) {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        self.init(method: method, url: url, nonce: String(decoding: Base64URL.encode(bytes), as: UTF8.self))
    }
}
