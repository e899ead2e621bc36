// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// One place where credentials were looked for, and what was there.
public struct SearchStep: Hashable, Sendable, CustomStringConvertible {
    /// The places, in the order of the search (AIP-4110).
    public enum Place: String, Hashable, Sendable {
        /// What the caller gave.
        case explicit = "explicit option"
        /// The file that the variable names.
        case variable = "GOOGLE_APPLICATION_CREDENTIALS"
        /// The file that `gcloud auth application-default login` writes.
        case gcloudFile = "gcloud's file"
        /// The server that virtual machines and containers of Google Cloud ask.
        case metadataServer = "metadata server"
    }

    /// Where.
    public let place: Place
    /// What was found there, without secrets.
    public let finding: String
    /// Place and finding on one line.
    public var description: String { "\(self.place.rawValue): \(self.finding)" }
}
