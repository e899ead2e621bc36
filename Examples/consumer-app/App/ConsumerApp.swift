// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(SwiftUI)
    import SwiftUI

    /// A customer names a trip and sees how far it is.
    @main struct ConsumerApp: App {
        @StateObject private var model = ConsumerModel()

        var body: some Scene {
            WindowGroup {
                NavigationStack {
                    if self.model.isSignedIn {
                        TripView(model: self.model)
                    } else {
                        SignInView(model: self.model)
                    }
                }
            }
        }
    }
#endif
