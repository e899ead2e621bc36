// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The payload of a token, which is parsed once, when something of it is first asked for.
struct TokenPayload {
    private let bytes: [UInt8]
    private var result: Result<JSONObject, TokenError>?

    /// Takes a decoded payload as it is.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The members of the payload's object.
    ///
    /// - Throws: ``TokenError`` with ``TokenError/Code/invalidJSON``.
    mutating func members() throws(TokenError) -> JSONObject {
        let result = self.result ?? Self.parse(self.bytes)
        self.result = result
        return try result.get()
    }

    /// The account that the token claims to be of, which nothing vouches for yet; `nil` where it names none.
    mutating func claimedIssuer() -> String? { (try? self.members())?["iss"]?.string }

    private static func parse(_ bytes: [UInt8]) -> Result<JSONObject, TokenError> {
        do throws(TokenError) {
            guard let members = try JSONValue(parsing: bytes).object else {
                return .failure(TokenError(code: .invalidJSON, message: "It is not an object."))
            }
            return .success(members)
        } catch {
            return .failure(error)
        }
    }
}
