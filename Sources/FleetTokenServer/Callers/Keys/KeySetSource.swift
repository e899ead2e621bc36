// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Where an identity provider publishes its keys.
enum KeySetSource: Sendable, CustomStringConvertible {
    /// By the issuer's discovery document (OpenID Connect Discovery 1.0 §4).
    case discovery(issuer: String)
    /// At a known address.
    case address(String)

    var description: String {
        switch self {
        case .discovery(let issuer): issuer
        case .address(let url): url
        }
    }

    /// Fetches the keys with the time that they may be used for.
    ///
    /// - Parameter transport: Sends the requests.
    /// - Returns: The keys, and the answer's `max-age` if it has one.
    /// - Throws: ``KeySetError``, or the transport's error.
    func fetch(over transport: any UpstreamTransport) async throws -> (keys: UserTokenKeySet, maximumAge: Duration?) {
        let answer = try await Self.get(try await self.keysAddress(over: transport), over: transport)
        return (try UserTokenKeySet(parsing: answer.body), Self.maximumAge(ofCacheControl: answer.cacheControl))
    }

    private func keysAddress(over transport: any UpstreamTransport) async throws -> String {
        guard case .discovery(let issuer) = self else { return self.description }
        let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
        let answer = try await Self.get("\(base)/.well-known/openid-configuration", over: transport)
        guard let document = (try? JSONValue(parsing: answer.body))?.object else {
            throw KeySetError(message: "The discovery document of \(issuer) is not a JSON object.")
        }
        guard document["issuer"]?.string == issuer else {
            throw KeySetError(message: "The discovery document of \(issuer) is another issuer's.")
        }
        guard let address = document["jwks_uri"]?.string, UpstreamAddress.isAcceptable(address) else {
            throw KeySetError(message: "The discovery document of \(issuer) has no jwks_uri with https.")
        }
        return address
    }

    private static func get(_ url: String, over transport: any UpstreamTransport) async throws -> UpstreamResponse {
        let request = UpstreamRequest(url: url, headers: [("Accept", "application/json")])
        let answer = try await transport.send(request)
        guard answer.status == 200, answer.body.count <= request.maximumBytes else {
            throw KeySetError(message: "\(request) was answered with \(answer.status), \(answer.body.count) bytes.")
        }
        return answer
    }

    /// The `max-age` of a header; zero where nothing may be kept, `nil` where nothing is said.
    static func maximumAge(ofCacheControl header: String?) -> Duration? {
        guard let header else { return nil }
        var age: Duration?
        for directive in header.lowercased().split(separator: ",") {
            let parts = directive.split(separator: "=", maxSplits: 1).map { $0.filter { !" \t\"".contains($0) } }
            switch parts.first {
            case "no-store", "no-cache": return .zero
            // A number too long to read is a long time.
            case "max-age" where parts.count == 2 && !parts[1].isEmpty && parts[1].allSatisfy(\.isWholeNumber):
                age = .seconds(min(Int64(parts[1]) ?? .max, 1 << 32))
            default: break
            }
        }
        return age
    }
}
