// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The most combining marks that follow one another in a text which is compared with others.
    ///
    /// No writing needs more than a few; the Stream-Safe Text Format has 30 (UAX #15 §13).
    package static let maximumMarksInARow = 128

    /// Whether more combining marks follow one another than ``maximumMarksInARow``.
    ///
    /// Texts are compared and hashed in their normal form, for which each such run is sorted, in a time that grows with the
    /// square of its length: a second for 64 KiB. What comes from others is asked for it before anything else is.
    package var hasEndlessMarks: Bool {
        // Each mark has two bytes at least.
        guard self.utf8.count > 2 * Self.maximumMarksInARow, self.utf8.contains(where: { $0 >= 0x80 }) else {
            return false
        }
        var marks = 0
        for scalar in self.unicodeScalars {
            // The first mark of all is U+0300.
            guard scalar.value >= 0x300, scalar.properties.canonicalCombiningClass != .notReordered else {
                marks = 0
                continue
            }
            marks += 1
            if marks > Self.maximumMarksInARow { return true }
        }
        return false
    }
}
