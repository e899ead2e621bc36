// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

@testable import FleetSigning

/// A multi-buffer library for machines that have none: it computes each lane by OpenSSL's big numbers, from the numbers that
/// it is given.
enum StandInMultiBuffer {
    static let library = Self.make(sign: { from, to, p, q, dp, dq, iq, bits, _, _ in
        for lane in 0..<MultiBufferLibrary.lanes {
            BigNumbers.shared?.power(
                from[lane], to[lane], (p[lane], q[lane], dp[lane], dq[lane], iq[lane]), bytes: Int(bits) / 8)
        }
        return 0
    })

    /// One whose third lane errs in one bit.
    static let faulty = Self.make(sign: { from, to, p, q, dp, dq, iq, bits, method, buffer in
        let status = Self.library.sign(from, to, p, q, dp, dq, iq, bits, method, buffer)
        to[2]?[9] ^= 1
        return status
    })

    /// One that says that a lane failed.
    static let failing = Self.make(sign: { _, _, _, _, _, _, _, _, _, _ in 1 << 12 })

    private static func make(sign: MultiBufferLibrary.Sign) -> MultiBufferLibrary {
        MultiBufferLibrary(
            version: "crypto_mb 0.0.0", findMethod: { OpaquePointer(bitPattern: Int($0)) }, sizeOfBuffer: { _ in 64 },
            sign: sign)
    }
}

/// OpenSSL's big numbers.
private struct BigNumbers: Sendable {
    typealias Number = OpaquePointer?
    typealias Read = @convention(c) (UnsafePointer<UInt8>?, CInt, Number) -> Number
    typealias Write = @convention(c) (Number, UnsafeMutablePointer<UInt8>?, CInt) -> CInt
    typealias Free = @convention(c) (Number) -> Void
    typealias Make = @convention(c) () -> OpaquePointer?
    typealias Combine = @convention(c) (Number, Number, Number) -> CInt
    typealias Multiply = @convention(c) (Number, Number, Number, OpaquePointer?) -> CInt
    typealias CombineModulo = @convention(c) (Number, Number, Number, Number, OpaquePointer?) -> CInt

    static let shared = Self()

    let (readBig, readLittle): (Read, Read)
    let write: Write
    let (free, freeContext): (Free, Free)
    let makeContext: Make
    let add: Combine
    let multiply: Multiply
    let (power, subtractModulo, multiplyModulo): (CombineModulo, CombineModulo, CombineModulo)

    init?() {
        guard let library = DynamicLibrary(named: "libcrypto.so.3"), let readBig: Read = library.find("BN_bin2bn"),
            let readLittle: Read = library.find("BN_lebin2bn"),
            let write: Write = library.find("BN_bn2binpad"), let free: Free = library.find("BN_free"),
            let freeContext: Free = library.find("BN_CTX_free"), let makeContext: Make = library.find("BN_CTX_new"),
            let add: Combine = library.find("BN_add"), let multiply: Multiply = library.find("BN_mul"),
            let power: CombineModulo = library.find("BN_mod_exp"),
            let subtract: CombineModulo = library.find("BN_mod_sub"),
            let multiplyModulo: CombineModulo = library.find("BN_mod_mul")
        else { return nil }
        (self.readBig, self.readLittle, self.write) = (readBig, readLittle, write)
        (self.free, self.freeContext, self.makeContext) = (free, freeContext, makeContext)
        (self.add, self.multiply, self.power) = (add, multiply, power)
        (self.subtractModulo, self.multiplyModulo) = (subtract, multiplyModulo)
    }

    /// Takes a message to the power of a private key by the Chinese remainder theorem (RFC 8017 §5.1.2).
    func power(
        _ message: UnsafePointer<UInt8>?, _ result: UnsafeMutablePointer<UInt8>?,
        _ key: (
            p: UnsafePointer<UInt64>?, q: UnsafePointer<UInt64>?, dp: UnsafePointer<UInt64>?,
            dq: UnsafePointer<UInt64>?, iq: UnsafePointer<UInt64>?
        ), bytes: Int
    ) {
        func number(_ words: UnsafePointer<UInt64>?) -> Number {
            words?.withMemoryRebound(to: UInt8.self, capacity: bytes / 2) { self.readLittle($0, CInt(bytes / 2), nil) }
        }
        let (p, q, dp, dq) = (number(key.p), number(key.q), number(key.dp), number(key.dq))
        let (iq, value) = (number(key.iq), self.readBig(message, CInt(bytes), nil))
        let (first, second) = (self.readBig(nil, 0, nil), self.readBig(nil, 0, nil))
        let context = self.makeContext()
        defer {
            for number in [p, q, dp, dq, iq, value, first, second] { self.free(number) }
            self.freeContext(context)
        }
        let steps = [
            self.power(first, value, dp, p, context), self.power(second, value, dq, q, context),
            self.subtractModulo(first, first, second, p, context), self.multiplyModulo(first, first, iq, p, context),
            self.multiply(first, first, q, context), self.add(first, first, second),
            self.write(first, result, CInt(bytes)),
        ]
        assert(steps == [1, 1, 1, 1, 1, 1, CInt(bytes)])
    }
}
