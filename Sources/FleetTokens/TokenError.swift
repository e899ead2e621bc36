// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// An error from building or reading the parts of a Fleet Engine token.
///
/// A token that was read and then refused is a ``TokenRefusal`` instead.
public struct TokenError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, in terms a caller can act on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String { case invalidIdentifier, invalidClaims, invalidResourceName, invalidJSON }
        private let wrapped: Wrapped
        private init(_ wrapped: Wrapped) { self.wrapped = wrapped }
        /// The bounded name, fit for a metric label.
        public var description: String { self.wrapped.rawValue }

        /// An id is empty, too long, a wildcard, or holds a forbidden character; a retry cannot help.
        public static let invalidIdentifier = Self(.invalidIdentifier)
        /// The private claims are combined in a way Fleet Engine does not allow; a retry cannot help.
        public static let invalidClaims = Self(.invalidClaims)
        /// A resource name is not of the form `providers/P/vehicles/V`; a retry cannot help.
        public static let invalidResourceName = Self(.invalidResourceName)
        /// A JSON text breaks the strict reading rules; a retry cannot help.
        public static let invalidJSON = Self(.invalidJSON)
    }

    /// The kind of failure.
    public var code: Code
    /// What failed and how to fix it, without secrets.
    public var message: String
    /// Code and message on one line.
    public var description: String { "\(self.code): \(self.message)" }

    /// Makes an error.
    public init(code: Code, message: String) {
        self.code = code
        self.message = message
    }
}

extension TokenError: CustomNSError {
    /// The message, which is what `localizedDescription` says.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: self.message] }
}
