// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Who is signed in, and where the company's servers are.
struct DriverSession: Sendable {
    var provider: String
    var vehicle: String
    var tokenServer: URL
    /// The engine's address; `nil` is Google's.
    var engine: URL?
    /// What proves to the token server who asks.
    ///
    /// An app asks its identity provider here, which renews an ID token that is about to end. This example has a fixed
    /// secret, such as a caller's of `fleetpass up --callers`.
    var idToken: @Sendable () async throws -> String
}
