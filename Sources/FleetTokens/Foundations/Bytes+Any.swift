// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

extension Collection<UInt8> {
    /// Whether any byte is of a kind.
    ///
    /// Every byte is asked, many at once: for those of a token or a query, which seldom hold one, that is quicker than
    /// to stop at the first.
    @inlinable package func anyByte(is kind: (UInt8) -> Bool) -> Bool {
        func look(_ bytes: some Sequence<UInt8>) -> Bool {
            var found: UInt8 = 0
            for byte in bytes { found |= kind(byte) ? 1 : 0 }
            return found != 0
        }
        return self.withContiguousStorageIfAvailable { look($0) } ?? look(self)
    }
}
