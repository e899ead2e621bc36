// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Testing

@Suite struct LoopbackHostTests {
    @Test(arguments: ["localhost", "LocalHost", "127.0.0.1", "127.0.0.2", "127.255.255.255", "::1", "[::1]"])
    func `this machine is told by its names, with and without a port`(host: String) {
        #expect(LoopbackHost.isLoopback(host))
        guard !host.hasPrefix(":") else { return }
        #expect(LoopbackHost.isLoopback(authority: host))
        #expect(LoopbackHost.isLoopback(authority: host + ":8080"))
    }

    @Test(arguments: [
        "", "localhost.", "localhost.example", "127.1", "127.0.0.1.5", "127.0.0.256", "128.0.0.1", "0127.0.0.1",
        "127.0.0.01", "127.0.0.+1", "127.0.0.", "0x7f.0.0.1", "127.0.0.１", "::2", "[::2]", "[127.0.0.1]", "10.0.0.1",
    ])
    func `what only resembles this machine is another`(host: String) {
        #expect(!LoopbackHost.isLoopback(host))
        #expect(!LoopbackHost.isLoopback(authority: host))
        #expect(!LoopbackHost.isLoopback(authority: host + ":8080"))
    }

    @Test(arguments: ["[::1]evil.example", "[::1].evil.example:80", "127.0.0.1:80:80", "u@127.0.0.1", ":80", "::1"])
    func `an authority that is none is not this machine`(authority: String) {
        #expect(!LoopbackHost.isLoopback(authority: authority))
    }
}
