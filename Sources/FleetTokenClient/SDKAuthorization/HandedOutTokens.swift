// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens

/// The tokens that were handed out last, at most one for each subject.
///
/// The SDKs report that a call was refused, and not which token it carried; it can only be found here.
package struct HandedOutTokens: Sendable {
    /// A delivery driver has a token for each task, and only the newest can be meant.
    private static let capacity = 16
    private var newestLast: [(subject: TokenSubject, token: FleetToken)] = []

    /// Remembers nothing yet.
    package init() {}

    /// Takes note of a token; a question that fails leaves the one before it in use.
    package mutating func note(_ token: FleetToken, for subject: TokenSubject) {
        self.newestLast.removeAll { $0.subject == subject }
        self.newestLast.append((subject, token))
        if self.newestLast.count > Self.capacity { self.newestLast.removeFirst() }
    }

    /// Forgets the newest token of which something holds.
    ///
    /// - Parameter isMeant: Gets a subject and its token.
    /// - Returns: The token and whose it is, or `nil` when there is none.
    package mutating func takeNewest(
        where isMeant: (TokenSubject, FleetToken) -> Bool
    ) -> (subject: TokenSubject, token: FleetToken)? {
        guard let index = self.newestLast.lastIndex(where: { isMeant($0.subject, $0.token) }) else { return nil }
        return self.newestLast.remove(at: index)
    }
}
