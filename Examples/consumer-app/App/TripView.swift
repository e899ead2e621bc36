// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(SwiftUI)
    import SwiftUI

    /// Follows a trip, and shows how far it is and what became of tokens.
    struct TripView: View {
        @ObservedObject var model: ConsumerModel
        @State private var trip = ""

        var body: some View {
            List {
                Section("Trip") {
                    TextField("Trip", text: self.$trip)
                        .autocorrectionDisabled()
                        .textInputAutocapitalization(.never)
                    Button("Follow") { self.model.follow(self.trip) }
                        .disabled(self.trip.isEmpty)
                    if let problem = self.model.problem ?? self.model.state.problem {
                        Text(problem).foregroundStyle(.red)
                    }
                    if let time = self.model.state.problemAt {
                        LabeledContent("At", value: time, format: .dateTime.hour().minute().second())
                    }
                }
                if let status = self.model.state.status {
                    Section("Status") {
                        Text(status)
                        if let arrival = self.model.state.arrival {
                            LabeledContent("Next stop at", value: arrival, format: .dateTime.hour().minute())
                        }
                        if let distance = self.model.state.distance {
                            LabeledContent("Metres to go", value: distance, format: .number)
                        }
                    }
                }
                Section("Tokens") {
                    ForEach(Array(self.model.tokenEvents.enumerated()), id: \.offset) { _, event in
                        Text(event).font(.footnote.monospaced())
                    }
                }
            }
            .navigationTitle("Trip")
            .toolbar {
                Button("Sign out", action: self.model.signOut)
            }
        }
    }
#endif
