// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Bundle {
    /// Whether the app may have places in the background: the mode has to be in the Info.plist.
    var hasPlacesInBackground: Bool {
        let modes = self.object(forInfoDictionaryKey: "UIBackgroundModes") as? [String] ?? []
        return modes.contains("location")
    }
}
