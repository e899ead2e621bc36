// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension [UInt8] {
    /// The JSON with each character that it escapes as two surrogates in UTF-8 instead; all else stays as it is.
    ///
    /// The Protobuf library takes such a pair for another character, of the plane before, in every even plane.
    var withoutEscapedPairs: [UInt8] {
        guard var position = self.firstIndex(of: UInt8(ascii: "\\")) else { return self }
        var json: [UInt8] = []
        var taken = 0
        while position < self.count {
            guard self[position] == UInt8(ascii: "\\") else {
                position += 1
                continue
            }
            if let high = self.escapedUnit(at: position), UTF16.isLeadSurrogate(high),
                let low = self.escapedUnit(at: position + 6), UTF16.isTrailSurrogate(low)
            {
                json += self[taken..<position]
                json += String(decoding: [high, low], as: UTF16.self).utf8
                position += 12
                taken = position
            } else {
                // What follows a backslash belongs to it, be it a backslash itself.
                position += 2
            }
        }
        return json + self[taken...]
    }

    /// The code unit that begins at a position as `\uXXXX`; `nil` where none does.
    private func escapedUnit(at position: Int) -> UInt16? {
        guard position + 6 <= self.count, self[position] == UInt8(ascii: "\\"),
            self[position + 1] == UInt8(ascii: "u")
        else { return nil }
        var unit: UInt16 = 0
        for byte in self[position + 2..<position + 6] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
