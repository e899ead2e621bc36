// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
package import Foundation

/// The tokens with which a replay asks for the pages of lists, in place of the recorded ones.
package struct ReplayPages: Sendable {
    /// The tokens of the replay, by those of the recording.
    private var tokens: [String: String] = [:]

    /// Knows of no page yet but the first ones.
    package init() {}

    /// Takes note of the token that an answer has for the next page.
    ///
    /// - Parameters:
    ///   - call: The recorded call, whose page is known.
    ///   - answer: The answer of now, in JSON.
    package mutating func add(_ call: LoggedCall, answer: Data) {
        guard let recorded = call.response?["nextPageToken"]?.string else { return }
        self.tokens[recorded] = (try? JSONValue(parsing: answer))?.object?["nextPageToken"]?.string
    }

    /// Whether a call asks for a first page, or for one that an answer of now led to; it is about another page otherwise,
    /// and its answer cannot be compared.
    ///
    /// - Parameter call: The recorded call.
    /// - Returns: Whether its page is known.
    package func hasPage(of call: LoggedCall) -> Bool {
        guard let recorded = call.request["pageToken"]?.string, !recorded.isEmpty else { return true }
        return self.tokens[recorded] != nil
    }

    /// The token of now for a recorded one; `nil` for one that no answer led to.
    func token(for recorded: String) -> String? { self.tokens[recorded] }
}
