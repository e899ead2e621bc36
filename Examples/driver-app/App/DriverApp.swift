// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(SwiftUI)
    import SwiftUI

    /// A driver signs in, goes online, and sees what becomes of updates and tokens.
    @main struct DriverApp: App {
        @StateObject private var model = DriverModel()

        var body: some Scene {
            WindowGroup {
                NavigationStack {
                    if self.model.isSignedIn {
                        ShiftView(model: self.model)
                    } else {
                        SignInView(model: self.model)
                    }
                }
            }
        }
    }
#endif
