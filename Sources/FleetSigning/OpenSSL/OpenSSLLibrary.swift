// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// OpenSSL's libcrypto as this machine has it, found when the program runs, so that nothing is needed to build.
///
/// Only functions that every OpenSSL 3 has, with one signature, are used. Without the library, or with another version,
/// there is no value of this type.
struct OpenSSLLibrary: Sendable {
    typealias Handle = OpaquePointer
    /// 1 for success.
    typealias Status = CInt

    // `int OPENSSL_init_crypto(uint64_t, const OPENSSL_INIT_SETTINGS *)`
    private typealias Initialise = @convention(c) (UInt64, OpaquePointer?) -> Status
    // `const char *OpenSSL_version(int)`
    private typealias Version = @convention(c) (CInt) -> UnsafePointer<CChar>?
    // `EVP_PKEY *d2i_AutoPrivateKey(EVP_PKEY **, const unsigned char **, long)`
    typealias ReadKey =
        @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>, CLong) -> Handle?
    // `void EVP_PKEY_free(EVP_PKEY *)` and `void EVP_PKEY_CTX_free(EVP_PKEY_CTX *)`
    typealias Free = @convention(c) (Handle?) -> Void
    // `int EVP_PKEY_get_size(const EVP_PKEY *)` and `int EVP_PKEY_sign_init(EVP_PKEY_CTX *)`
    typealias Ask = @convention(c) (Handle) -> CInt
    // `EVP_PKEY_CTX *EVP_PKEY_CTX_new(EVP_PKEY *, ENGINE *)`
    typealias MakeContext = @convention(c) (Handle, OpaquePointer?) -> Handle?
    // `int EVP_PKEY_CTX_set_rsa_padding(EVP_PKEY_CTX *, int)`
    typealias SetPadding = @convention(c) (Handle, CInt) -> Status
    // `int EVP_PKEY_CTX_set_signature_md(EVP_PKEY_CTX *, const EVP_MD *)`
    typealias SetDigest = @convention(c) (Handle, OpaquePointer?) -> Status
    // `const EVP_MD *EVP_sha256(void)`
    typealias Digest = @convention(c) () -> OpaquePointer?
    // `int EVP_PKEY_sign(EVP_PKEY_CTX *, unsigned char *, size_t *, const unsigned char *, size_t)`
    typealias Sign =
        @convention(c) (
            Handle, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<Int>, UnsafePointer<UInt8>?, Int
        ) -> Status
    // `void OPENSSL_cleanse(void *, size_t)`
    typealias Erase = @convention(c) (UnsafeMutableRawPointer?, Int) -> Void
    // `void ERR_clear_error(void)`
    typealias ForgetErrors = @convention(c) () -> Void

    /// The library of this machine.
    static let installed = Self(named: "libcrypto.so.3")

    /// What the library calls itself, such as `OpenSSL 3.0.19`.
    let version: String
    let readKey: ReadKey
    let freeKey: Free
    let sizeOfSignature: Ask
    let makeContext: MakeContext
    let freeContext: Free
    let startSigning: Ask
    let setPadding: SetPadding
    let setDigest: SetDigest
    let sha256: Digest
    var sign: Sign
    let erase: Erase
    let forgetErrors: ForgetErrors

    /// Loads a library, which then stays in the process.
    ///
    /// - Parameter name: The file's name, which is looked for where the system keeps its libraries.
    init?(named name: String) {
        guard let library = DynamicLibrary(named: name),
            let initialise = library.find("OPENSSL_init_crypto", as: Initialise.self),
            let version = library.find("OpenSSL_version", as: Version.self),
            let readKey: ReadKey = library.find("d2i_AutoPrivateKey"),
            let freeKey: Free = library.find("EVP_PKEY_free"),
            let sizeOfSignature: Ask = library.find("EVP_PKEY_get_size"),
            let makeContext: MakeContext = library.find("EVP_PKEY_CTX_new"),
            let freeContext: Free = library.find("EVP_PKEY_CTX_free"),
            let startSigning: Ask = library.find("EVP_PKEY_sign_init"),
            let setPadding: SetPadding = library.find("EVP_PKEY_CTX_set_rsa_padding"),
            let setDigest: SetDigest = library.find("EVP_PKEY_CTX_set_signature_md"),
            let sha256: Digest = library.find("EVP_sha256"), let sign: Sign = library.find("EVP_PKEY_sign"),
            let erase: Erase = library.find("OPENSSL_cleanse"),
            let forgetErrors: ForgetErrors = library.find("ERR_clear_error"),
            initialise(Self.noExitHandler, nil) == 1, let text = version(0).map(String.init(cString:)),
            text.hasPrefix("OpenSSL 3.")
        else { return nil }
        // "OpenSSL 3.0.19 27 Jan 2026"
        self.version = text.split(separator: " ").prefix(2).joined(separator: " ")
        (self.readKey, self.freeKey, self.sizeOfSignature) = (readKey, freeKey, sizeOfSignature)
        (self.makeContext, self.freeContext, self.startSigning) = (makeContext, freeContext, startSigning)
        (self.setPadding, self.setDigest, self.sha256, self.sign) = (setPadding, setDigest, sha256, sign)
        (self.erase, self.forgetErrors) = (erase, forgetErrors)
    }

    /// `OPENSSL_INIT_NO_ATEXIT`: the library must not take itself down at exit while other threads still sign.
    private static let noExitHandler: UInt64 = 0x0008_0000
}
