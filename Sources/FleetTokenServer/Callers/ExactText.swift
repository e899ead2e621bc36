// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A text that equals no other text than one of the same bytes.
///
/// `String` takes texts for equal that Unicode calls equivalent, such as U+212A KELVIN SIGN for the letter K. What a
/// caller says is compared with what is configured by this type, so that nobody passes for another by such a character.
struct ExactText: Hashable, Sendable {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    static func == (first: Self, second: Self) -> Bool {
        first.text.utf8.elementsEqual(second.text.utf8)
    }

    func hash(into hasher: inout Hasher) {
        var text = self.text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}
