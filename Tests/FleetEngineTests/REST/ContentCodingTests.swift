// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import GzipCoding
import HTTPTypes
import Testing

@testable import FleetEngine

@Suite struct ContentCodingTests {
    private static let text = [UInt8](String(repeating: "vehicle ", count: 500).utf8)

    @Test(arguments: [0, 1, 31, 1024, 100_000])
    func `what is compressed comes back`(length: Int) throws {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let compressed = try #require(Gzip.compress(bytes))
        #expect(Gzip.decompress(compressed, upTo: length) == .bytes(bytes))
    }

    @Test(arguments: [0, 1, 1024, 100_000], [1, 7, 1_000_000])
    func `what compressed bytes stand for is counted as they arrive`(length: Int, piece: Int) throws {
        let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ ($0 >> 9)) }
        let compressed = try #require(Gzip.compress(bytes))
        let inflated = InflatedLength(.gzip)
        for start in stride(from: 0, to: compressed.count, by: piece) {
            #expect(!inflated.isComplete)
            inflated.add(Array(compressed[start...].prefix(piece)), upTo: length)
        }
        #expect(inflated.count == length)
        #expect(inflated.isComplete)
        // What comes behind the end stands for nothing.
        inflated.add([1, 2, 3], upTo: length)
        #expect(inflated.count == length)
        #expect(!inflated.isComplete)
    }

    @Test(arguments: [(InflatedLength.Coding.gzip, text.count), (.deflate, 0)])
    func `bytes are looked at in the one way that is named`(coding: InflatedLength.Coding, count: Int) throws {
        let compressed = try #require(Gzip.compress(Self.text))
        let inflated = InflatedLength(coding)
        inflated.add(compressed, upTo: 1_000_000)
        #expect(inflated.count == count)
        #expect(inflated.isComplete == (count > 0))
    }

    @Test func `of compressed bytes that stand for too much no more is looked at`() throws {
        let bomb = try #require(Gzip.compress([UInt8](repeating: 0, count: 10_000_000)))
        let inflated = InflatedLength(.gzip)
        inflated.add(bomb, upTo: 1_000_000)
        #expect((1_000_001...1_100_000).contains(inflated.count))
        // What is not compressed stands for nothing either.
        let plain = InflatedLength(.gzip)
        plain.add(Self.text, upTo: 1_000_000)
        #expect(plain.count == 0)
    }

    @Test(arguments: [("gzip", ", x"), ("gzip ", ";q=1"), ("x, gzip;q=1", ", y"), ("gzip; q=1", "\t")])
    func `however much space stands within a field, it is read`(start: String, end: String) {
        for space in [" ", "\t"] {
            #expect(ContentCoding.takesGzip(start + String(repeating: space, count: 1_000_000) + end))
        }
        #expect(!ContentCoding.takesGzip("gzip" + String(repeating: " ", count: 1_000_000) + "x"))
    }

    @Test func `a body that grows beyond the limit is too long`() throws {
        let bomb = try #require(Gzip.compress([UInt8](repeating: 0, count: 10_000_000)))
        #expect(bomb.count < 100_000)
        #expect(Gzip.decompress(bomb, upTo: 1_000_000) == .tooLong)
        #expect(try ContentCoding.decode(bomb, coding: "gzip", upTo: 1_000_000) == nil)
    }

    @Test func `torn, changed and lengthened gzip is malformed`() throws {
        let good = try #require(Gzip.compress(Self.text))
        var changed = good
        changed[good.count - 6] ^= 1
        for bad in [Array(good.dropLast()), changed, good + [0], [], [UInt8]("{}".utf8)] {
            #expect(Gzip.decompress(bad, upTo: 100_000) == .malformed)
            #expect(throws: EngineError.self) { try ContentCoding.decode(bad, coding: "gzip", upTo: 100_000) }
        }
    }

    @Test func `other codings are refused by name`() throws {
        for plain in [nil, "", "identity", "Identity"] {
            #expect(try ContentCoding.decode(Self.text, coding: plain, upTo: 100_000) == Self.text)
        }
        let error = try #require(throws: EngineError.self) {
            try ContentCoding.decode(Self.text, coding: "br", upTo: 100_000)
        }
        #expect(error.message.contains("\"br\""))
    }

    @Test(arguments: [
        ("gzip", true), ("gzip, deflate", true), ("br, GZIP ; q=0.5", true), ("*", true), ("*;q=0.1, br", true),
        ("", false), ("identity", false), ("gzip;q=0", false), ("gzip; q=0.0, *", false), ("*;q=0", false),
        ("gzip;q=x", false), ("xgzip", false),
    ])
    func `gzip is sent to who takes it`(accepted: String, takes: Bool) {
        #expect(ContentCoding.takesGzip(accepted) == takes)
    }

    @Test func `short answers and other readers get plain bytes`() {
        for (bytes, accepted) in [([UInt8]("{}".utf8), "gzip"), (Self.text, "br"), (Self.text, nil)] {
            var headers = HTTPFields()
            #expect(ContentCoding.encode(bytes, &headers, for: accepted) == bytes)
            #expect(headers[.contentEncoding] == nil)
        }
        var headers = HTTPFields()
        #expect(ContentCoding.encode(Self.text, &headers, for: "gzip").count < Self.text.count / 4)
        #expect(headers[.contentEncoding] == "gzip")
        #expect(headers[.vary] == "Accept-Encoding")
    }
}
