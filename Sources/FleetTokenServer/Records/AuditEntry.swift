// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FleetTokens
import Foundation

/// One event with its place in the chain.
///
/// Each entry's hash covers the hash before it, so no entry can be changed, removed or moved without every later hash
/// being wrong. The hash is SHA-256 over `fleetpass-audit-1`, the previous hash in hexadecimal, the sequence in
/// decimal, and the record's JSON, each followed by a line feed but the last; anything that can hash can check it.
public struct AuditEntry: Hashable, Sendable {
    /// Counts from 1, without gaps.
    public let sequence: Int64
    /// The record as it was hashed: JSON with sorted keys and without white space.
    public let content: String
    /// The hash in hexadecimal.
    public let hash: String

    /// What stands for the hash before the first entry.
    static let origin = String(repeating: "0", count: 64)

    init(sequence: Int64, content: String, hash: String) {
        self.sequence = sequence
        self.content = content
        self.hash = hash
    }

    /// Adds an event to a chain.
    init(_ event: AuditEvent, after head: AuditHead) {
        let content = String(decoding: event.json.serialized, as: UTF8.self)
        let sequence = head.sequence + 1
        self.init(
            sequence: sequence, content: content,
            hash: Self.hash(content, sequence: sequence, after: head.hash))
    }

    /// What the entry tells; `nil` where the content is nothing that is known.
    public var event: AuditEvent? { AuditEvent(json: self.content) }

    /// The entry as one line of JSON: `hash`, `record` and `sequence`.
    public var jsonLine: String {
        // The content is put in as it was hashed, so that a reader can hash it again.
        #"{"hash":"\#(self.hash)","record":\#(self.content),"sequence":\#(self.sequence)}"#
    }

    static func hash(_ content: String, sequence: Int64, after previous: String) -> String {
        SHA256.hash(data: Data("fleetpass-audit-1\n\(previous)\n\(sequence)\n\(content)".utf8)).hexadecimal
    }
}

/// The end of a chain: how many entries there are, and the last one's hash.
///
/// Whoever notes it elsewhere can tell later that nothing up to it was cut off or rewritten.
public struct AuditHead: Hashable, Sendable, CustomStringConvertible {
    /// The last entry's sequence; 0 for an empty chain.
    public let sequence: Int64
    /// The last entry's hash in hexadecimal.
    public let hash: String

    /// The head of an empty chain.
    static let origin = Self(sequence: 0, hash: AuditEntry.origin)

    init(sequence: Int64, hash: String) {
        self.sequence = sequence
        self.hash = hash
    }

    init(_ entry: AuditEntry) {
        self.init(sequence: entry.sequence, hash: entry.hash)
    }

    /// Reads `SEQUENCE:HASH`; `nil` for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let sequence = Int64(parts[0]), sequence >= 0, parts[1].utf8.count == 64,
            parts[1].allSatisfy({ $0.isHexDigit && !$0.isUppercase })
        else { return nil }
        self.init(sequence: sequence, hash: String(parts[1]))
    }

    /// The head as `SEQUENCE:HASH`.
    public var description: String { "\(self.sequence):\(self.hash)" }
}

/// The part of a chain that a store holds: all of it, until records are moved to an archive.
public struct AuditSpan: Hashable, Sendable {
    /// What the first entry follows; of sequence 0 where nothing was moved.
    public let start: AuditHead
    /// The last entry.
    public let head: AuditHead
    /// Whether the store is an archive, whose chain continues elsewhere.
    public let isArchive: Bool

    /// How many entries there are.
    public var count: Int64 { self.head.sequence - self.start.sequence }
}
