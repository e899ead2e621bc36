// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetTokens

extension TokenCacheMachine {
    /// Names one call of one caller.
    package struct CallerID: Hashable, Sendable {
        /// A number that is never used twice.
        package let number: UInt64

        /// Names a call.
        package init(_ number: UInt64) {
            self.number = number
        }
    }

    /// Names one fetch.
    package struct FlightID: Hashable, Sendable {
        /// Whose token is fetched.
        package let subject: TokenSubject
        /// A number that is never used twice.
        package let number: UInt64
    }

    /// What a fetch waits for, in this order.
    package enum FetchStep: Sendable {
        /// The token of an earlier run.
        case store
        /// The app's credentials.
        case credentials
        /// The app's proof of its integrity.
        case proof
        /// The token server's answer.
        case server
    }

    /// What can happen.
    package enum Event: Sendable {
        /// A caller wants a token.
        case requested(TokenSubject, CallerID)
        /// A caller wants the token in hand to live so long.
        case ensured(TokenSubject, CallerID, life: Duration)
        /// A caller no longer wants one.
        case cancelled(TokenSubject, CallerID)
        /// A fetch found a token from an earlier run before it asked the server; its life counts from the fetch's start.
        case restored(FlightID, TokenGrant)
        /// A fetch brought a token.
        case fetched(FlightID, TokenGrant)
        /// A fetch brought none.
        case failed(FlightID, TokenClientError)
        /// The first wake-up of a fetch went off: who can have a valid token waits no longer.
        case patienceEnded(FlightID)
        /// The second wake-up of a fetch went off: it failed, as what it waits for did not come; the steps before that took
        /// so long.
        case deadlinePassed(FlightID, awaiting: FetchStep, after: [FetchStep: Duration] = [:])
        /// The service refused a token.
        case invalidated(TokenSubject, FleetToken)
        /// The app knows of a reason to ask again at once.
        case pausesLifted
        /// The app's session is over.
        case closed
    }

    /// How a call ends.
    package enum Outcome: Sendable {
        /// There is a token, which lives so much longer.
        case token(FleetToken, life: Duration)
        case failure(TokenClientError)
        case cancelled
    }

    /// What is to be done about it.
    package enum Action: Sendable {
        /// Fetch a token, and wake the machine at both moments unless the fetch ends before.
        case startFetch(FlightID, patienceEnds: MonotonicInstant, deadline: MonotonicInstant)
        /// Stop the fetch and its wake-ups; its outcome no longer matters.
        case stopFetch(FlightID)
        /// End these calls.
        case resume(Set<CallerID>, Outcome)
        /// Keep a subject's token, which lives so much longer, for the next run.
        case save(TokenSubject, FleetToken, life: Duration)
        /// Keep none of the subject's.
        case discard(TokenSubject)
        /// Tell who listens.
        case notify(TokenEvent)
    }

    /// Where a subject stands.
    package enum Phase: Hashable, Sendable {
        /// No valid token, none on its way.
        case none
        /// No valid token, but one on its way.
        case fetching
        /// Handed out at once.
        case fresh
        /// Handed out at once, while a newer one is fetched in the background.
        case stale
        /// Too short for comfort: callers wait a little for a newer one, and get this one only if the server is slow,
        /// fails or has failed.
        case expiring
    }
}
