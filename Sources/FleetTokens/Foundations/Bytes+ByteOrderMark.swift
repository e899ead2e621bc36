// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension Collection<UInt8> {
    /// The bytes of a text without the byte order mark that some editors begin a file with.
    ///
    /// Whoever reads JSON may ignore it (RFC 8259 §8.1).
    package var withoutByteOrderMark: SubSequence { self.dropFirst(self.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0) }
}
