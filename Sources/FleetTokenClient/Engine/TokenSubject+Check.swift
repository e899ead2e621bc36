// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens

extension TokenSubject {
    /// Checks that a token is for this subject and nothing wider.
    ///
    /// The signature is not checked, only the engine can; what is kept from leaving is a token for another resource,
    /// or one with a wildcard, which no phone should hold.
    ///
    /// - Parameter token: The token that a provider handed out.
    /// - Throws: ``TokenClientError`` with ``TokenClientError/Code/wrongToken``.
    package func check(_ token: FleetToken) throws(TokenClientError) {
        let claims: AuthorizationClaims?
        do throws(TokenRefusal) {
            claims = try TokenClaims(unverified: CompactJWS(token.compactSerialization).payload).authorization
        } catch {
            // The refusal's own words may quote the token.
            throw self.error(token, "is no Fleet Engine token (\(error.reason))")
        }
        guard self.isExactlyClaimed(by: claims) else {
            throw self.error(token, "claims \(claims?.summary ?? "nothing")")
        }
    }

    private func error(_ token: FleetToken, _ problem: String) -> TokenClientError {
        let wanted = "the \(self.kind)\(self.id.map { " \"\($0)\"" } ?? "")"
        return TokenClientError(
            code: .wrongToken,
            message: "Token \(token.fingerprint) \(problem) and was not sent; a token for \(wanted) alone is needed."
        )
    }
}
