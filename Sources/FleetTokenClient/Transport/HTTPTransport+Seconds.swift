// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

extension HTTPTransportResponse {
    /// The wait that `Retry-After` asks for, or `nil` where it asks for none.
    ///
    /// A date counts from the server's own `Date`, as the phone's may be wrong.
    var retryAfter: Duration? {
        guard let text = self.header("Retry-After") else { return nil }
        if let seconds = Self.seconds(text) { return .seconds(seconds) }
        guard let until = HTTPDate.unixSeconds(text), let now = self.header("Date").flatMap(HTTPDate.unixSeconds)
        else { return nil }
        return .seconds(max(until - now, 0))
    }

    /// How long a cache on the way kept the answer, by its `Age`; zero where it has none.
    var age: Duration {
        let seconds = self.header("Age").flatMap(Self.seconds) ?? 0
        // Longer than anything lives, and still a time that can be counted with.
        return .seconds(min(seconds, 1 << 40))
    }

    /// A number of seconds in digits alone; one that is too large counts as the largest.
    private static func seconds(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text) ?? .max
    }
}
