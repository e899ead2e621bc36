// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import SwiftASN1
import X509

/// The whole subject of a certificate in one spelling, whoever wrote it: that of RFC 4514, the most specific part first.
///
/// RFC 4514 lets a text be escaped in several ways and a kind of attribute go by its number or a name, and leaves open in
/// which order several attributes of one part stand. Here letters beyond ASCII stand as they are, kinds have the names that
/// OpenSSL gives them, and the attributes of one part are in the order of the alphabet.
struct SubjectName: Hashable {
    /// The name in that spelling, such as `CN=dispatch,O=Acme`.
    let text: String

    /// The kind of an attribute, and its value as it is written.
    private typealias Attribute = (type: String, value: String)

    /// Names of kinds of attributes, and their numbers.
    private static let numbers = [
        "CN": "2.5.4.3", "SN": "2.5.4.4", "serialNumber": "2.5.4.5", "C": "2.5.4.6", "L": "2.5.4.7", "ST": "2.5.4.8",
        "street": "2.5.4.9", "O": "2.5.4.10", "OU": "2.5.4.11", "title": "2.5.4.12", "businessCategory": "2.5.4.15",
        "description": "2.5.4.13", "postalAddress": "2.5.4.16", "postalCode": "2.5.4.17", "postOfficeBox": "2.5.4.18",
        "physicalDeliveryOfficeName": "2.5.4.19", "telephoneNumber": "2.5.4.20", "houseIdentifier": "2.5.4.51",
        "mail": "0.9.2342.19200300.100.1.3", "unstructuredName": "1.2.840.113549.1.9.2",
        "unstructuredAddress": "1.2.840.113549.1.9.8", "role": "2.5.4.72", "dmdName": "2.5.4.54", "name": "2.5.4.41",
        "GN": "2.5.4.42", "initials": "2.5.4.43",
        "generationQualifier": "2.5.4.44", "dnQualifier": "2.5.4.46", "pseudonym": "2.5.4.65",
        "organizationIdentifier": "2.5.4.97", "UID": "0.9.2342.19200300.100.1.1",
        "jurisdictionL": "1.3.6.1.4.1.311.60.2.1.1", "jurisdictionST": "1.3.6.1.4.1.311.60.2.1.2",
        "jurisdictionC": "1.3.6.1.4.1.311.60.2.1.3", "DC": "0.9.2342.19200300.100.1.25",
        "emailAddress": "1.2.840.113549.1.9.1",
    ]
    private static let names = Dictionary(uniqueKeysWithValues: numbers.map { ($1, $0) })
    /// Case plays no part in a name that is read (RFC 4514 §3).
    private static let known = Dictionary(
        uniqueKeysWithValues: numbers.keys.map { ($0.lowercased(), $0) } + [("e", "emailAddress")])

    /// The subject of a certificate.
    init(_ name: DistinguishedName) {
        self.init(
            name.reversed().map { part in
                part.map { attribute in
                    let number = "\(attribute.type)"
                    return (Self.names[number] ?? number, Self.written(attribute.value))
                }
            })
    }

    /// Reads a name in any spelling of RFC 4514; `nil` where it is none, or has a kind of attribute that is not known.
    init?(parsing text: String) {
        var reader = Reader(text)
        var parts: [[Attribute]] = [[]]
        repeat {
            guard let attribute = reader.attribute() else { return nil }
            parts[parts.count - 1].append(attribute)
            if reader.take(",") { parts.append([]) } else if !reader.take("+") { break }
        } while true
        guard reader.isAtEnd else { return nil }
        self.init(parts)
    }

    private init(_ parts: [[Attribute]]) {
        self.text = parts.map { part in
            part.map { "\($0.type)=\($0.value)" }.sorted().joined(separator: "+")
        }.joined(separator: ",")
    }

    /// A value of a certificate; what is no text stands as its DER form, in hexadecimal digits.
    private static func written(_ value: RelativeDistinguishedName.Attribute.Value) -> String {
        if let text = String(value) { return self.escaped(text) }
        var serializer = DER.Serializer()
        guard (try? serializer.serialize(ASN1Any(value))) != nil else { return "" }
        return self.written(der: serializer.serializedBytes)
    }

