// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Where the bytes of one direction of a connection of HTTP/2 stand between its frames (RFC 9113 §3.4, §4.1).
package struct HTTP2Frames {
    /// What a frame begins with.
    package struct Head: Hashable, Sendable {
        /// The bytes of its payload.
        package var length = 0
        /// Its type, such as 0 of DATA (RFC 9113 §6.1).
        package var type: UInt8 = 0
        /// The stream that it belongs to; 0 for the connection.
        package var stream: Int = 0
    }

    /// The type of HEADERS, with which a stream begins (RFC 9113 §6.2).
    package static let headersType: UInt8 = 1

    /// The bytes that are missing of the preface's text, or of a frame's payload.
    private var missing: Int
    /// How many of a head's 9 bytes are there, and what they tell.
    private var count = 0
    private var head = Head()
    private var isPrefaceRead: Bool

    /// Begins at a connection's begin.
    ///
    /// - Parameter isClients: Whether a client sends the bytes, whose preface begins with a text.
    package init(isClients: Bool) {
        self.missing = isClients ? 24 : 0
        self.isPrefaceRead = !isClients
    }

    /// Whether the last byte was a frame's last.
    package var isBetween: Bool { self.isPrefaceRead && self.missing == 0 && self.count == 0 }

    /// Takes in bytes.
    ///
    /// - Parameters:
    ///   - bytes: The next bytes.
    ///   - begun: Is told of each frame whose head ended among them.
    /// - Returns: Whether a frame ended among them.
    package mutating func read(_ bytes: UnsafeRawBufferPointer, begun: (Head) -> Void = { _ in }) -> Bool {
        var hasEnd = false
        var index = 0
        while index < bytes.count {
            if self.missing > 0 {
                let count = min(self.missing, bytes.count - index)
                self.missing -= count
                index += count
            } else {
                let byte = bytes[index]
                switch self.count {
                case 0...2: self.head.length = self.head.length << 8 | Int(byte)
                case 3: self.head.type = byte
                case 4: break
                // The first bit is reserved.
                case 5: self.head.stream = Int(byte & 0x7f)
                default: self.head.stream = self.head.stream << 8 | Int(byte)
                }
                self.count += 1
                index += 1
                guard self.count == 9 else { continue }
                begun(self.head)
                self.missing = self.head.length
                self.count = 0
                self.head = Head()
            }
            guard self.missing == 0 else { continue }
            // The preface's text ends no frame.
            hasEnd = hasEnd || self.isPrefaceRead
            self.isPrefaceRead = true
        }
        return hasEnd
    }
}
