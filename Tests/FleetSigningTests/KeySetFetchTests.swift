// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FleetSigning

@Suite struct KeySetFetchTests {
    private struct Answering: UpstreamTransport {
        var status = 200
        var headers: [(name: String, value: String)] = []
        var bodyBytes = 0

        func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
            UpstreamResponse(
                status: self.status, headers: self.headers, body: [UInt8](repeating: 0x20, count: self.bodyBytes))
        }
    }

    @Test(
        arguments: [
            ("max-age=3600", nil, 3600), ("max-age=3600", "0", 3600), ("max-age=3600", "3000", 600),
            ("max-age=3600", "3600", 0), ("max-age=3600", "99999999999999999999999", 0), ("no-store", "5", 0),
            ("max-age=3600", "3000, 3000", 600), ("max-age=3600", "3000,0", 600), ("max-age=3600", " 3000\t", 600),
            // What is no time says nothing.
            ("max-age=3600", "-5", 3600), ("max-age=3600", "soon", 3600), ("max-age=3600", "", 3600),
            ("max-age=3600", "soon, 3000", 3600),
            (nil, "3000", nil),
        ] as [(String?, String?, Int?)])
    func `the time that a document lay in a cache on the way is not added to that which it may be used for`(
        cacheControl: String?, age: String?, seconds: Int?
    ) async throws {
        let fields = [("Cache-Control", cacheControl), ("Age", age)]
        let transport = Answering(headers: fields.compactMap { name, value in value.map { (name, $0) } })
        let answer = try await KeySetFetch.document(at: "https://keys.example/set", over: transport)
        #expect(answer.maximumAge == seconds.map { .seconds($0) })
    }

    @Test(
        arguments: [
            (["max-age=86400", "no-store"], 0), (["no-cache", "max-age=86400"], 0), (["public", "max-age=600"], 600),
            (["max-age=600", "max-age=86400"], 600), (["max-age", "max-age=600"], 600), (["public", ""], nil),
        ] as [([String], Int?)])
    func `Cache-Control in several fields is as it is in one`(values: [String], seconds: Int?) async throws {
        for headers in [values, [values.joined(separator: ", ")]].map({ $0.map { ("cache-control", $0) } }) {
            let transport = Answering(headers: headers)
            let answer = try await KeySetFetch.document(at: "https://keys.example/set", over: transport)
            #expect(answer.maximumAge == seconds.map { .seconds($0) })
        }
    }

    @Test func `a document comes with status 200, and is no longer than is taken`() async throws {
        func document(_ status: Int, _ bodyBytes: Int) async throws -> [UInt8] {
            let transport = Answering(status: status, bodyBytes: bodyBytes)
            return try await KeySetFetch.document(at: "https://keys.example/set", over: transport).body
        }
        let limit = 256 * 1024
        #expect(try await document(200, limit).count == limit)
        for (status, bodyBytes) in [(200, limit + 1), (203, 5), (304, 0), (404, 5)] {
            let error = await #expect(throws: KeySetError.self) { try await document(status, bodyBytes) }
            #expect(
                error?.message
                    == "GET https://keys.example/set was answered with \(status), \(bodyBytes) bytes.")
        }
    }
}
