// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import HTTPTypes

/// Why a desk issued no token; it may be told to whoever asked.
public struct TokenDeskRefusal: Error, Sendable, CustomStringConvertible {
    /// What went wrong, in terms a caller can act on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String { case unauthenticated, refused, limited, notServed, unavailable }
        private let wrapped: Wrapped
        private init(_ wrapped: Wrapped) { self.wrapped = wrapped }
        /// The bounded name, fit for a metric label.
        public var description: String { self.wrapped.rawValue }

        /// Nobody is known by the request, or its credential is not valid now.
        public static let unauthenticated = Self(.unauthenticated)
        /// The policy does not grant the caller this token.
        public static let refused = Self(.refused)
        /// Tokens are asked for too often; come again after ``TokenDeskRefusal/retryAfter``.
        public static let limited = Self(.limited)
        /// Nothing signs for the role; the operator must set that up first.
        public static let notServed = Self(.notServed)
        /// Something that the desk needs is down, as its log says; may be retried.
        public static let unavailable = Self(.unavailable)
    }

    /// The kind of refusal.
    public var code: Code
    /// What failed, in words for the caller.
    public var message: String
    /// When to come again, where that helps.
    public var retryAfter: Duration?
    /// Code and message on one line.
    public var description: String { "\(self.code): \(self.message)" }

    /// Makes a refusal.
    public init(code: Code, message: String, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    init(_ answer: RouteError) {
        let code: Code =
            switch answer.status {
            case .unauthorized: .unauthenticated
            case .forbidden: .refused
            case .tooManyRequests: .limited
            case .notImplemented: .notServed
            default: .unavailable
            }
        self.init(code: code, message: answer.message, retryAfter: answer.retryAfter)
    }
}

extension TokenDeskRefusal: CustomNSError {
    /// The message, which is what `localizedDescription` says.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: self.message] }
}
