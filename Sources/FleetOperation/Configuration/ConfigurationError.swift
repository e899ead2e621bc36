// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A setting that cannot be used; a retry cannot help.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// Which setting, and what to do about it; no value that may be secret.
    public var message: String
    /// The same as ``message``.
    public var description: String { self.message }

    /// Makes an error.
    package init(_ message: String) {
        self.message = message
    }
}
