// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation

/// Why a desk issued no token; it may be told to whoever asked.
public struct TokenDeskRefusal: Error, Sendable, CustomStringConvertible {
    /// What went wrong, in terms a caller can act on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        enum Wrapped: String { case unauthenticated, refused, limited, notServed, unavailable }
        let wrapped: Wrapped
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
    /// The reason that it is counted and recorded under, one of a few words.
    private(set) var label: String
    /// Code and message on one line.
    public var description: String { "\(self.code): \(self.message)" }

    /// Makes a refusal.
    public init(code: Code, message: String, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.label = code.description
    }

    /// What a request that it ends is counted as.
    var outcome: TokenServerMetrics.Outcome {
        switch self.code.wrapped {
        case .unauthenticated: .unauthenticated
        case .refused: .refused
        case .limited: .limited
        case .notServed, .unavailable: .failed
        }
    }
}

extension TokenDeskRefusal {
    static let unauthenticated = Self(
        code: .unauthenticated,
        message: "The caller is not known, or its credential is not valid now; send Authorization: Bearer CREDENTIAL."
    )

    static let unavailable = Self(
        code: .unavailable, message: "No token can be issued now; try again.", retryAfter: .seconds(2))

    /// What those are told who are turned away before the desk hears of them.
    static let overloaded = Self(
        code: .unavailable,
        message: "More tokens are asked for than can be made; come again after the time in Retry-After.",
        retryAfter: .seconds(1)
    )

    static let notServed = Self(
        code: .notServed,
        message: "This server has nothing to sign tokens of this role with; its operator must set that up first."
    ).labelled("role_not_served")

    static func unknown(_ reason: CallerRefusal.Reason?) -> Self {
        Self.unauthenticated.labelled("caller_\(reason?.rawValue ?? "absent")")
    }

    static func refused(_ role: Role) -> Self {
        Self(code: .refused, message: "The caller may not have this token of the role \(role).").labelled("policy")
    }

    static func limited(_ excess: RateLimitExceeded) -> Self {
        Self(code: .limited, message: excess.message, retryAfter: excess.retryAfter)
            .labelled("limit_\(excess.scope.rawValue)")
    }

    static func failed(_ step: TokenDesk.Step) -> Self {
        Self.unavailable.labelled(step.rawValue)
    }

    private func labelled(_ label: String) -> Self {
        var refusal = self
        refusal.label = label
        return refusal
    }
}

extension TokenDeskRefusal: CustomNSError {
    /// The message, which is what `localizedDescription` says.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: self.message] }
}
