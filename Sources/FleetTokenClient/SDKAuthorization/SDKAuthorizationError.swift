// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Why an SDK got no token, with a domain and numbers that stay the same from release to release.
public struct SDKAuthorizationError: Error, Sendable, CustomStringConvertible {
    /// The domain of the errors as `NSError`; domain and numbers are those of the C interface too.
    public static let domain = "FPTokenErrorDomain"

    /// What went wrong; the raw value is the `NSError` code.
    public enum Code: Int, CaseIterable, Sendable {
        /// See ``TokenClientError/Code/invalidConfiguration``.
        case invalidConfiguration = 1
        /// See ``TokenClientError/Code/insecureURL``.
        case insecureURL = 2
        /// See ``TokenClientError/Code/unreachable``.
        case unreachable = 3
        /// See ``TokenClientError/Code/timedOut``.
        case timedOut = 4
        /// See ``TokenClientError/Code/refused``.
        case refused = 5
        /// See ``TokenClientError/Code/rateLimited``.
        case rateLimited = 6
        /// See ``TokenClientError/Code/invalidAnswer``.
        case invalidAnswer = 7
        /// See ``TokenClientError/Code/wrongToken``.
        case wrongToken = 8
        /// See ``TokenClientError/Code/expired``.
        case expired = 9
        /// See ``TokenClientError/Code/excessiveRefresh``.
        case excessiveRefresh = 10
        /// See ``TokenClientError/Code/lifeUnavailable``.
        case lifeUnavailable = 11
        /// See ``TokenClientError/Code/storeFailed``.
        case storeFailed = 12
        /// The wait was cancelled.
        case cancelled = 100
        /// The token provider failed in a way of its own; see the underlying error.
        case providerFailed = 199
        /// The question came without a context.
        case missingContext = 201
        /// The context's id is empty.
        case missingID = 202
        /// The context's id breaks Fleet Engine's rules.
        case invalidID = 203
        /// A task's token was asked for where there are no tasks.
        case unexpectedTask = 204
    }

    /// The kind of failure.
    public var code: Code
    /// What failed and how to fix it, without secrets.
    public var message: String
    /// The error underneath, if any.
    public var cause: (any Error)?
    /// Code and message on one line.
    public var description: String { "\(self.code): \(self.message)" }

    /// Makes an error.
    public init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The same error for code that knows `NSError` only.
    public var nsError: NSError {
        NSError(domain: Self.errorDomain, code: self.errorCode, userInfo: self.errorUserInfo)
    }
}

extension SDKAuthorizationError: CustomNSError {
    /// The domain of the error as `NSError`, which is ``domain``.
    public static var errorDomain: String { Self.domain }

    /// The number of the code.
    public var errorCode: Int { self.code.rawValue }

    /// The message, and the error underneath.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: self.message]
        info[NSUnderlyingErrorKey] = self.cause
        return info
    }
}

extension SDKAuthorizationError {
    private static let codes: [TokenClientError.Code: Code] = [
        .invalidConfiguration: .invalidConfiguration,
        .insecureURL: .insecureURL,
        .unreachable: .unreachable,
        .timedOut: .timedOut,
        .refused: .refused,
        .rateLimited: .rateLimited,
        .invalidAnswer: .invalidAnswer,
        .wrongToken: .wrongToken,
        .expired: .expired,
        .excessiveRefresh: .excessiveRefresh,
        .lifeUnavailable: .lifeUnavailable,
        .storeFailed: .storeFailed,
    ]

    /// Wraps what a token provider threw; an error of its own keeps its words, if it has some.
    public init(_ error: any Error) {
        switch error {
        case let error as SDKAuthorizationError: self = error
        case let error as TokenClientError:
            self.init(code: Self.codes[error.code] ?? .providerFailed, message: error.message, cause: error)
        case is CancellationError:
            self.init(code: .cancelled, message: "The wait for a token was cancelled; ask again.", cause: error)
        default: self = Self(telling: error as NSError) ?? Self(providersOwn: error)
        }
    }

    /// Reads an error that went through code that knows `NSError` only; `nil` when it is none of these.
    private init?(telling error: NSError) {
        guard error.domain == Self.domain, let code = Code(rawValue: error.code) else { return nil }
        self.init(
            code: code,
            message: error.localizedDescription,
            cause: error.userInfo[NSUnderlyingErrorKey] as? any Error
        )
    }

    private init(providersOwn error: any Error) {
        self.init(
            code: .providerFailed,
            message: Self.words(of: error) ?? "The token provider failed; the underlying error says why.",
            cause: error
        )
    }

    /// What an error says of itself; `nil` where Foundation would only spell out its domain and number.
    private static func words(of error: any Error) -> String? {
        let words =
            (error as? any LocalizedError)?.errorDescription
            ?? (error as NSError).userInfo[NSLocalizedDescriptionKey] as? String
        return words.flatMap { $0.isEmpty ? nil : $0 }
    }
}
