// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
public import Foundation

/// An error from finding credentials, getting access tokens or signing far away.
public struct CredentialError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, in terms a caller can act on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case notFound, invalidConfiguration, untrustedHost, executableNotAllowed, refused, unavailable, timedOut
            case invalidAnswer, quotaExhausted
        }
        private let wrapped: Wrapped
        private init(_ wrapped: Wrapped) { self.wrapped = wrapped }
        /// The bounded name, fit for a metric label.
        public var description: String { self.wrapped.rawValue }

        /// No step of the search found credentials; see ``CredentialError/search``.
        public static let notFound = Self(.notFound)
        /// A credential file, a variable or a program that a file names cannot be used; mend it, a retry cannot help.
        public static let invalidConfiguration = Self(.invalidConfiguration)
        /// A credential file names a host that must not be sent a credential; check where the file came from.
        public static let untrustedHost = Self(.untrustedHost)
        /// A credential file wants a program run and nobody allowed it.
        public static let executableNotAllowed = Self(.executableNotAllowed)
        /// The service understood and said no, for example because a permission is missing; mend that.
        public static let refused = Self(.refused)
        /// The service could not be reached or failed; may be retried.
        public static let unavailable = Self(.unavailable)
        /// A service did not answer in time, or a program did not end; may be retried.
        public static let timedOut = Self(.timedOut)
        /// The service's answer cannot be read; may be retried.
        public static let invalidAnswer = Self(.invalidAnswer)
        /// The signing quota of this minute is used up; may be retried in the next.
        public static let quotaExhausted = Self(.quotaExhausted)
    }

    /// The kind of failure.
    public var code: Code
    /// What failed and how to fix it, without secrets.
    public var message: String
    /// The error underneath, if any.
    public var cause: (any Error)?
    /// How long the service asks to be left alone, where it says.
    public var retryAfter: Duration?
    /// The HTTP status that the service answered with, where it answered.
    public var status: Int?
    /// The bounded word with which the service names the error, such as `IAM_PERMISSION_DENIED`, where it says.
    public var reason: String?
    /// What to do about it, where the service's words tell.
    public var nextStep: String?
    /// The steps of the search and what each found; empty for errors of other kinds.
    public var search: [SearchStep]
    /// How long it will be told instead of another attempt; `nil` where it is that of an attempt.
    package var pause: Duration?

    /// Code and message on one line, then each step of a search on its own.
    public var description: String {
        (["\(self.code): \(self.message)"] + self.search.map { "  \($0)" }).joined(separator: "\n")
    }

    /// Whether the same request may succeed later.
    public var isTransient: Bool {
        [.unavailable, .timedOut, .invalidAnswer, .quotaExhausted].contains(self.code)
    }

    /// Makes an error.
    public init(
        code: Code, message: String, cause: (any Error)? = nil, retryAfter: Duration? = nil, status: Int? = nil,
        reason: String? = nil, search: [SearchStep] = []
    ) {
        self.code = code
        self.message = message
        self.cause = cause
        self.retryAfter = retryAfter
        self.status = status
        self.reason = reason
        self.search = search
    }
}

extension CredentialError: PausedFailure {}

extension CredentialError: CustomNSError {
    /// The message, and the error underneath.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: self.message]
        info[NSUnderlyingErrorKey] = self.cause
        return info
    }
}
