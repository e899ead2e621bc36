// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How a ``ChaosTokenServer`` answers one request.
public enum ChaosStep: Hashable, Sendable {
    // MARK: A usable token

    /// A good token that lives an hour.
    case good
    /// A good token, after a wait on the server's clock.
    case slow(Duration)
    /// A good token with less life than usual.
    case shortLived(Duration)
    /// A good token by a server whose clock is ahead by this much, or behind when negative: all times it states are.
    case clockOff(Duration)
    /// A good token whose times in the answer are strings of digits.
    case stringExpiry
    /// A good token that the answer says to live longer than the token itself does.
    case overstatedLife(Duration)

    // MARK: A token that must not be used

    /// A token of another kind: a trip's for a vehicle, and so on.
    case wrongToken
    /// A token of the right kind for another id.
    case otherVehiclesToken
    /// A token for every id at once.
    case wildcardToken
    /// A token that ended a minute ago.
    case alreadyExpired
    /// A token that nobody signed: `alg` is `none` and the signature is empty.
    case unsigned

    // MARK: An answer that is none

    /// A status with a JSON error as body, and a `Retry-After` where a time is given.
    case status(Int, retryAfter: Duration? = nil)
    /// A redirect to another machine.
    case redirect
    /// Status 200 with no body.
    case emptyBody
    /// A good answer as the only element of an array.
    case jsonArray
    /// Status 200 with a web page, as a captive portal sends.
    case html
    /// An answer without a token.
    case missingToken
    /// An answer with a number for a token.
    case numericToken
    /// An answer without any expiry.
    case missingExpiry
    /// A good answer with a megabyte of filling.
    case oversized

    // MARK: Trouble on the way

    /// The connection ends in the middle of the body.
    case tornBody
    /// The body comes a byte at a time and does not end.
    case drip
    /// The connection ends before the answer.
    case dropConnection
    /// Nothing ever comes.
    case hang
}

extension ChaosStep: CaseIterable {
    /// Each kind of step once, with values as they occur.
    public static let allCases: [Self] = [
        .good, .slow(.seconds(2)), .shortLived(.seconds(60)), .clockOff(.seconds(1200)), .clockOff(.seconds(-1200)),
        .stringExpiry, .overstatedLife(.seconds(36_000)), .wrongToken, .otherVehiclesToken, .wildcardToken,
        .alreadyExpired, .unsigned, .status(401), .status(403), .status(404), .status(429, retryAfter: .seconds(30)),
        .status(500), .status(503, retryAfter: .seconds(5)), .redirect, .emptyBody, .jsonArray, .html, .missingToken,
        .numericToken, .missingExpiry, .oversized, .tornBody, .drip, .dropConnection, .hang,
    ]
}
