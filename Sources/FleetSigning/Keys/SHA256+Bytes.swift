// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto

extension SHA256 {
    /// The digest of bytes that lie together, which spares the search for them that any collection of regions needs.
    static func hash(bytes: UnsafeRawBufferPointer) -> SHA256Digest {
        var hash = Self()
        hash.update(bufferPointer: bytes)
        return hash.finalize()
    }
}
