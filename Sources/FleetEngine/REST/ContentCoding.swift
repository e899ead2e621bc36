// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import GzipCoding
import HTTPTypes
import Hummingbird
import NIOCore

/// How bodies are coded on their way: gzip or not at all.
enum ContentCoding {
    /// Below it, compressing costs more than it saves.
    static let leastCompressedBytes = 1024

    /// The bytes of a request's body as its sender had them.
    ///
    /// - Parameters:
    ///   - body: The body as it came.
    ///   - coding: The request's `Content-Encoding`.
    ///   - limit: The most bytes that a body may have.
    /// - Returns: The bytes, or `nil` when there are more.
    /// - Throws: ``EngineError`` with `INVALID_ARGUMENT` for another coding, or bytes that are not gzip.
    static func decode(_ body: [UInt8], coding: String?, upTo limit: Int) throws(EngineError) -> [UInt8]? {
        switch coding?.lowercased() {
        case nil, "", "identity": return body
        case "gzip", "x-gzip":
            switch Gzip.decompress(body, upTo: limit) {
            case .bytes(let bytes): return bytes
            case .tooLong: return nil
            case .malformed: throw .invalidArgument("The body is not the gzip that its Content-Encoding says it is.")
            }
        case let other?:
            throw .invalidArgument("The Content-Encoding \"\(other.prefix(32))\" is not read; send gzip, or none.")
        }
    }

    /// The response, compressed where its reader takes gzip and it is long enough.
    static func encode(_ json: [UInt8], _ headers: inout HTTPFields, for accepted: String?) -> [UInt8] {
        guard json.count >= self.leastCompressedBytes else { return json }
        headers[.vary] = "Accept-Encoding"
        guard self.takesGzip(accepted ?? ""), let compressed = Gzip.compress(json) else { return json }
        headers[.contentEncoding] = "gzip"
        return compressed
    }

    /// Whether an `Accept-Encoding` names gzip, or everything, with a weight above 0 (RFC 9110, section 12.5.3).
    static func takesGzip(_ accepted: String) -> Bool {
        var weights: [String: Double] = [:]
        for entry in accepted.lowercased().utf8.split(separator: UInt8(ascii: ",")) {
            let parts = entry.split(separator: UInt8(ascii: ";")).map { String(Substring($0.withoutSpaceAround)) }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 }
            if let name = parts.first { weights[name] = weight ?? 1 }
        }
        return (weights["gzip"] ?? weights["*"] ?? 0) > 0
    }
}

extension Substring.UTF8View {
    /// What is left without the blanks and tabs at either end (OWS of RFC 9110, section 5.6.3).
    fileprivate var withoutSpaceAround: Substring.UTF8View {
        let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let rest = self.drop(while: isSpace)
        guard let last = rest.lastIndex(where: { !isSpace($0) }) else { return rest }
        return rest[...last]
    }
}
