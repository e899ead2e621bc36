// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// What a day came to.
struct DayFigures: Equatable, Sendable, CustomStringConvertible {
    var fetches = 0
    var failedFetches = 0
    var reports = 0
    /// Calls that got a valid token which a newer one was due for; counted on the state machine only.
    var servedStale = 0
    /// Reports that the engine took at their first try.
    var delivered = 0
    /// Reports that could not leave in a tunnel; their locations go with a later one.
    var withoutNetwork = 0
    /// Reports that waited although the driver had a token, or that failed for want of one while the server answered.
    var delayed = 0
    /// Reports that waited for the first token of a vehicle, or after a long sleep, a refusal or an outage.
    var waitedCold = 0
    /// Reports without a token while the token server was away and the last token was over.
    var starved = 0
    var longestWait = Duration.zero
    /// How much older locations became in all because of tokens; a report without a token costs a whole interval.
    var locationAge = Duration.zero
    /// The longest time from the server's return to the next token.
    var longestRecovery = Duration.zero

    var description: String {
        let rows: [(String, String)] = [
            ("fetches of tokens", "\(self.fetches)"), ("  of which failed", "\(self.failedFetches)"),
            ("reports", "\(self.reports)"), ("  delivered at the first try", "\(self.delivered)"),
            ("  kept for later in a tunnel", "\(self.withoutNetwork)"),
            ("  sent with a stale, valid token", "\(self.servedStale)"),
            ("  delayed by a token, server reachable", "\(self.delayed)"),
            ("  waited for a first token", "\(self.waitedCold)"),
            ("  without a token, outage after true expiry", "\(self.starved)"),
            ("longest wait for a token", Self.seconds(self.longestWait)),
            ("location age caused by tokens", Self.seconds(self.locationAge)),
            ("longest recovery after the server's return", Self.seconds(self.longestRecovery)),
        ]
        return rows.map { name, value in
            "| \(name)\(String(repeating: " ", count: max(0, 45 - name.count))) | \(value) |"
        }.joined(separator: "\n")
    }

    private static func seconds(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        return "\(seconds).\(attoseconds / 100_000_000_000_000_000) s"
    }
}
