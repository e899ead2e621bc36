// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Intel's multi-buffer library (`crypto_mb` of Cryptography Primitives) as this machine has it, found when the program
/// runs.
///
/// It computes eight RSA signatures side by side in the lanes of AVX-512 vectors. Without the library, on a processor that
/// it is not for, or with another interface, there is no value of this type.
struct MultiBufferLibrary: Sendable {
    typealias Method = OpaquePointer
    /// Eight numbers, one for each lane: 64-bit words, least significant first.
    typealias Numbers = UnsafePointer<UnsafePointer<UInt64>?>
    /// Four bits for each lane; 0 for success.
    typealias Status = UInt32

    // `int mbx_is_crypto_mb_applicable(int64u cpu_features)`
    typealias IsApplicable = @convention(c) (UInt64) -> CInt
    // `const mbxVersion *mbx_getversion(void)`, whose first fields are three of `int`
    typealias Version = @convention(c) () -> UnsafePointer<CInt>?
    // `const mbx_RSA_Method *mbx_RSA_private_crt_Method(int rsaBitsize)`
    typealias FindMethod = @convention(c) (CInt) -> Method?
    // `int mbx_RSA_Method_BufSize(const mbx_RSA_Method *)`
    typealias SizeOfBuffer = @convention(c) (Method) -> CInt
    // `mbx_status mbx_rsa_private_crt_mb8(const int8u *const from[8], int8u *const to[8], const int64u *const p[8],
    // const int64u *const q[8], const int64u *const dp[8], const int64u *const dq[8], const int64u *const iq[8],
    // int rsaBitlen, const mbx_RSA_Method *, int8u *buffer)`
    typealias Sign =
        @convention(c) (
            UnsafePointer<UnsafePointer<UInt8>?>, UnsafePointer<UnsafeMutablePointer<UInt8>?>,
            Numbers, Numbers, Numbers, Numbers, Numbers, CInt, Method, UnsafeMutableRawPointer
        ) -> Status

    /// How many signatures are made at once.
    static let lanes = 8

    /// The library of this machine.
    static let installed = Self(named: "libcrypto_mb.so.12") ?? Self(named: "libcrypto_mb.so.11")

    /// What the library calls itself, such as `crypto_mb 1.1.0`.
    let version: String
    let findMethod: FindMethod
    let sizeOfBuffer: SizeOfBuffer
    let sign: Sign

    /// Describes a library whose functions are at hand.
    init(version: String, findMethod: FindMethod, sizeOfBuffer: SizeOfBuffer, sign: Sign) {
        (self.version, self.findMethod) = (version, findMethod)
        (self.sizeOfBuffer, self.sign) = (sizeOfBuffer, sign)
    }

    /// Loads a library, which then stays in the process.
    ///
    /// - Parameter name: The file's name, which is looked for where the system keeps its libraries.
    init?(named name: String) {
        // Without features named, the library looks at the processor itself.
        guard let library = DynamicLibrary(named: name),
            let isApplicable = library.find("mbx_is_crypto_mb_applicable", as: IsApplicable.self),
            isApplicable(0) != 0, let version = library.find("mbx_getversion", as: Version.self)?(),
            let findMethod: FindMethod = library.find("mbx_RSA_private_crt_Method"),
            let sizeOfBuffer: SizeOfBuffer = library.find("mbx_RSA_Method_BufSize"),
            let sign: Sign = library.find("mbx_rsa_private_crt_mb8")
        else { return nil }
        self.init(
            version: "crypto_mb \(version[0]).\(version[1]).\(version[2])", findMethod: findMethod,
            sizeOfBuffer: sizeOfBuffer, sign: sign)
    }
}
