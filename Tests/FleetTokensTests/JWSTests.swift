// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation
import Testing

@testable import struct FleetTokens.JSONReader
@testable import enum FleetTokens.SHA256

@Suite struct JSONValueTests {
    @Test(arguments: ["\u{301}\u{323}", "\u{344}\u{323}", "\u{1D165}\u{327}"])
    func `a text with endless marks is an error, as a key and as a value, however it is spelt`(marks: String) throws {
        let most = String(repeating: marks, count: String.maximumMarksInARow / 2)
        let endless = String(repeating: marks, count: 100_000)
        let escaped = endless.utf16.map { #"\u"# + String(0x10000 + Int($0), radix: 16).dropFirst() }.joined()
        for text in [most, most + "x" + most] {
            #expect(try JSONValue(parsing: "\"x\(text)\"".utf8) == .string("x" + text))
        }
        for text in [endless, escaped, most + marks] {
            for json in ["\"x\(text)\"", "{\"x\(text)\": 1}"] {
                let error = #expect(throws: TokenError.self) { try JSONValue(parsing: json.utf8) }
                #expect(error?.message.contains("combining marks") == true)
            }
        }
    }

    @Test(arguments: [
        #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"a":1} x"#, #"{"a":01}"#, #"{"a":+1}"#, #"{"a":.5}"#,
        #"{"a":1.}"#,
        #"{"a":1e}"#, #"{a:1}"#, #"{"a":1,}"#, #"[1,]"#, #"["\x"]"#, #"["\ud800"]"#, #"["\ud800\u0041"]"#,
        #"["\u12g4"]"#,
        "[\"\u{1}\"]", "", "{", "[", "\"", "tru", "nul", "-", "{\"a\"", "{\"a\":", #"{"a":1"#, "NaN", "Infinity", "'a'",
    ])
    func `a text that is not strict JSON is an error`(text: String) {
        let error = #expect(throws: TokenError.self) { try JSONValue(parsing: text.utf8) }
        #expect(error?.code == .invalidJSON)
    }

    @Test(arguments: [1, 2, 15, 16, 17, 18, 40], [0, 0.5, 1])
    func `a key that stands twice is found in objects of any length`(count: Int, place: Double) throws {
        let keys = (0..<count).map { "k\($0)" }
        func text(_ keys: [String]) -> String { "{" + keys.map { "\"\($0)\":0" }.joined(separator: ",") + "}" }
        #expect(try JSONValue(parsing: text(keys).utf8).object?.count == count)
        let repeated = keys + [keys[Int(Double(count - 1) * place)]]
        #expect(throws: TokenError.self) { try JSONValue(parsing: text(repeated).utf8) }
    }

    @Test func `objects are equal whatever the order of their members`() throws {
        let value = try JSONValue(parsing: #"{"a":1,"b":{"c":2,"d":3}}"#.utf8)
        #expect(try value == JSONValue(parsing: #"{"b":{"d":3,"c":2},"a":1}"#.utf8))
        #expect(try value != JSONValue(parsing: #"{"b":{"d":3},"a":1}"#.utf8))
        #expect(Set([value, try JSONValue(parsing: #"{"b":{"d":3,"c":2},"a":1}"#.utf8)]).count == 1)
    }

    @Test func `bytes that are not UTF-8 are an error`() {
        let overlongSlash: [UInt8] = [0x5B, 0x22, 0xC0, 0xAF, 0x22, 0x5D]
        #expect(throws: TokenError.self) { try JSONValue(parsing: overlongSlash) }
    }

    @Test func `deep nesting is refused without exhausting the stack`() {
        let bomb = String(repeating: "[", count: 1_000_000)
        #expect(throws: TokenError.self) { try JSONValue(parsing: bomb.utf8) }
        let fits = String(repeating: "[", count: 16) + String(repeating: "]", count: 16)
        #expect(throws: Never.self) { try JSONValue(parsing: fits.utf8) }
        #expect(throws: TokenError.self) { try JSONValue(parsing: "[\(fits)]".utf8) }
    }

    @Test func `numbers beyond every integer are read, not trapped on`() throws {
        #expect(try JSONValue(parsing: "1e300".utf8) == .double(1e300))
        #expect(try JSONValue(parsing: "1e999".utf8) == .double(.infinity))
        #expect(try JSONValue(parsing: "9223372036854775808".utf8) == .double(9_223_372_036_854_775_808))
        #expect(try JSONValue(parsing: "-9223372036854775808".utf8) == .integer(.min))
    }

    @Test func `writing sorts keys, keeps slashes and escapes what must be`() throws {
        let text = #"{"b":["/",null,true,-1],"a":"\"\\\n\u0001é😀"}"#
        let value = try JSONValue(parsing: text.utf8)
        #expect(String(decoding: value.serialized, as: UTF8.self) == #"{"a":"\"\\\n\u0001é😀","b":["/",null,true,-1]}"#)
        #expect(try JSONValue(parsing: value.serialized) == value)
    }

    @Test func `an object's members are written in the order of their keys, and one without a value is not`() {
        let value: JSONValue = .object(["b": .integer(1), "d": nil, "a": .integer(2), "b": .integer(3), "c": .null])
        #expect(String(decoding: value.serialized, as: UTF8.self) == #"{"a":2,"b":3,"c":null}"#)
        #expect(value.object?["b"] == .integer(3) && value.object?.count == 3)
    }

    @Test(arguments: ["\"", "\\", "\0", "\t", "\n", "\u{1F}"])
    func `a character that needs an escape gets it wherever it stands`(character: String) throws {
        for length in 0..<20 {
            for place in 0...length {
                let rest = String(repeating: "~", count: length - place)
                let text = String(repeating: "é", count: place) + character + rest
                let written = String(decoding: JSONValue.string(text).serialized, as: UTF8.self)
                #expect(written.dropFirst().dropLast().contains("\\"))
                #expect(try JSONValue(parsing: written.utf8) == .string(text))
            }
        }
    }

    @Test(arguments: 0..<40)
    func `a text without such characters is written as it stands`(length: Int) {
        for scalar in (0x20..<0x250).compactMap(Unicode.Scalar.init) where scalar != "\"" && scalar != "\\" {
            let text = String(repeating: Character(scalar), count: length)
            #expect(JSONValue.string(text).serialized.elementsEqual("\"\(text)\"".utf8))
        }
    }

    @Test(arguments: 0..<24)
    func `a text is read to its end wherever the text of its bytes begins and ends`(length: Int) throws {
        for last in ["", "~", "é", "\u{7F}", #"\n"#, #"\""#, #"\u00e9"#] {
            for place in 0...length {
                let text = String(repeating: "~", count: place) + last + String(repeating: "x", count: length - place)
                let json = "[\"\(text)\",\"\(text)\"]"
                let read = try JSONDecoder().decode([String].self, from: Data(json.utf8))
                #expect(try JSONValue(parsing: json.utf8) == .array(read.map { .string($0) }))
                for byte in [0, 9, 0x1F, 0xC3, 0xFF] as [UInt8] {
                    let broken = [UInt8](json.utf8.prefix(2 + place)) + [byte] + json.utf8.dropFirst(2 + place)
                    #expect(throws: TokenError.self) { try JSONValue(parsing: broken) }
                }
            }
        }
    }

    @Test func `a number that JSON cannot write is written as null into a larger text`() throws {
        let value = JSONValue.array([.double(.infinity), .double(0.5)])
        #expect(String(decoding: try JSONEncoder().encode(value), as: UTF8.self) == "[null,0.5]")
    }

    @Test func `a value is read out of a larger text as by itself`() throws {
        let text = #"{"a":[null,true,7,-9223372036854775808,0.5,1e300,"1","true",{"b":{}}],"c":"7"}"#
        let value = try JSONDecoder().decode([String: JSONValue].self, from: Data(#"{"it":\#(text)}"#.utf8))["it"]
        #expect(try value == JSONValue(parsing: text.utf8))
    }

    @Test func `Foundation reads what is written`() throws {
        let value = try JSONValue(parsing: #"{"x":"\ud83d\ude00\/","y":[1,2.5,{"z":false}]}"#.utf8)
        let object = try JSONSerialization.jsonObject(with: Data(value.serialized)) as? [String: Any]
        #expect(object?["x"] as? String == "😀/")
    }
}

@Suite struct ShownTextTests {
    @Test(arguments: [
        ("\u{1B}[31m", #"\u001b[31m"#), ("a\r\nb\t", #"a\u000d\u000ab\u0009"#), ("\0\u{7F}", #"\u0000\u007f"#),
        ("\u{9B}31m", #"\u009b31m"#), ("\u{2028}\u{2029}", #"\u2028\u2029"#),
        ("\u{202E}\u{2066}\u{200F}", #"\u202e\u2066\u200f"#), ("\u{E0041}", #"\udb40\udc41"#),
    ])
    func `what is not seen is written as JSON writes it`(text: String, shown: String) {
        #expect(text.shown() == shown)
        #expect(shown.shown() == shown)
    }

    @Test func `other text stays as it is, up to the limit`() {
        for text in ["", "veh-3", "vé🚗 אב \\ \"x\""] { #expect(text.shown() == text) }
        #expect("abc".shown(upTo: 3) == "abc")
        #expect("abcd".shown(upTo: 3) == "abc…")
        #expect(("e" + String(repeating: "\u{301}", count: 1000)).shown(upTo: 8).unicodeScalars.count == 9)
    }
}

@Suite struct Base64URLTests {
    @Test func `encoding and decoding agree for every length`() {
        for length in 0..<70 {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ length) }
            let text = Base64URL.encode(bytes)
            let foundation = Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
            #expect(String(decoding: text, as: UTF8.self) == foundation)
            #expect(Base64URL.decode(text) == bytes)
        }
    }

    @Test(arguments: ["A", "AAAAA", "AB==", "AB=", "A B", "A\n", "A+", "A/", "é", "AB", "AAB", "A?"])
    func `padding, foreign characters and loose bits are refused`(text: String) {
        #expect(Base64URL.decode(text.utf8) == nil)
    }
}

@Suite struct SHA256Tests {
    @Test func `digests agree with the standard's examples`() {
        func hex(_ text: String) -> String { SHA256.hash(text.utf8).map { String(format: "%02x", $0) }.joined() }
        #expect(hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
                == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
        #expect(
            hex(String(repeating: "a", count: 1_000_000))
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test func `the end of a message is padded at every length`() {
        // The digest of all digests, as `hashlib` gives it for the same messages.
        let messages = (0..<200).map { length in (0..<length).map { UInt8(truncatingIfNeeded: $0 * 7 + length) } }
        #expect(
            messages.flatMap { SHA256.hash($0) }.sha256Hex
                == "8c7c9ff69da76fc28823a1cb97268672663e628e1ea955868b16db46bab0545d")
    }
}

@Suite struct FleetTokenTests {
    @Test func `a token shows its fingerprint and nothing else`() {
        let token = FleetToken("MARKED.SECRET.TOKEN")
        var dumped = ""
        dump(token, to: &dumped)
        for text in ["\(token)", String(reflecting: token), dumped, "\(Optional(token) as Any)", "\([token])"] {
            #expect(!text.contains("MARKED"))
            #expect(text.contains(token.fingerprint))
        }
        #expect(token.fingerprint.count == 16)
        #expect(token.authorizationHeader == "Bearer MARKED.SECRET.TOKEN")
    }
}

@Suite struct JWSPartsTests {
    private static let header = "eyJhbGciOiJub25lIn0"

    @Test func `a text of three parts is taken apart, whatever its header and payload say`() throws {
        let parts = try JWSParts("\(Self.header).AAAA.".utf8, atMost: 25)
        #expect(parts.header == ["alg": .string("none")])
        #expect(parts.signingInput == Array("\(Self.header).AAAA".utf8))
        #expect(parts.payload == [0, 0, 0] && parts.signature.isEmpty)
    }

    @Test(
        arguments: [
            ("\(header).AAAA.A", .size), ("", .form), ("e30", .form), ("e30.AAAA", .form), ("e30.AAAA.AAAA.", .form),
            ("e30=.AAAA.AAAA.", .form), ("e30=.AAAA.AAAA", .encoding), ("e30.AB.AAAA", .encoding),
            ("e30.AAAA.A", .encoding), ("W10.AAAA.AAAA", .header("It is not an object.")),
        ] as [(String, JWSParts.Fault)])
    func `the first fault of a text is told`(text: String, fault: JWSParts.Fault) {
        #expect(throws: fault) { try JWSParts(text.utf8, atMost: 25) }
        #expect(throws: fault) { try JWSParts(Array(text.utf8), atMost: 25) }
    }
}

@Suite struct CompactJWSTests {
    @Test func `printing a token taken apart shows no part of it`() throws {
        let text = Self.token(header: #"{"alg":"RS256","kid":"k1"}"#, payload: #"{"iss":"driver"}"#)
        let parts = try CompactJWS(text)
        var dumped = ""
        dump(parts, to: &dumped)
        for print in ["\(parts)", String(reflecting: parts), dumped] {
            #expect(print.contains("k1") && !print.contains("\(parts.payload[0]), "))
        }
    }

    static func token(header: String, payload: String = "{}", signature: String = "AAAA") -> String {
        func part(_ text: String) -> String { String(decoding: Base64URL.encode(text.utf8), as: UTF8.self) }
        return "\(part(header)).\(part(payload)).\(signature)"
    }

    @Test func `a well-formed token is taken apart`() throws {
        let token = Self.token(header: #"{"alg":"RS256","typ":"JWT","kid":"k1"}"#, payload: #"{"iss":"a"}"#)
        let jws = try CompactJWS(token)
        #expect(jws.keyID == "k1")
        #expect(String(decoding: jws.payload, as: UTF8.self) == #"{"iss":"a"}"#)
        #expect(String(decoding: jws.signingInput, as: UTF8.self) == token.dropLast(5))
        #expect(jws.signature == [0, 0, 0])
    }

    @Test func `what a refusal repeats of a header steers no terminal`() {
        for header in [#"{"alg":"\u001b[2K\r"}"#, #"{"\u001b[2K\r":1,"\u001b[2K\r":2}"#] {
            let refusal = #expect(throws: TokenRefusal.self) { try CompactJWS(Self.token(header: header)) }
            #expect(refusal?.message.contains(#"\u001b[2K\u000d"#) == true)
            #expect(refusal?.message.contains("\u{1B}") == false)
        }
    }

    static let refused: [(String, TokenRefusal.Reason)] = [
        ("", .tokenMalformed), ("a", .tokenMalformed), ("a.b", .tokenMalformed), ("a.b.c.d", .tokenMalformed),
        ("..", .tokenMalformed), ("e30.e30.", .algorithmNotAllowed), ("e30.e30.AB", .tokenMalformed),
        ("e30=.e30.AAAA", .tokenMalformed), (String(repeating: "a", count: 10_000_000), .tokenTooLarge),
        (String(repeating: ".", count: 10_000), .tokenMalformed),
        (token(header: "[]"), .tokenMalformed), (token(header: #"{"alg":"RS256","alg":"none"}"#), .tokenMalformed),
        (token(header: "{}"), .algorithmNotAllowed), (token(header: #"{"alg":"none"}"#), .algorithmNotAllowed),
        (token(header: #"{"alg":"HS256"}"#), .algorithmNotAllowed),
        (token(header: #"{"alg":"rs256"}"#), .algorithmNotAllowed),
        (token(header: #"{"alg":1e300}"#), .algorithmNotAllowed),
        (token(header: #"{"alg":"RS512"}"#), .algorithmNotAllowed),
        (token(header: #"{"alg":"RS256 "}"#), .algorithmNotAllowed),
        (token(header: #"{"alg":"PS256"}"#), .algorithmNotAllowed),
        (token(header: #"{"alg":"RS256","typ":"at+jwt"}"#), .tokenMalformed),
        (token(header: #"{"alg":"RS256","crit":[]}"#), .criticalHeader),
        (token(header: #"{"alg":"RS256","crit":["exp"]}"#), .criticalHeader),
        (token(header: #"{"alg":"RS256","crit":null}"#), .criticalHeader),
        (token(header: #"{"alg":"RS256","kid":7}"#), .tokenMalformed),
        (token(header: #"{"alg":"RS256","kid":""}"#), .tokenMalformed),
        (token(header: #"{"alg":"HS256","kid":5}"#), .tokenMalformed),
        (token(header: #"{"alg":"RS256","kid":"\#(String(repeating: "k", count: 257))"}"#), .tokenMalformed),
    ]

    @Test func `a token of the longest length is read, and one byte more is too large`() throws {
        let start = Self.token(header: #"{"alg":"RS256"}"#, signature: "")
        let rest = CompactJWS.maximumBytes - start.utf8.count
        // A text of such a length is base64url only where it leaves no single character.
        let signature = String(repeating: "A", count: rest)
        #expect(rest % 4 != 1)
        #expect(try CompactJWS(start + signature).signature.count == rest * 3 / 4)
        let refusal = #expect(throws: TokenRefusal.self) { try CompactJWS(start + signature + "A") }
        #expect(refusal?.reason == .tokenTooLarge)
    }

    @Test func `malformed and foreign tokens are refused with their reason`() {
        for (token, reason) in Self.refused {
            let refusal = #expect(throws: TokenRefusal.self) { try CompactJWS(token) }
            #expect(refusal?.reason == reason, "\(token.prefix(60))")
            #expect(refusal?.status == .unauthenticated)
        }
    }
}
