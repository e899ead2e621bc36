// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FleetSigning

@Suite struct KeySetFetchTests {
    private struct Answering: UpstreamTransport {
        let headers: [(name: String, value: String)]

        func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
            UpstreamResponse(status: 200, headers: self.headers, body: [])
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
}
