// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// One thing that can happen next; every order of these is tried.
///
/// A new kind is a case here and a line in ``ExploredCache/take(_:)``.
struct ExploredStep: Hashable, Sendable, CustomStringConvertible {
    enum Kind: UInt8, CaseIterable, Sendable {
        case request, cancel
        /// A call for a token that lives long, or longer than any.
        case ensure, ensureTooLong
        /// A token from an earlier run.
        case restore
        /// A good answer, with its refresh moment early or late in the window, or named by the server.
        case good, goodLate, goodWithMoment
        /// An answer that is soon below the minimum life, is below it already, is over on arrival, is the token in hand,
        /// or was refused before.
        case short, tiny, over, same, refusedAgain
        /// A failure with a short or long pause, or with the pause that the server asked for.
        case fail, failLate, failWithMoment
        /// A wake-up of the fetch.
        case losePatience, timeOut
        /// The service refuses the token.
        case refuse
        /// Time passes: one tick, or up to the next moment at which anything changes.
        case tick, jump
    }

    let kind: Kind
    let subject: UInt8

    var description: String { "\(self.kind)\(self.subject == 0 ? "" : "'")" }

    /// All steps for so many subjects; time passes for all of them at once.
    static func all(subjects: Int) -> [Self] {
        (0..<UInt8(subjects)).flatMap { subject in
            Kind.allCases.filter { subject == 0 || ($0 != .tick && $0 != .jump) }
                .map { Self(kind: $0, subject: subject) }
        }
    }
}
