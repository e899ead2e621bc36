// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetTokenServer
import HTTPTypes
import Testing

@Suite struct ForwardingProxiesTests {
    /// A connection, what its `X-Forwarded-For` fields say, and whose request it is.
    static let requests: [(peer: String?, fields: [String], client: String?)] = [
        ("10.0.0.7", ["198.51.100.7"], "198.51.100.7"),
        // Who is no proxy says what they like.
        ("203.0.113.9", ["198.51.100.7"], "203.0.113.9"),
        ("10.0.1.7", ["198.51.100.7"], "10.0.1.7"),
        // What a client wrote itself stands before what the proxy added.
        ("10.0.0.7", ["192.0.2.1, 198.51.100.7"], "198.51.100.7"),
        ("10.0.0.7", ["192.0.2.1", "198.51.100.7"], "198.51.100.7"),
        ("10.0.0.7", ["10.0.0.8", "198.51.100.7"], "198.51.100.7"),
        // Through several proxies.
        ("10.0.0.7", ["192.0.2.1, 198.51.100.7, 10.0.0.9 ,\t2001:db8::2"], "198.51.100.7"),
        ("10.0.0.7", ["10.0.0.9"], "10.0.0.9"),
        // With ports, as some write.
        ("10.0.0.7", ["198.51.100.7:4711"], "198.51.100.7"),
        ("10.0.0.7", ["[2001:db8:1::5]:4711"], "2001:db8:1::5"),
        ("::ffff:10.0.0.7", ["2001:db8:1::5"], "2001:db8:1::5"),
        // No address: the last that is known.
        ("10.0.0.7", [], "10.0.0.7"),
        ("10.0.0.7", [""], "10.0.0.7"),
        ("10.0.0.7", ["198.51.100.7, unknown"], "10.0.0.7"),
        ("10.0.0.7", ["198.51.100.7, , 10.0.0.9"], "10.0.0.9"),
        ("10.0.0.7", ["198.51.100.7,"], "10.0.0.7"),
        ("10.0.0.7", ["198.51.100.300"], "10.0.0.7"),
        (nil, ["198.51.100.7"], nil),
    ]

    @Test(arguments: Self.requests)
    func `a client is whom the last proxy that is known names`(
        peer: String?, fields: [String], client: String?
    ) throws {
        let proxies = try ForwardingProxies([AddressRange("10.0.0.0/24"), AddressRange("2001:db8::2")])
        let name = try #require(HTTPField.Name("X-Forwarded-For"))
        let headers = HTTPFields(fields.map { HTTPField(name: name, value: $0) })
        #expect(proxies.client(of: peer, headers) == client)
    }

    @Test(arguments: ["0.0.0.0/0", "::/0", "0.0.0.0/00", "::/+0"])
    func `that everybody is a proxy is refused`(range: String) throws {
        let everybody = try AddressRange(range)
        #expect(throws: ConfigurationError.self) { try ForwardingProxies([everybody]) }
    }
}
