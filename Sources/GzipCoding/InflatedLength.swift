// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CZlib

/// How many bytes compressed ones stand for, counted as they arrive; nothing of them is kept.
package final class InflatedLength {
    /// How bytes are compressed, as HTTP and gRPC name it.
    package enum Coding: String, Sendable {
        case gzip
        /// In the form of zlib, with its header.
        case deflate

        /// 32 KiB of window, and 16 for the header of gzip.
        fileprivate var windowBits: Int32 { self == .gzip ? 15 + 16 : 15 }
    }

    private static let scratchBytes = 16 * 1024

    // zlib knows its state by its address.
    private let stream: UnsafeMutablePointer<z_stream>
    private var isOver: Bool
    /// The bytes so far, or more than the limit that they passed.
    package private(set) var count = 0
    /// Whether the bytes so far are compressed ones to their end, with nothing behind it.
    package private(set) var isComplete = false

    package init(_ coding: Coding) {
        self.stream = .allocate(capacity: 1)
        self.stream.initialize(to: z_stream())
        self.isOver =
            inflateInit2_(self.stream, coding.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) != Z_OK
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
        guard !bytes.isEmpty else { return }
        guard !self.isOver, self.count <= limit else {
            self.isComplete = false
            return
        }
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
            self.isComplete = status == Z_STREAM_END && self.stream.pointee.avail_in == 0
        } while !self.isOver && self.count <= limit
            && (self.stream.pointee.avail_in > 0 || self.stream.pointee.avail_out == 0)
    }
}
