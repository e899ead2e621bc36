// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How fast OpenSSL signs on this machine.
package enum OpenSSLSpeed {
    // `BIGNUM *BN_bin2bn(const unsigned char *, int, BIGNUM *)`
    private typealias ReadNumber = @convention(c) (UnsafePointer<UInt8>, CInt, OpaquePointer?) -> OpaquePointer?
    // `BN_CTX *BN_CTX_new(void)`
    private typealias MakeContext = @convention(c) () -> OpaquePointer?
    // `void BN_free(BIGNUM *)` and `void BN_CTX_free(BN_CTX *)`
    private typealias Free = @convention(c) (OpaquePointer?) -> Void
    // `int BN_mod_exp_mont_consttime(BIGNUM *, const BIGNUM *, const BIGNUM *, const BIGNUM *, BN_CTX *, BN_MONT_CTX *)`
    private typealias Power =
        @convention(c) (
            OpaquePointer?, OpaquePointer?, OpaquePointer?, OpaquePointer?, OpaquePointer?, OpaquePointer?
        ) -> CInt

    /// Measures a power of 1024 bits, of which an RSA-2048 signature takes two and little else.
    ///
    /// - Parameter rounds: How often it is taken; the shortest time counts, as nothing else shortens one.
    /// - Returns: The time of one; `nil` where there is no OpenSSL.
    package static func timeOfPower(rounds: Int = 9) -> Duration? {
        // Loads the library and sees that it is one that signs here.
        guard OpenSSLLibrary.installed != nil,
            let library = DynamicLibrary(named: "libcrypto.so.3", ifLoaded: true),
            let readNumber: ReadNumber = library.find("BN_bin2bn"),
            let makeContext: MakeContext = library.find("BN_CTX_new"),
            let freeNumber: Free = library.find("BN_clear_free"), let freeContext: Free = library.find("BN_CTX_free"),
            let power: Power = library.find("BN_mod_exp_mont_consttime")
        else { return nil }
        func number(_ byte: UInt8) -> OpaquePointer? { readNumber([UInt8](repeating: byte, count: 128), 128, nil) }
        let (base, exponent, modulus, result) = (number(0x5A), number(0xA5), number(0xFF), number(0))
        let context = makeContext()
        defer {
            for number in [base, exponent, modulus, result] { freeNumber(number) }
            freeContext(context)
        }
        guard base != nil, exponent != nil, modulus != nil, result != nil, context != nil else { return nil }
        let clock = ContinuousClock()
        var shortest: Duration?
        for _ in 0..<rounds {
            var status: CInt = 0
            let time = clock.measure { status = power(result, base, exponent, modulus, context, nil) }
            guard status == 1 else { return nil }
            shortest = min(time, shortest ?? time)
        }
        return shortest
    }
}
