// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Checks a chain entry by entry, in order, in constant memory.
struct AuditChain {
    private let start: AuditHead
    private(set) var head: AuditHead
    private let anchors: [AuditHead]
    /// Whether an entry tells that those before the start were moved to an archive.
    private var tellsOfStart = false

    /// Starts after an entry.
    ///
    /// - Parameters:
    ///   - start: The entry before the first.
    ///   - anchors: Heads that were noted earlier, elsewhere; the chain must run through each.
    /// - Throws: ``AuditFault`` for an anchor that the chain cannot run through, or ``TokenServerError`` with
    ///   ``TokenServerError/Code/recordsArchived`` for one from before the start.
    init(after start: AuditHead, anchors: [AuditHead] = []) throws {
        self.start = start
        self.head = start
        // Every chain runs through the origin, whichever part of it is here.
        self.anchors = anchors.filter { $0 != .origin }
        for anchor in self.anchors where anchor.sequence <= start.sequence && anchor != start {
            guard anchor.sequence < start.sequence else { throw Self.rewritten(at: anchor.sequence) }
            throw TokenServerError(
                code: .recordsArchived,
                message:
                    "The anchor, record \(anchor.sequence), is in an archive, as the records up to \(start.sequence) "
                    + "are; verify the archive with it, and these with a later one.")
        }
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
        for anchor in self.anchors where anchor.sequence == expected && anchor != self.head {
            throw Self.rewritten(at: expected)
        }
    }

    /// Compares both ends with what was kept with the records.
    ///
    /// - Throws: ``AuditFault``, or ``TokenServerError`` with ``TokenServerError/Code/recordsArchived`` for an archive
    ///   whose start nothing vouches for.
    func finish(_ span: AuditSpan) throws {
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
        for anchor in self.anchors where anchor.sequence > self.head.sequence {
            throw AuditFault(
                sequence: self.head.sequence + 1,
                message: "The chain ends at \(self.head.sequence), before the anchor at \(anchor.sequence).")
        }
        guard self.start != .origin, !self.tellsOfStart else { return }
        guard span.isArchive else {
            throw AuditFault(
                sequence: 1,
                message:
                    "The first records are missing: the chain starts after \(self.start.sequence), and no record tells "
                    + "that those before were moved to an archive.")
        }
        // The record of a move comes after what was moved, and may be in no archive yet. That this is an archive is told by
        // the file alone, which whoever cuts records off may write, so the head of the archive before is asked for.
        guard self.anchors.contains(self.start) else {
            throw TokenServerError(
                code: .recordsArchived,
                message:
                    "The records here hold together and start after record \(self.start.sequence), and nothing tells "
                    + "that those before were kept; verify the archive that ends there, and give its head as an anchor "
                    + "of this one.")
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
