// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import GzipCoding
import NIOCore

/// Measures one message of a call as it arrives, and as its sender had it before it was compressed.
///
/// The library has one limit for the messages of all methods, and ends a call beyond that without a word.
struct MessageMeter {
    /// What comes before a message: whether it is compressed, and its length as it is sent.
    static let headBytes = 5

    /// The most bytes that the message may have.
    let limit: Int
    /// How a message is compressed that is; `nil` where its sender names no way that is known.
    let coding: InflatedLength.Coding?
    private var head: [UInt8] = []
    private var left = 0
    private var received = 0
    private var inflated: InflatedLength?

    init(limit: Int, coding: InflatedLength.Coding?) {
        self.limit = limit
        self.coding = coding
    }

    /// Whether all of the message has arrived.
    var isWhole: Bool { self.head.count == Self.headBytes && self.left == 0 }

    /// Whether all of the message has arrived, and it is not in full what it says: compressed in the way that is named.
    var isUnreadable: Bool { self.isWhole && self.isCompressed && self.inflated?.isComplete != true }

    private var isCompressed: Bool { self.head.first == 1 }

    /// The bytes of the message so far, with what comes before it: those that arrived or those they stand for, whichever
    /// are more.
    var count: Int { self.head.count + max(self.received, self.inflated?.count ?? 0) }

    /// Takes what has arrived of the message, and leaves what comes behind it.
    ///
    /// - Parameter bytes: The next bytes of the call.
    /// - Returns: Whether the message is within the limit as far as is known.
    mutating func take(_ bytes: inout ByteBuffer) -> Bool {
        let missing = min(Self.headBytes - self.head.count, bytes.readableBytes)
        if missing > 0 {
            self.head += bytes.readBytes(length: missing) ?? []
            guard self.head.count == Self.headBytes else { return true }
            self.left = self.head.dropFirst().reduce(0) { $0 << 8 | Int($1) }
            guard self.left <= self.limit else { return false }
            if self.isCompressed { self.inflated = self.coding.map(InflatedLength.init) }
        }
        let content = bytes.readBytes(length: min(self.left, bytes.readableBytes)) ?? []
        self.left -= content.count
        self.received += content.count
        guard let inflated = self.inflated else { return true }
        inflated.add(content, upTo: self.limit)
        return inflated.count <= self.limit
    }
}
