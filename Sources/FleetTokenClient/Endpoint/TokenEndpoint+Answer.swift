// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

extension TokenEndpoint {
    /// Reads a server's answer and compares the token in it with what was asked.
    ///
    /// No message repeats any part of the answer but its status and times: it may hold a token.
    ///
    /// - Parameters:
    ///   - response: What the server answered.
    ///   - subject: Whose token was asked for.
    /// - Returns: The token and its life.
    /// - Throws: ``TokenClientError``.
    package func grant(
        from response: HTTPTransportResponse, for subject: TokenSubject
    ) throws(TokenClientError) -> TokenGrant {
        guard response.status == 200 else { throw Self.error(forStatusOf: response) }
        let answer = try Self.object(in: response.body)
        let format = self.answerFormat(for: subject)
        guard let text = answer[format.tokenKey]?.string, !text.isEmpty else {
            throw Self.invalid("The token server's answer has no string \"\(format.tokenKey)\".")
        }
        let claims = try Self.claims(of: text)
        guard subject.isExactlyClaimed(by: claims.authorization) else {
            throw TokenClientError(
                code: .wrongToken,
                message: "Token \(FleetToken(text).fingerprint) does not claim exactly the \(subject.kind) that was "
                    + "asked for; mint it with that id alone."
            )
        }
        let age = HTTPSeconds.age(in: response.headers)
        var refreshAfter: Duration?
        if let key = format.refreshAfterKey, let value = answer[key] {
            let stated = Duration.seconds(try Self.number(value, key: key))
            refreshAfter = max(stated - age, .zero)
        }
        let life = try TokenLife(
            claims: claims,
            stated: format.expiry.map { expiry throws(TokenClientError) in
                guard let value = answer[expiry.key] else {
                    throw Self.invalid("The token server's answer has no number \"\(expiry.key)\".")
                }
                let number = try Self.number(value, key: expiry.key)
                return (expiry.reference, expiry.unit == .seconds ? .seconds(number) : .milliseconds(number))
            },
            answeredAt: response.header("Date").flatMap(HTTPDate.unixSeconds),
            age: age
        )
        return TokenGrant(token: FleetToken(text), life: life.duration, refreshAfter: refreshAfter)
    }

    private static func object(in body: Data) throws(TokenClientError) -> JSONObject {
        guard body.count <= Self.maximumAnswerBytes else {
            throw Self.invalid("The token server's answer has \(body.count) bytes; at most 64 KiB are read.")
        }
        guard let object = (try? JSONValue(parsing: body.withoutByteOrderMark))?.object else {
            throw Self.invalid("The token server's answer (\(body.count) bytes) is not one JSON object.")
        }
        return object
    }

    private static func claims(of token: String) throws(TokenClientError) -> TokenClaims {
        do throws(TokenRefusal) {
            return try TokenClaims(unverified: CompactJWS(token).payload)
        } catch {
            // The refusal's own words may quote the token.
            throw Self.invalid("The token server sent something else than a Fleet Engine token (\(error.reason)).")
        }
    }

    /// A whole number up to the year 9999 in milliseconds, also when the server writes it as a string.
    private static func number(_ value: JSONValue, key: String) throws(TokenClientError) -> Int64 {
        let range: ClosedRange<Double> = 0...253_402_300_799_999
        let number: Double? =
            switch value {
            case .integer(let number): Double(number)
            case .double(let number): number
            case .string(let text) where text.utf8.allSatisfy { (0x30...0x39).contains($0) }: Double(text)
            default: nil
            }
        guard let number, range.contains(number) else {
            throw Self.invalid("The token server's \"\(key)\" is not a number of seconds or milliseconds in range.")
        }
        return Int64(number)
    }

    private static func invalid(_ message: String) -> TokenClientError {
        TokenClientError(code: .invalidAnswer, message: message, httpStatus: 200)
    }
}

// MARK: - Refusals

extension TokenEndpoint {
    private static func error(forStatusOf response: HTTPTransportResponse) -> TokenClientError {
        let code: TokenClientError.Code
        let fix: String
        switch response.status {
        case 429: (code, fix) = (.rateLimited, "wait before asking again")
        case 408, 504: (code, fix) = (.timedOut, "the next call may try again")
        case 404, 405, 410:
            (code, fix) = (.refused, "check the provider's address, or ask for a token of something that there is")
        case 400..<500: (code, fix) = (.refused, "sign in again, or ask for a token this user may have")
        case 500..<600: (code, fix) = (.unreachable, "the next call may try again")
        case 300..<400:
            (code, fix) = (.invalidAnswer, "redirects would carry credentials elsewhere; configure the final address")
        default: (code, fix) = (.invalidAnswer, "only 200 carries a token")
        }
        return TokenClientError(
            code: code,
            message: "The token server answered with status \(response.status); \(fix).",
            httpStatus: response.status,
            retryAfter: HTTPSeconds.retryAfter(in: response.headers)
        )
    }
}
