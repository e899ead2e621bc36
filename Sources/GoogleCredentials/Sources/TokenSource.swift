// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A way to get access tokens; it fetches one at each call and remembers nothing.
protocol TokenSource: Sendable {
    /// Fetches a token.
    ///
    /// - Parameter scopes: What the token is for; some sources have fixed scopes and ignore it.
    /// - Returns: The token and how long it lasts.
    /// - Throws: ``CredentialError``; `CancellationError`.
    func fetch(scopes: [String]) async throws -> FetchedToken
}

/// The endpoints and words of OAuth 2.0 that several sources share.
enum OAuth {
    static let tokenEndpoint = "https://oauth2.googleapis.com/token"
    static let defaultUniverse = "googleapis.com"
    static let iamScope = "https://www.googleapis.com/auth/iam"
    static let cloudPlatformScope = "https://www.googleapis.com/auth/cloud-platform"

    /// A request with a form as its body.
    static func post(
        _ url: String, form: [(String, String)], headers: [(name: String, value: String)] = []
    ) -> CredentialsRequest {
        let body = form.map { "\($0.0.formEncoded)=\($0.1.formEncoded)" }.joined(separator: "&")
        return CredentialsRequest(
            method: "POST", url: url,
            headers: [("Content-Type", "application/x-www-form-urlencoded")] + headers, body: Array(body.utf8))
    }
}

extension String {
    /// The text with everything but RFC 3986's unreserved characters percent-encoded.
    var formEncoded: String {
        var encoded = ""
        for byte in self.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                encoded += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}
