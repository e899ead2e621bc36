// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Combine)
    import Combine
    import FleetTokenClient

    /// What the screens show, and what their buttons do.
    @MainActor final class ConsumerModel: ObservableObject {
        @Published private(set) var state = TripState()
        @Published private(set) var tokenEvents: [String] = []
        @Published private(set) var problem: String?
        @Published private(set) var isSignedIn = false

        private var tokens: ConsumerTokens?
        private var provider = ""
        private var follower: TripFollower?

        func signIn(_ session: ConsumerSession) {
            do {
                // One provider for as long as somebody is signed in, whatever trips are followed.
                let tokens = try ConsumerTokens(session: session)
                tokens.adopt(for: session)
                self.tokens = tokens
                self.provider = session.provider
                self.problem = nil
                self.isSignedIn = true
            } catch {
                self.problem = "\(error)"
            }
        }

        /// Follows nothing any more, and ends the provider, which the SDK keeps until somebody signs in again.
        func signOut() {
            self.unfollow()
            if let provider = self.tokens?.provider { Task { await provider.close() } }
            self.tokens = nil
            self.tokenEvents = []
            self.isSignedIn = false
        }

        func follow(_ trip: String) {
            self.unfollow()
            guard let tokens = self.tokens,
                let follower = TripFollower(tripName: "providers/\(self.provider)/trips/\(trip)", tokens: tokens)
            else {
                self.problem = "\(trip) is no trip."
                return
            }
            self.problem = nil
            follower.onChange = { [weak self] in self?.show($0) }
            self.follower = follower
            follower.start()
        }

        private func unfollow() {
            self.follower?.stop()
            self.follower = nil
            self.state = TripState()
        }

        private func show(_ state: TripState) {
            if let event = state.lastTokenEvent, event != self.state.lastTokenEvent {
                self.tokenEvents = Array(([event] + self.tokenEvents).prefix(20))
            }
            self.state = state
        }
    }
#endif
