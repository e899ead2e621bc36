// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How a task ended, as the engine names it.
public struct TaskOutcome: RawRepresentable, Hashable, Sendable {
    /// The value on the wire.
    public let rawValue: String
    /// Wraps any value, known or not.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// It was done.
    public static let succeeded = Self(rawValue: "SUCCEEDED")
    /// It could not be done.
    public static let failed = Self(rawValue: "FAILED")
}
