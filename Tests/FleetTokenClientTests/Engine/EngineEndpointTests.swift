// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import Foundation
import Testing

@Suite struct EngineEndpointTests {
    @Test(
        arguments: [
            ("https://engine.example", "https://engine.example/v1/a"),
            ("https://engine.example:8443/base//", "https://engine.example:8443/base/v1/a"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/a"), ("http://localhost/", "http://localhost/v1/a"),
            ("http://[::1]:80", "http://[::1]:80/v1/a"),
        ]
    )
    func `resources lie below the endpoint`(root: String, url: String) throws {
        let endpoint = try EngineEndpoint(#require(URL(string: root)))
        #expect(try endpoint.url(["v1", "a"]).absoluteString == url)
    }

    @Test func `nothing in an id or a value gets out of its place`() throws {
        let endpoint = try EngineEndpoint(#require(URL(string: "https://e.example")))
        let url = try endpoint.url(
            ["..%2f", "a&b=c;d+e é"], query: [("m", "x,y&z=1#"), ("n", "2025-02-05T17:02:33Z")])
        #expect(
            url.absoluteString
                == "https://e.example/..%252f/a%26b%3Dc%3Bd%2Be%20%C3%A9?m=x%2Cy%26z%3D1%23&n=2025-02-05T17%3A02%3A33Z")
    }

    @Test(arguments: ["http://10.0.0.1", "http://127.0.0.1.example", "http://127.1.example", "ws://localhost"])
    func `plain connections stay on this machine`(root: String) throws {
        let url = try #require(URL(string: root))
        let error = #expect(throws: TokenClientError.self) { try EngineEndpoint(url) }
        #expect(error?.code == .insecureURL)
    }
}
