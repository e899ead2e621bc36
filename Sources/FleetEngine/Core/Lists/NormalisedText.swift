// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// A text as filters compare it: whatever the spelling of its accents, equal texts have equal bytes.
struct NormalisedText: Hashable, Sendable {
    /// The UTF-8 of the text in normalisation form C.
    let utf8: [UInt8]

    /// Normalises a text.
    init(_ text: String) {
        // Almost every text is plain ASCII, which is in normalisation form C as it stands.
        let isASCII = !text.utf8.anyByte { $0 >= 0x80 }
        self.utf8 = Array((isASCII ? text : text.precomposedStringWithCanonicalMapping).utf8)
    }
}
