// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

extension HTTPTransportResponse {
    /// The wait that `Retry-After` asks for, or `nil` where it asks for none; the longest of several in seconds.
    ///
    /// A date counts from the server's own `Date`, as the phone's may be wrong.
    var retryAfter: Duration? {
        if let seconds = self.members("Retry-After").compactMap(Self.seconds).max() { return .seconds(seconds) }
        guard let until = self.header("Retry-After").flatMap(HTTPDate.unixSeconds),
            let now = self.header("Date").flatMap(HTTPDate.unixSeconds)
        else { return nil }
        return .seconds(max(until - now, 0))
    }

    /// How long a cache on the way kept the answer, by its `Age`, of several the first; zero where it has none.
    var age: Duration {
        let seconds = self.members("Age").first.flatMap(Self.seconds) ?? 0
        // Longer than anything lives, and still a time that can be counted with.
        return .seconds(min(seconds, 1 << 40))
    }

    /// What the fields of a name list, in order; one that comes more than once is one list (RFC 9110 §5.3).
    private func members(_ name: String) -> [Substring] {
        self.headers.filter { $0.name.lowercased() == name.lowercased() }
            .flatMap { $0.value.split(separator: ",", omittingEmptySubsequences: false) }
    }

    /// A number of seconds in digits alone, but for blanks round it; one that is too large counts as the largest.
    private static func seconds(_ text: Substring) -> Int64? {
        let words = text.split { $0 == " " || $0 == "\t" }
        guard words.count == 1, let digits = words.first, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int64(digits) ?? .max
    }
}
