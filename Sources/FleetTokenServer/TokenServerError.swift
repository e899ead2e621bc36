// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSQLite
public import Foundation

/// An error from setting up a token server, issuing a token, or reading or changing what its store holds.
public struct TokenServerError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, in terms a caller can act on.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case invalidConfiguration, invalidTarget, recordsArchived, roleNotServed, storeReplaced
            case storeUnavailable, storeUnreachable, wrongClock
        }
        private let wrapped: Wrapped
        private init(_ wrapped: Wrapped) { self.wrapped = wrapped }
        /// The bounded name, fit for a metric label.
        public var description: String { self.wrapped.rawValue }

        /// A file or setting cannot be used; mend it, a retry cannot help.
        public static let invalidConfiguration = Self(.invalidConfiguration)
        /// No token has what was to be withdrawn; mend the value.
        public static let invalidTarget = Self(.invalidTarget)
        /// Records of the audit that were asked for were moved to an archive; read them there.
        public static let recordsArchived = Self(.recordsArchived)
        /// No signer is set up for the role; add one.
        public static let roleNotServed = Self(.roleNotServed)
        /// The store's file, or the `-wal` or `-shm` beside it, was removed, or another put in its place, while it was in
        /// use; put it back, or restart.
        public static let storeReplaced = Self(.storeReplaced)
        /// The store cannot be opened or written; see the message, may be retried.
        public static let storeUnavailable = Self(.storeUnavailable)
        /// The store does not serve now: its database does not answer, or its file has no room, is kept busy or can only
        /// be read; may be retried.
        public static let storeUnreachable = Self(.storeUnreachable)
        /// This machine's clock is not the database's; set the one that is wrong.
        public static let wrongClock = Self(.wrongClock)
    }

    /// The kind of failure.
    public var code: Code
    /// What failed and how to fix it, without secrets.
    public var message: String
    /// What keeps the store's file from its use, where SQLite said so.
    var trouble: SQLiteTrouble?
    /// Code and message on one line.
    public var description: String { "\(self.code): \(self.message)" }

    /// Makes an error.
    public init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    /// A setting or file that cannot be used.
    init(_ error: ConfigurationError) {
        self.init(code: .invalidConfiguration, message: error.message)
    }
}

extension TokenServerError: CustomNSError {
    /// The message, which is what `localizedDescription` says.
    public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: self.message] }
}