    private static func written(der bytes: [UInt8]) -> String {
        if let node = try? DER.parse(bytes), case .primitive(let content) = node.content {
            let text: String? =
                switch node.identifier {
                case .utf8String, .printableString, .ia5String, .numericString, .visibleString, .teletexString:
                    String(validating: content, as: UTF8.self)
                case .bmpString where content.count.isMultiple(of: 2):
                    String(
                        validating: stride(from: content.startIndex, to: content.endIndex, by: 2).map {
                            UInt16(content[$0]) << 8 | UInt16(content[$0 + 1])
                        }, as: UTF16.self)
                default: nil
                }
            if let text { return self.escaped(text) }
        }
        return "#" + bytes.hexadecimal
    }

    private static func escaped(_ value: String) -> String {
        var text = ""
        for (index, scalar) in value.unicodeScalars.enumerated() {
            let isAtEdge = index == 0 || index == value.unicodeScalars.count - 1
            switch scalar {
            case ",", "+", "\"", "\\", "<", ">", ";": text += "\\\(scalar)"
            case " " where isAtEdge: text += "\\ "
            case "#" where index == 0: text += "\\#"
            case "\0"..<" ", "\u{7F}": text += "\\" + [UInt8(scalar.value)].hexadecimal.uppercased()
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// Reads the attributes of a text.
    private struct Reader {
        private var rest: ArraySlice<UInt8>

        init(_ text: String) {
            self.rest = Array(text.utf8)[...]
        }

        var isAtEnd: Bool { self.rest.isEmpty }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard self.rest.first == UInt8(ascii: character) else { return false }
            self.rest.removeFirst()
            return true
        }

        /// The attribute that begins here, up to what separates it from the next.
        mutating func attribute() -> Attribute? {
            guard let end = self.rest.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let written = Self.trimmed(String(decoding: self.rest[..<end], as: UTF8.self))
            self.rest = self.rest[(end + 1)...]
            guard let type = Self.type(written), let value = self.value() else { return nil }
            return (type, value)
        }

        private static func trimmed(_ text: String) -> String {
            String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }

        private static func type(_ written: String) -> String? {
            if let name = SubjectName.known[written.lowercased()] { return name }
            let numbers = written.split(separator: ".", omittingEmptySubsequences: false)
            guard numbers.count > 1, numbers.allSatisfy({ !$0.isEmpty && $0.allSatisfy { "0"..."9" ~= $0 } })
            else { return nil }
            return SubjectName.names[written] ?? written
        }

        private mutating func value() -> String? {
            while self.take(" ") {}
            if self.rest.first == UInt8(ascii: "#") {
                let digits = Self.trimmed(String(decoding: self.unescaped(), as: UTF8.self)).dropFirst()
                return [UInt8](hexadecimal: digits).map(SubjectName.written(der:))
            }
            var bytes: [UInt8] = []
            // Up to here, as blanks at the end do not count unless they are escaped.
            var length = 0
            while let byte = self.rest.first, byte != UInt8(ascii: ","), byte != UInt8(ascii: "+") {
                self.rest.removeFirst()
                guard byte == UInt8(ascii: "\\") else {
                    guard !"\"<>;".utf8.contains(byte) else { return nil }
                    bytes.append(byte)
                    if byte != UInt8(ascii: " ") { length = bytes.count }
                    continue
                }
                guard let escaped = self.escaped() else { return nil }
                bytes.append(escaped)
                length = bytes.count
            }
            return String(validating: bytes.prefix(length), as: UTF8.self).map(SubjectName.escaped)
        }

        /// What stands up to the next separator, as it is.
        private mutating func unescaped() -> ArraySlice<UInt8> {
            let end = self.rest.firstIndex { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "+") } ?? self.rest.endIndex
            defer { self.rest = self.rest[end...] }
            return self.rest[..<end]
        }

        /// The byte that stands behind a backslash: by itself, or as two hexadecimal digits.
        private mutating func escaped() -> UInt8? {
            let digits = String(decoding: self.rest.prefix(2), as: UTF8.self)
            if let byte = [UInt8](hexadecimal: digits)?.first {
                self.rest.removeFirst(2)
                return byte
            }
            guard let byte = self.rest.first, " #=,+\"\\<>;".utf8.contains(byte) else { return nil }
            self.rest.removeFirst()
            return byte
        }
    }
}
