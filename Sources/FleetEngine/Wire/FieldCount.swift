// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Counts what a request consists of before anything is made of it.
///
/// A field takes hundreds of bytes of memory once it is read, and two on its way; compressed, a million of them take a
/// kilobyte. So the length of a request does not bound what it costs.
struct FieldCount {
    /// The most fields that a request may have, those of the messages in it included.
    ///
    /// 500 tasks with all the attributes that a task may have are some 170,000. So are the ways that fit into a megabyte,
    /// which resources are sent back with: each of their points has three fields of 20 bytes.
    static let maximum = 200_000
    /// The most fields that a message may have whose sender is not known, and who is told that alone.
    static let maximumOfStrangers = 50_000

    /// How deep messages are looked into; those of the API are not that deep.
    private static let levels = 12

    private let bytes: [UInt8]
    private let limit: Int
    private var count = 0

    private init(_ bytes: [UInt8], limit: Int) {
        self.bytes = bytes
        self.limit = limit
    }

    /// Whether a message in protobuf's binary form has more fields than a limit, those of the messages in it included.
    ///
    /// The form does not tell a message from a text: where bytes can be read as fields they count as such, up to what
    /// cannot, as a reader makes these before it finds that out. Bytes without a control character are a text, or hold no
    /// field of less than 32 bytes, of which there are never too many.
    static func exceeds(_ limit: Int, inMessage bytes: [UInt8]) -> Bool {
        var counter = Self(bytes, limit: limit)
        counter.countFields(of: bytes.indices, levels: self.levels)
        return counter.count > limit
    }

    /// Whether a text of JSON has more values than a limit, members and elements, and objects and arrays themselves.
    static func exceeds(_ limit: Int, inJSON bytes: [UInt8]) -> Bool {
        guard bytes.count > limit else { return false }
        var count = 0
        var isText = false
        var isEscaped = false
        for byte in bytes {
            if isText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: ","), UInt8(ascii: "{"), UInt8(ascii: "["): count += 1
            default: continue
            }
            if count > limit { return true }
        }
        return false
    }

    private mutating func countFields(of range: Range<Int>, levels: Int) {
        var position = range.lowerBound
        while position < range.upperBound, self.count <= self.limit {
            guard let tag = self.number(at: &position, before: range.upperBound), tag >> 3 > 0 else { return }
            self.count += 1
            switch tag & 7 {
            case 0: guard self.number(at: &position, before: range.upperBound) != nil else { return }
            case 1: position += 8
            case 2:
                guard let length = self.number(at: &position, before: range.upperBound),
                    length <= range.upperBound - position
                else { return }
                let content = position..<position + Int(length)
                if levels > 1, self.bytes[content].contains(where: { $0 < 0x20 }) {
                    self.countFields(of: content, levels: levels - 1)
                }
                position = content.upperBound
            // The begin and the end of a group, whose fields stand between them.
            case 3, 4: continue
            case 5: position += 4
            default: return
            }
        }
    }

    /// The number that begins at a position, seven bits in each byte; the position is behind it then.
    private func number(at position: inout Int, before end: Int) -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: 0 as UInt64, to: 70, by: 7) {
            guard position < end else { return nil }
            let byte = self.bytes[position]
            position += 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        return nil
    }
}
