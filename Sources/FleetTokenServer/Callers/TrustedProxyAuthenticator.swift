// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetOperation
import Foundation
import HTTPTypes

/// Knows users by headers that a reverse proxy sets after it has identified them.
///
/// The headers count only on connections from the listed addresses. From anywhere else they are a forgery and refused;
/// the proxy must remove them from what comes in.
public struct TrustedProxyAuthenticator: CallerAuthenticator {
    let label: String
    private let peers: [AddressRange]
    private let subject: HTTPField.Name
    private let claims: [(field: HTTPField.Name, claim: String)]

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - label: The proxy's name in logs, rules and assignments.
    ///   - peers: The addresses that the proxy connects from; a range of everything is refused.
    ///   - subjectHeader: The header that names the user, such as `X-Forwarded-User`.
    ///   - claimHeaders: Headers that hold claims, as lists with commas, and the claims' names. Two for one claim are
    ///     refused, and so is one for `sub`, which the subject's header gives.
    /// - Throws: ``TokenServerError`` with ``TokenServerError/Code/invalidConfiguration``.
    public init(
        label: String, peers: [AddressRange], subjectHeader: String, claimHeaders: [String: String] = [:]
    ) throws(TokenServerError) {
        func invalid(_ message: String) -> TokenServerError {
            TokenServerError(code: .invalidConfiguration, message: "The proxy \"\(label)\" \(message)")
        }
        guard !label.isEmpty, !peers.isEmpty else { throw invalid("needs a name and the addresses it connects from.") }
        guard !peers.contains(where: \.isEverything) else {
            throw invalid("lists every address there is, so anybody could name themselves; list the proxy's own.")
        }
        func name(_ text: String) throws(TokenServerError) -> HTTPField.Name {
            guard let name = HTTPField.Name(text), name != .authorization else {
                throw invalid("names \"\(text.prefix(64))\", which cannot be such a header.")
            }
            return name
        }
        self.label = label
        self.peers = peers
        self.subject = try name(subjectHeader)
        var claims: [(field: HTTPField.Name, claim: String)] = []
        for (header, claim) in claimHeaders {
            let field = try name(header)
            guard !claims.contains(where: { $0.field == field }) else {
                throw invalid("names the header \(field) twice; let it hold one claim.")
            }
            guard claim != "sub", !claims.contains(where: { $0.claim == claim }) else {
                throw invalid("has two headers for the claim \"\(claim.prefix(64))\"; name one.")
            }
            claims.append((field, claim))
        }
        self.claims = claims
    }

    /// The user whom the proxy names; its headers from another address are refused.
    ///
    /// Several proxies that send the same headers go into one ``CallerAuthenticators``, which knows them all.
    public func caller(of request: CallerRequest) async throws -> Caller? {
        try Self.refuseForgery(request, of: [self])
        return try self.user(of: request)
    }

    /// The user whom the proxy names, where it opened the connection; `nil` for anybody else's request.
    func user(of request: CallerRequest) throws(CallerRefusal) -> Caller? {
        let subjects = request.headers[values: self.subject]
        guard !subjects.isEmpty, self.isPeer(of: request) else { return nil }
        guard subjects.count == 1, CallerID.isUsable(subject: subjects[0]) else {
            throw CallerRefusal(.malformed, "The proxy \(self.label) named no user, or several.")
        }
        var claims = ["sub": subjects]
        for (field, claim) in self.claims {
            let values = request.headers[values: field].flatMap { $0.split(separator: ",") }
                .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            guard values.count <= UserTokenClaims.maximumValues else {
                throw CallerRefusal(.malformed, "The proxy \(self.label) sent too long a list.")
            }
            if !values.isEmpty { claims[claim] = values }
        }
        return Caller(name: subjects[0], subject: subjects[0], issuer: self.label, claims: claims)
    }

    /// Refuses a request with a header of proxies that comes from none of those that send it.
    ///
    /// - Parameters:
    ///   - request: What the request says.
    ///   - proxies: The proxies, of which several may send the same headers.
    /// - Throws: ``CallerRefusal``.
    static func refuseForgery(_ request: CallerRequest, of proxies: [Self]) throws(CallerRefusal) {
        for proxy in proxies {
            for field in proxy.fields where request.headers.contains(field) {
                let isSent = proxies.contains { $0.fields.contains(field) && $0.isPeer(of: request) }
                guard isSent else { throw proxy.forgery }
            }
        }
    }

    /// The headers that the proxy sends.
    private var fields: [HTTPField.Name] { [self.subject] + self.claims.map { $0.field } }

    private var forgery: CallerRefusal {
        CallerRefusal(.unknown, "A header of the proxy \(self.label) came from another address.")
    }

    /// Whether the proxy opened the request's connection.
    private func isPeer(of request: CallerRequest) -> Bool {
        guard let peer = request.peerAddress else { return false }
        return self.peers.contains { $0.contains(peer) }
    }
}
