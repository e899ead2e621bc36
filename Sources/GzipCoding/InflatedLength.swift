// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CZlib

/// How many bytes compressed ones stand for, counted as they arrive; nothing of them is kept.
package final class InflatedLength {
    /// 32 KiB of window, and 32 to take the form of zlib or of gzip, whichever begins.
    private static let windowBits: Int32 = 15 + 32
    private static let scratchBytes = 16 * 1024

    // zlib knows its state by its address.
    private let stream: UnsafeMutablePointer<z_stream>
    private var isOver: Bool
    /// The bytes so far, or more than the limit that they passed.
    package private(set) var count = 0

    package init() {
        self.stream = .allocate(capacity: 1)
        self.stream.initialize(to: z_stream())
        self.isOver =
            inflateInit2_(self.stream, Self.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) != Z_OK
    }

    deinit {
        _ = inflateEnd(self.stream)
        self.stream.deallocate()
    }

    /// Counts what more bytes stand for; those that are not compressed, or come behind the end, stand for nothing.
    ///
    /// - Parameters:
    ///   - bytes: The next compressed bytes.
    ///   - limit: The count beyond which no more is looked at.
    package func add(_ bytes: [UInt8], upTo limit: Int) {
        guard !self.isOver, self.count <= limit, !bytes.isEmpty else { return }
        var bytes = bytes
        bytes.withUnsafeMutableBufferPointer { input in
            self.stream.pointee.next_in = input.baseAddress
            self.stream.pointee.avail_in = UInt32(input.count)
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.scratchBytes) { self.inflate(to: $0, limit) }
        }
    }

    private func inflate(to scratch: UnsafeMutableBufferPointer<UInt8>, _ limit: Int) {
        repeat {
            self.stream.pointee.next_out = scratch.baseAddress
            self.stream.pointee.avail_out = UInt32(scratch.count)
            let status = CZlib.inflate(self.stream, Z_NO_FLUSH)
            self.count += scratch.count - Int(self.stream.pointee.avail_out)
            // There may be no more to give though the last piece filled all of its place.
            guard status != Z_BUF_ERROR else { return }
            self.isOver = status != Z_OK
        } while !self.isOver && self.count <= limit
            && (self.stream.pointee.avail_in > 0 || self.stream.pointee.avail_out == 0)
    }
}
