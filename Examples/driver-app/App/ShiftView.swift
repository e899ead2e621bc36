// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(SwiftUI)
    import SwiftUI

    /// Starts and stops the shift, and shows what became of updates and tokens.
    struct ShiftView: View {
        @ObservedObject var model: DriverModel

        var body: some View {
            List {
                Toggle("On shift", isOn: self.$model.isTracking)
                if let problem = self.model.state.locationProblem {
                    Text(problem.reason).foregroundStyle(.red)
                }
                Section("Last update") {
                    Text(self.lastUpdate)
                    if let time = self.model.state.lastUpdateAt {
                        LabeledContent("At", value: time, format: .dateTime.hour().minute().second())
                    }
                    LabeledContent("Updates", value: self.model.state.succeeded, format: .number)
                }
                Section("Tokens") {
                    ForEach(Array(self.model.tokenEvents.enumerated()), id: \.offset) { _, event in
                        Text(event).font(.footnote.monospaced())
                    }
                }
            }
            .navigationTitle("Shift")
            .toolbar {
                Button("Sign out", action: self.model.signOut)
            }
        }

        private var lastUpdate: String {
            switch self.model.state.lastUpdate {
            case .succeeded(let state): "Arrived: \(state)"
            case .failed(_, let reason): reason
            case nil: "None yet"
            }
        }
    }
#endif
