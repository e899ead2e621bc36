// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Checks a chain entry by entry, in order, in constant memory.
struct AuditChain {
    private(set) var head = AuditHead.origin
    private let anchor: AuditHead?

    /// Starts at the origin.
    ///
    /// - Parameter anchor: A head that was noted earlier, elsewhere; the chain must run through it.
    init(anchor: AuditHead? = nil) {
        self.anchor = anchor
    }

    /// Takes the next entry.
    mutating func check(_ entry: AuditEntry) throws(AuditFault) {
        let expected = self.head.sequence + 1
        guard entry.sequence == expected else {
            throw AuditFault(
                sequence: expected, message: "Record \(expected) is missing; record \(entry.sequence) follows.")
        }
        guard entry.hash == AuditEntry.hash(entry.content, sequence: entry.sequence, after: self.head.hash) else {
            throw AuditFault(
                sequence: expected,
                message: "Record \(expected) does not fit its hash; it, its place or the one before was changed.")
        }
        guard entry.event != nil else {
            throw AuditFault(sequence: expected, message: "Record \(expected) cannot be read.")
        }
        self.head = AuditHead(entry)
        guard self.anchor.map({ $0.sequence != expected || $0 == self.head }) ?? true else {
            throw AuditFault(
                sequence: expected, message: "Record \(expected) is not the one of the anchor; the chain was rewritten."
            )
        }
    }

    /// Compares the end with the head that was kept with the records.
    func finish(keptHead: AuditHead) throws(AuditFault) {
        guard keptHead.sequence <= self.head.sequence else {
            throw AuditFault(
                sequence: self.head.sequence + 1,
                message:
                    "The last records are missing: \(keptHead.sequence) were kept, \(self.head.sequence) are there."
            )
        }
        guard keptHead == self.head else {
            throw AuditFault(
                sequence: keptHead.sequence + 1,
                message: "The records do not end at the kept head, number \(keptHead.sequence).")
        }
        if let anchor, anchor.sequence > self.head.sequence {
            throw AuditFault(
                sequence: self.head.sequence + 1,
                message: "The chain ends at \(self.head.sequence), before the anchor at \(anchor.sequence).")
        }
    }
}

/// The first place where a chain does not hold.
public struct AuditFault: Error, Sendable, CustomStringConvertible {
    /// The sequence of the record that is wrong or missing.
    public let sequence: Int64
    /// What is wrong.
    public let message: String
    /// What is wrong.
    public var description: String { self.message }
}
