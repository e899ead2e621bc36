// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// A parameter of a request's query.
struct QueryParameter {
    /// The name; as it was sent where it is not percent-encoded UTF-8.
    let name: String
    /// The value, empty where there is none; `nil` where it is not percent-encoded UTF-8.
    let value: String?

    /// Reads a query; `+` stands for itself.
    ///
    /// - Parameter query: The query as it was sent, without the question mark.
    /// - Returns: The parameters in their order, those that stand twice among them.
    static func all(in query: String) -> [Self] {
        query.utf8.split(separator: UInt8(ascii: "&")).map { parameter in
            let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map(Substring.init)
            return Self(
                name: PercentCoding.decode(parts[0]) ?? String(parts[0]),
                value: PercentCoding.decode(parts.count == 2 ? parts[1] : ""))
        }
    }
}
