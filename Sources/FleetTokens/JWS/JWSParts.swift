// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A compact JWS of any kind (RFC 7515 §7.1) in its parts: strict base64url, and a header that is strict JSON.
///
/// What the header should say is for the reader of each kind to judge.
package struct JWSParts: Sendable {
    /// Why a text is none, in the order of the checks.
    package enum Fault: Error, Hashable, Sendable {
        /// It is too long.
        case size
        /// It is not three parts with dots between them.
        case form
        /// A part is not strict base64url.
        case encoding
        /// The header is not a JSON object, for this reason.
        case header(String)
    }

    /// The header's parameters.
    package let header: JSONObject
    /// The bytes that are signed: header, dot, payload, all in base64url.
    package let signingInput: [UInt8]
    /// The decoded payload, which nothing vouches for yet.
    package let payload: [UInt8]
    /// The decoded signature.
    package let signature: [UInt8]

    /// Takes a text apart.
    ///
    /// - Parameters:
    ///   - text: The compact JWS.
    ///   - longest: The most bytes that are read.
    /// - Throws: The first ``Fault``.
    package init(_ text: some Collection<UInt8>, atMost longest: Int) throws(Fault) {
        guard text.count <= longest else { throw .size }
        let bytes = Array(text)
        let dot = UInt8(ascii: ".")
        guard let first = bytes.firstIndex(of: dot, from: 0), let second = bytes.firstIndex(of: dot, from: first + 1)
        else { throw .form }
        guard let header = Base64URL.decode(bytes[..<first]),
            let payload = Base64URL.decode(bytes[(first + 1)..<second]),
            let signature = Base64URL.decode(bytes[(second + 1)...])
        else {
            // A third dot is no base64url, so only what cannot be decoded is searched for one.
            throw bytes[(second + 1)...].contains(dot) ? .form : .encoding
        }
        let value: JSONValue
        do throws(TokenError) {
            value = try JSONValue(parsing: header)
        } catch {
            throw .header(error.message)
        }
        guard let object = value.object else { throw .header("It is not an object.") }
        self.header = object
        self.signingInput = Array(bytes[..<second])
        self.payload = payload
        self.signature = signature
    }
}

extension [UInt8] {
    /// Where a byte stands first at or after a position; of a token's hundreds, the system looks at many at once.
    fileprivate func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        self.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            return memchr(base + start, Int32(byte), bytes.count - start).map { UnsafeRawPointer($0) - base }
        }
    }
}
