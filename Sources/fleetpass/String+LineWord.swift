// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The printable ASCII characters that no word holds.
    private static let marks = Set("=\"'".utf8)

    /// The value as it stands in a line of several: a single word as it is, and anything else in quotation marks, in
    /// plain ASCII.
    ///
    /// What users choose, such as their names, could otherwise pass for more than one value, or for another line.
    var lineWord: String {
        let isWord = self.utf8.allSatisfy { (0x21...0x7E).contains($0) && !Self.marks.contains($0) }
        guard !isWord else { return self }
        let escaped = self.unicodeScalars.map { $0 == "'" ? String($0) : $0.escaped(asASCII: true) }
        return "\"" + escaped.joined() + "\""
    }
}
