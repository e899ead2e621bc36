// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Combine)
    import Combine

    /// What the screens show, and what their buttons do.
    @MainActor final class DriverModel: ObservableObject {
        @Published private(set) var state = ShiftState()
        @Published private(set) var tokenEvents: [String] = []
        @Published private(set) var problem: String?
        @Published private(set) var isSignedIn = false

        // One shift and one provider, for as long as somebody is signed in.
        private var shift: Shift?

        func signIn(_ session: DriverSession) {
            do {
                let shift = try Shift(session: session)
                shift.onChange = { [weak self] in self?.show($0) }
                self.shift = shift
                self.problem = nil
                self.isSignedIn = true
            } catch {
                self.problem = "\(error)"
            }
        }

        /// Ends the shift, and with it the provider and every token that it held.
        func signOut() {
            guard let shift = self.shift else { return }
            shift.onChange = nil
            self.shift = nil
            self.state = ShiftState()
            self.tokenEvents = []
            self.problem = nil
            self.isSignedIn = false
            // The shift lasts until its last update is answered.
            Task {
                if await shift.signOut() { self.problem = "The last update failed; the vehicle may still be online." }
            }
        }

        /// Whether the vehicle is reported; setting it starts or stops that.
        var isTracking: Bool {
            get { self.state.isTracking }
            set { if newValue { self.shift?.start() } else { self.shift?.stop() } }
        }

        private func show(_ state: ShiftState) {
            if let event = state.lastTokenEvent, event != self.state.lastTokenEvent {
                self.tokenEvents = Array(([event] + self.tokenEvents).prefix(20))
            }
            self.state = state
        }
    }
#endif
