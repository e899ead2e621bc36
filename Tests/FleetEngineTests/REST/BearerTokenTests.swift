// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import FleetEngine

@Suite struct BearerTokenTests {
    @Test(arguments: ["Bearer abc", "bearer abc", "BEARER  abc", " Bearer abc "])
    func `the scheme may be written in any case`(value: String) throws {
        #expect(try BearerToken.read([value]) == "abc")
    }

    @Test(arguments: [[], ["Basic abc"], ["Bearer"], ["Bearer "], [""], ["abc"]])
    func `without a bearer token there is none`(values: [String]) throws {
        #expect(try BearerToken.read(values) == nil)
    }

    @Test(arguments: [["Bearer a b"], ["Bearer a", "Bearer b"], ["Bearer a", "Basic b"]])
    func `more than one token is refused without showing any`(values: [String]) {
        let error = #expect(throws: EngineError.self) { try BearerToken.read(values) }
        #expect(error?.code == .unauthenticated)
        #expect(error?.reason == "TOKEN_MALFORMED")
    }
}
