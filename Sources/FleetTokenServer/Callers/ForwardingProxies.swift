// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetOperation
public import HTTPTypes

/// The reverse proxies and load balancers in front of a server, which say in `X-Forwarded-For` for whom they ask.
///
/// Each proxy adds the address that its connection came from at the end. So the list is read from there, for as long as
/// the one who wrote is a listed proxy; what stands before may be anybody's invention.
public struct ForwardingProxies: Hashable, Sendable {
    private let proxies: [AddressRange]

    /// Lists proxies.
    ///
    /// - Parameter proxies: The addresses that they connect from; a range of everything is refused.
    /// - Throws: `ConfigurationError`.
    public init(_ proxies: [AddressRange]) throws(ConfigurationError) {
        guard !proxies.contains(where: \.isEverything) else {
            throw ConfigurationError(
                "The proxies list every address there is, so anybody could claim to ask for another; list the proxies' own."
            )
        }
        self.proxies = proxies
    }

    /// The address that a request comes from, as far as those say who are believed.
    ///
    /// - Parameters:
    ///   - peer: The address that the connection comes from.
    ///   - headers: The request's header fields.
    /// - Returns: The client's address; that of a proxy where it says none, and `nil` where no address is known.
    public func client(of peer: String?, _ headers: HTTPFields) -> String? {
        guard var client = peer, let field = HTTPField.Name("X-Forwarded-For") else { return peer }
        let entries = headers[values: field].flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        for entry in entries.reversed() {
            guard self.proxies.contains(where: { $0.contains(client) }), let address = Self.address(in: entry) else {
                break
            }
            client = address
        }
        return client
    }

    /// The address of an entry, which some proxies write with a port; `nil` where there is none.
    private static func address(in entry: Substring) -> String? {
        var text = entry.drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        if text.first == "[", let end = text.firstIndex(of: "]") {
            text = text[text.index(after: text.startIndex)..<end]
        } else if text.count(where: { $0 == ":" }) == 1, let colon = text.firstIndex(of: ":") {
            text = text[..<colon]
        }
        let address = String(text)
        return AddressRange.isAddress(address) ? address : nil
    }
}
