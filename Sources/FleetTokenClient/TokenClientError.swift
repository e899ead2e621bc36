// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// An error from fetching or handing out tokens, or from a call that carries one.
public struct TokenClientError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, in terms a caller can act on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case invalidConfiguration, insecureURL, unreachable, timedOut, refused, rateLimited, invalidAnswer
            case wrongToken, expired, excessiveRefresh, lifeUnavailable, storeFailed
        }
        private let wrapped: Wrapped
        private init(_ wrapped: Wrapped) { self.wrapped = wrapped }
        /// The bounded name, fit for a metric label.
        public var description: String { self.wrapped.rawValue }

        /// A setting is out of range or does not fit another; mend it, a retry cannot help.
        public static let invalidConfiguration = Self(.invalidConfiguration)
        /// A token or credential would travel over plain HTTP to another machine; use an `https` URL.
        public static let insecureURL = Self(.insecureURL)
        /// The server could not be reached; the next call may try again.
        public static let unreachable = Self(.unreachable)
        /// The server did not answer in time, or the store or a closure of the app that comes before it, as the message
        /// says, which also names what left it little time; the next call may try again.
        public static let timedOut = Self(.timedOut)
        /// The server answered that the caller may not have the token; sign in again, a retry does not help.
        public static let refused = Self(.refused)
        /// The server asked to wait, or callers wait for as many subjects as the cache holds, see
        /// ``TokenCacheConfiguration/capacity``; in both cases see ``TokenClientError/retryAfter``.
        public static let rateLimited = Self(.rateLimited)
        /// The server's answer is not what its contract says; the server must be mended.
        public static let invalidAnswer = Self(.invalidAnswer)
        /// The server sent a token for something else than was asked; it was thrown away.
        public static let wrongToken = Self(.wrongToken)
        /// The server sent a token without enough life; its clock or cache must be mended.
        public static let expired = Self(.expired)
        /// The service refused several new tokens within a minute; no further one is fetched until the minute is over.
        public static let excessiveRefresh = Self(.excessiveRefresh)
        /// No token lives as long as was asked for; the message says how long the last one did, so ask for less.
        public static let lifeUnavailable = Self(.lifeUnavailable)
        /// A ``TokenStore`` could not read or write; tokens are fetched as if there were none.
        public static let storeFailed = Self(.storeFailed)
    }

    /// The kind of failure.
    public var code: Code
    /// What failed and how to fix it, without secrets.
    public var message: String
    /// The HTTP status that the server answered with, where there is one.
    public var httpStatus: Int?
    /// How long to wait, where the server asked for it; from a ``FleetTokenProvider``, what is left of that, and no
    /// more than ``TokenCacheConfiguration/retryAfterLimit``.
    public var retryAfter: Duration?
    /// The error underneath, if any.
    public var cause: (any Error)?
    /// Code and message on one line.
    public var description: String { "\(self.code): \(self.message)" }

    /// Makes an error.
    public init(
        code: Code,
        message: String,
        httpStatus: Int? = nil,
        retryAfter: Duration? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.httpStatus = httpStatus
        self.retryAfter = retryAfter
        self.cause = cause
    }
}
