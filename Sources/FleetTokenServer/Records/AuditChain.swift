// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Checks a chain entry by entry, in order, in constant memory.
struct AuditChain {
    private let start: AuditHead
    private(set) var head: AuditHead
    private let anchor: AuditHead?
    /// Whether an entry tells that those before the start were moved to an archive.
    private var tellsOfStart = false

    /// Starts after an entry.
    ///
    /// - Parameters:
    ///   - start: The entry before the first.
    ///   - anchor: A head that was noted earlier, elsewhere; the chain must run through it.
    /// - Throws: ``AuditFault`` for an anchor that the chain cannot run through, or ``TokenServerError`` with
    ///   ``TokenServerError/Code/recordsArchived`` for one from before the start.
    init(after start: AuditHead, anchor: AuditHead? = nil) throws {
        self.start = start
        self.head = start
        // Every chain runs through the origin, whichever part of it is here.
        self.anchor = anchor == .origin ? nil : anchor
        guard let anchor = self.anchor, anchor.sequence <= start.sequence, anchor != start else { return }
        guard anchor.sequence < start.sequence else { throw Self.rewritten(at: anchor.sequence) }
        throw TokenServerError(
            code: .recordsArchived,
            message:
                "The anchor, record \(anchor.sequence), is in an archive, as the records up to \(start.sequence) are; "
                + "verify the archive with it, and these with a later one.")
    }

    private static func rewritten(at sequence: Int64) -> AuditFault {
        AuditFault(
            sequence: sequence, message: "Record \(sequence) is not the one of the anchor; the chain was rewritten.")
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
        guard let event = entry.event else {
            throw AuditFault(sequence: expected, message: "Record \(expected) cannot be read.")
        }
        if case .change(let change) = event, change.archivedHead == self.start { self.tellsOfStart = true }
        self.head = AuditHead(entry)
        guard self.anchor.map({ $0.sequence != expected || $0 == self.head }) ?? true else {
            throw Self.rewritten(at: expected)
        }
    }

    /// Compares both ends with what was kept with the records.
    func finish(_ span: AuditSpan) throws(AuditFault) {
        let keptHead = span.head
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
        // The record of an archive comes after what was moved, and may itself be in the next archive.
        guard span.isArchive || self.start == .origin || self.tellsOfStart else {
            throw AuditFault(
                sequence: 1,
                message:
                    "The first records are missing: the chain starts after \(self.start.sequence), and no record tells "
                    + "that those before were moved to an archive.")
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
