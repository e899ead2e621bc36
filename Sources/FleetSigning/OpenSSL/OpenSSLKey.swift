// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FleetTokens
import Foundation

/// An RSA private key in OpenSSL's hands, which signs about twice as fast as swift-crypto's.
///
/// `@unchecked`: the key is set once and OpenSSL only reads it afterwards, with a lock of its own round the blinding;
/// the contexts are handed out one to a call under `idle`.
final class OpenSSLKey: @unchecked Sendable {
    /// What a signature is made in; good for any number of them, one at a time.
    private struct Context: @unchecked Sendable {
        let handle: OpenSSLLibrary.Handle
    }

    let library: OpenSSLLibrary
    private let key: OpenSSLLibrary.Handle
    private let signatureBytes: Int
    private let idle = Locked<[Context]>([])

    /// Copies a key; `nil` where OpenSSL does not take it.
    init?(_ key: _RSA.Signing.PrivateKey, library: OpenSSLLibrary) {
        var der = key.derRepresentation
        let handle = der.withUnsafeMutableBytes { bytes in
            defer { library.erase(bytes.baseAddress, bytes.count) }
            var next = UnsafePointer(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
            return library.readKey(nil, &next, bytes.count)
        }
        guard let handle else {
            library.forgetErrors()
            return nil
        }
        self.library = library
        self.key = handle
        self.signatureBytes = Int(library.sizeOfSignature(handle))
    }

    deinit {
        for context in self.idle.withLock({ $0 }) { self.library.freeContext(context.handle) }
        self.library.freeKey(self.key)
    }

    /// Signs a digest with RSASSA-PKCS1-v1_5; `nil` where OpenSSL could not.
    func signature(for digest: SHA256Digest) -> [UInt8]? {
        guard let context = self.idle.withLock({ $0.popLast() }) ?? self.makeContext() else { return nil }
        var count = self.signatureBytes
        let signature = [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
            let status = digest.withUnsafeBytes { digest in
                bytes.baseAddress.map {
                    self.library.sign(
                        context.handle, $0, &count, digest.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        digest.count)
                }
            }
            initialized = status == 1 ? count : 0
        }
        guard !signature.isEmpty else {
            self.library.forgetErrors()
            self.library.freeContext(context.handle)
            return nil
        }
        self.idle.withLock { $0.append(context) }
        return signature
    }

    private func makeContext() -> Context? {
        let pkcs1Padding: CInt = 1
        guard let handle = self.library.makeContext(self.key, nil) else { return nil }
        guard self.library.startSigning(handle) == 1, self.library.setPadding(handle, pkcs1Padding) == 1,
            self.library.setDigest(handle, self.library.sha256()) == 1
        else {
            self.library.forgetErrors()
            self.library.freeContext(handle)
            return nil
        }
        return Context(handle: handle)
    }
}
