// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CZlib

/// gzip (RFC 1952), for the bodies of HTTP.
///
/// In a module of its own, as gRPC's has zlib's types too, and which of the two the compiler takes is left to chance.
package enum Gzip {
    /// 32 KiB of window, and 16 for the header of gzip.
    private static let windowBits: Int32 = 15 + 16

    /// Compresses at zlib's fastest level, as answers are short.
    ///
    /// - Parameter bytes: What to compress.
    /// - Returns: The compressed bytes, or `nil` where zlib finds no memory.
    package static func compress(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        guard
            deflateInit2_(
                &stream, Z_BEST_SPEED, Z_DEFLATED, self.windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size)) == Z_OK
        else { return nil }
        defer { _ = deflateEnd(&stream) }
        let (output, status) = self.run(
            &stream, from: bytes, upTo: Int(deflateBound(&stream, UInt(bytes.count)))
        ) { (stream: inout z_stream) in deflate(&stream, Z_FINISH) }
        return status == Z_STREAM_END ? output : nil
    }

    /// What ``decompress(_:upTo:)`` finds.
    package enum Decompressed: Equatable {
        case bytes([UInt8])
        /// There are more bytes than are read, as in a decompression bomb.
        case tooLong
        case malformed
    }

    /// Decompresses one member, with nothing behind it.
    ///
    /// - Parameters:
    ///   - bytes: The compressed bytes.
    ///   - limit: The most bytes to give.
    /// - Returns: The bytes, or what is wrong.
    package static func decompress(_ bytes: [UInt8], upTo limit: Int) -> Decompressed {
        var stream = z_stream()
        guard inflateInit2_(&stream, self.windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            return .malformed
        }
        defer { _ = inflateEnd(&stream) }
        let (output, status) = self.run(&stream, from: bytes, upTo: limit + 1) { (stream: inout z_stream) in
            inflate(&stream, Z_FINISH)
        }
        if output.count > limit { return .tooLong }
        return status == Z_STREAM_END && stream.avail_in == 0 ? .bytes(output) : .malformed
    }

    /// Runs zlib once over all of the input.
    private static func run(
        _ stream: inout z_stream, from bytes: [UInt8], upTo limit: Int, _ body: (inout z_stream) -> Int32
    ) -> ([UInt8], Int32) {
        var bytes = bytes
        var status = Z_OK
        let output = [UInt8](unsafeUninitializedCapacity: limit) { output, count in
            bytes.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                status = body(&stream)
                count = output.count - Int(stream.avail_out)
            }
        }
        return (output, status)
    }
}
