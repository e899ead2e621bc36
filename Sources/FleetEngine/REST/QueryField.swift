// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A field of a request that travels in the query of a URL.
struct QueryField: Sendable {
    /// How the text of a parameter is written as JSON.
    indirect enum Kind: Sendable {
        /// A JSON string; it serves numbers, times and durations too, which JSON may quote.
        case text
        /// `true` or `false`.
        case flag
        /// A name or a number.
        case enumeration
        /// Paths joined by commas, in either spelling; they are not written as JSON.
        case mask
        /// A message, whose fields are reached with a dot.
        case message([String: QueryField])
    }

    /// How its text is written as JSON.
    let kind: Kind
    /// Whether it may be given more than once.
    let isRepeated: Bool

    private init(_ kind: Kind, isRepeated: Bool = false) {
        self.kind = kind
        self.isRepeated = isRepeated
    }

    /// A string, number, time or duration.
    static let text = Self(.text)
    /// A truth value.
    static let flag = Self(.flag)
    /// An enumeration.
    static let enumeration = Self(.enumeration)
    /// A field mask.
    static let mask = Self(.mask)
    /// Strings.
    static let texts = Self(.text, isRepeated: true)
    /// Enumerations.
    static let enumerations = Self(.enumeration, isRepeated: true)
    /// A message.
    static func message(_ fields: [String: QueryField]) -> Self { Self(.message(fields)) }

    /// The request header that every call but the billing report may carry.
    static let header = Self.message([
        "languageCode": .text, "regionCode": .text, "sdkVersion": .text, "osVersion": .text, "deviceModel": .text,
        "sdkType": .enumeration, "mapsSdkVersion": .text, "navSdkVersion": .text, "platform": .enumeration,
        "manufacturer": .text, "androidApiLevel": .text, "traceId": .text,
    ])

    /// A box on the map.
    static let viewport = Self.message([
        "low": .message(["latitude": .text, "longitude": .text]),
        "high": .message(["latitude": .text, "longitude": .text]),
    ])
}
