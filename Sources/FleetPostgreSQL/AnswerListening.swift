// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Hears from a connection how its waiting for the server goes.
protocol AnswerListening: Sendable {
    /// Something came from the server.
    func heard()

    /// Nothing came for a second or more.
    ///
    /// - Parameters:
    ///   - start: When the connection began to wait.
    ///   - probe: Tries a new connection to the same server; says whether it was answered.
    func waited(since start: ContinuousClock.Instant, probe: () -> Bool)
}
