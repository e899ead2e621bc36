// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Reads the times of HTTP headers that are written as a number of seconds.
package enum HTTPSeconds {
    /// The wait that `Retry-After` asks for, or `nil` where it asks for none; the longest of several in seconds.
    ///
    /// A date counts from the answer's own `Date`.
    ///
    /// - Parameters:
    ///   - headers: The answer's header fields.
    ///   - now: The Unix seconds that a date counts from where the answer has none; `nil` where this machine's clock may
    ///     be wrong, so that such a date asks for nothing.
    /// - Returns: The wait, not negative.
    package static func retryAfter(in headers: [(name: String, value: String)], now: Int64? = nil) -> Duration? {
        if let seconds = Self.members("Retry-After", of: headers).compactMap(Self.number).max() {
            return .seconds(seconds)
        }
        func date(_ name: String) -> Int64? { Self.fields(name, of: headers).first.flatMap(HTTPDate.unixSeconds) }
        guard let until = date("Retry-After"), let now = date("Date") ?? now else { return nil }
        return .seconds(max(until - now, 0))
    }

    /// How long a cache on the way kept the answer, by its `Age`, of several the first (RFC 9111 §5.1); zero where it
    /// tells none.
    package static func age(in headers: [(name: String, value: String)]) -> Duration {
        let seconds = Self.members("Age", of: headers).first.flatMap(Self.number) ?? 0
        // Longer than anything lives, and still a time that can be counted with.
        return .seconds(min(seconds, 1 << 40))
    }

    /// A number of seconds in digits alone, but for blanks round it; one that is too large counts as the largest.
    package static func number(_ text: some StringProtocol) -> Int64? {
        let words = text.split { $0 == " " || $0 == "\t" }
        guard words.count == 1, let digits = words.first, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int64(digits) ?? .max
    }

    /// What the fields of a name list, in order; one that comes more than once is one list (RFC 9110 §5.3).
    private static func members(_ name: String, of headers: [(name: String, value: String)]) -> [Substring] {
        Self.fields(name, of: headers).flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
    }

    private static func fields(_ name: String, of headers: [(name: String, value: String)]) -> [String] {
        headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }
}
