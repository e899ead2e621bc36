// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// An error from reading keys or minting tokens.
public struct SigningError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, in terms a caller can act on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case invalidKey, invalidKeySet, invalidWindow, signingFailed, heldBack, releaseCheckFailed, tokenTooLong
        }
        private let wrapped: Wrapped
        private init(_ wrapped: Wrapped) { self.wrapped = wrapped }
        /// The bounded name, fit for a metric label.
        public var description: String { self.wrapped.rawValue }

        /// A key file or PEM text cannot be used; mend the file, a retry cannot help.
        public static let invalidKey = Self(.invalidKey)
        /// A key set cannot be read; mend its source, a retry cannot help.
        public static let invalidKeySet = Self(.invalidKeySet)
        /// The minting window breaks a rule of the service; mend the configuration.
        public static let invalidWindow = Self(.invalidWindow)
        /// The signer refused or failed, see ``SigningError/cause``; may be retried.
        public static let signingFailed = Self(.signingFailed)
        /// The signer was not asked, as a quota that this process keeps to itself is used up; may be retried.
        ///
        /// A ``SignerLadder`` takes it for no failure of the signer.
        public static let heldBack = Self(.heldBack)
        /// The finished token did not verify with the public key and was not released; the signer must be mended.
        public static let releaseCheckFailed = Self(.releaseCheckFailed)
        /// The claims make a token longer than verifiers read, which was not released; claim less, a retry cannot help.
        public static let tokenTooLong = Self(.tokenTooLong)
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
}

extension SigningError: CustomNSError {
    /// The message, and the error underneath.
    public var errorUserInfo: [String: Any] {
        var info: [String: Any] = [NSLocalizedDescriptionKey: self.message]
        info[NSUnderlyingErrorKey] = self.cause
        return info
    }
}
