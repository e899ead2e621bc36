// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Why a call was not sent to the engine.
public struct FleetEngineCallError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, in terms a caller can act on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case insecureEngine, invalidCall, noToken, tokenMismatch
        }
        private let wrapped: Wrapped
        private init(_ wrapped: Wrapped) { self.wrapped = wrapped }
        /// The bounded name, fit for a metric label.
        public var description: String { self.wrapped.rawValue }

        /// The engine's address would show tokens to others; mend the configuration.
        public static let insecureEngine = Self(.insecureEngine)
        /// The resource or the query does not fit the method; mend the call.
        public static let invalidCall = Self(.invalidCall)
        /// There is no token, see ``FleetEngineCallError/cause``.
        public static let noToken = Self(.noToken)
        /// The token is for something else than the call; mend the token's source.
        public static let tokenMismatch = Self(.tokenMismatch)
    }

    /// The kind of failure.
    public var code: Code
    /// What failed and how to fix it, without secrets.
    public var message: String
    /// The error underneath, if any.
    public var cause: (any Error)?
    /// Code and message on one line.
    public var description: String { "\(self.code): \(self.message)" }

    /// Makes an error, as for a fake in tests.
    public init(code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}

extension FleetEngineCallError: CustomNSError {
    /// The message, and the error underneath.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: self.message]
        info[NSUnderlyingErrorKey] = self.cause
        return info
    }
}
