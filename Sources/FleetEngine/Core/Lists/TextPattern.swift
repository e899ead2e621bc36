// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What a filter compares texts with, made ready once for all of them.
struct TextPattern: Sendable {
    /// Where in a text the core must be found.
    private enum Place { case whole, start, end, anywhere }

    private let place: Place
    /// The pattern without wildcards, normalised.
    private let core: [UInt8]

    /// Reads a pattern, which may have the wildcard `*` at either end.
    init(_ pattern: String) {
        // Scalar by scalar: a wildcard may be one character together with the accent behind it.
        var core = pattern.unicodeScalars[...]
        self.place =
            switch (core.first == "*", core.last == "*") {
            case (true, true): .anywhere
            case (true, false): .end
            case (false, true): .start
            case (false, false): .whole
            }
        core = core.drop { $0 == "*" }
        while core.last == "*" { core.removeLast() }
        self.core = NormalisedText(String(core)).utf8
    }

    /// Makes a pattern that one text alone meets, in which `*` is a character like any other.
    init(exactly text: String) {
        self.place = .whole
        self.core = NormalisedText(text).utf8
    }

    /// The only text that meets the pattern, in normalisation form C; `nil` for a pattern with a wildcard.
    var onlyText: String? { self.place == .whole ? String(decoding: self.core, as: UTF8.self) : nil }

    /// Whether a text meets the pattern.
    func matches(_ text: NormalisedText) -> Bool {
        switch self.place {
        case .whole: text.utf8 == self.core
        case .start: text.utf8.starts(with: self.core)
        case .end: text.utf8.suffix(self.core.count).elementsEqual(self.core)
        case .anywhere: self.isPart(of: text.utf8)
        }
    }

    private func isPart(of text: [UInt8]) -> Bool {
        guard let first = self.core.first else { return true }
        guard self.core.count <= text.count else { return false }
        return (0...text.count - self.core.count).contains { start in
            text[start] == first && text[start..<start + self.core.count].elementsEqual(self.core)
        }
    }
}
