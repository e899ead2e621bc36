// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(SwiftUI)
    import SwiftUI

    /// Stands in for the app's own sign-in.
    struct SignInView: View {
        @ObservedObject var model: ConsumerModel
        @State private var server = "http://127.0.0.1:8080"
        @State private var provider = "demo-fleet"
        @State private var secret = ""

        var body: some View {
            Form {
                TextField("Token server", text: self.$server)
                TextField("Provider", text: self.$provider)
                SecureField("Secret", text: self.$secret)
                Button("Sign in", action: self.signIn)
                if let problem = self.model.problem {
                    Text(problem).foregroundStyle(.red)
                }
            }
            .autocorrectionDisabled()
            .textInputAutocapitalization(.never)
            .navigationTitle("Customer")
        }

        private func signIn() {
            guard let server = URL(string: self.server) else { return }
            let secret = self.secret
            // `fleetpass up` serves tokens and the engine at one address; a company has an address for its tokens only.
            self.model.signIn(
                ConsumerSession(
                    provider: self.provider, tokenServer: server, engine: server, idToken: { secret }))
        }
    }
#endif
