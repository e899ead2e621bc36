// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension StringProtocol {
    /// The text as it may be shown to a person, with characters that are not seen written as JSON writes them.
    ///
    /// What comes from outside could otherwise steer a terminal, forge a line, or turn the direction of writing. Shown
    /// text is not changed again, and JSON stays JSON of the same value.
    ///
    /// - Parameter limit: How many Unicode scalars are shown at most; `…` stands for the rest.
    /// - Returns: The text, with `\u001b` in place of an escape character, and so for the others.
    package func shown(upTo limit: Int = .max) -> String {
        var shown = ""
        for (count, scalar) in self.unicodeScalars.enumerated() {
            guard count < limit else { return shown + "…" }
            guard scalar.isUnseen else {
                shown.unicodeScalars.append(scalar)
                continue
            }
            for unit in String(Character(scalar)).utf16 {
                let digits = String(unit, radix: 16)
                shown += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return shown
    }
}

extension Unicode.Scalar {
    /// Whether the character is not seen but changes what is: controls, such as escape; formats, such as those of
    /// bidirectional text; separators of lines and paragraphs.
    fileprivate var isUnseen: Bool {
        switch self.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
