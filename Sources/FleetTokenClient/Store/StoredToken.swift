// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// A token as a ``TokenStore`` keeps it: with what tells later how old it is.
///
/// A clock that only goes forward cannot be carried from one process to the next, and the phone's date may be set at will. So
/// the age of a stored token is the longest that any of these tells:
/// - the phone's date now, less the date when the token came;
/// - the time since the phone was started now, less that when the token came; which is exact unless the phone was started
///   anew between, and then too little if anything;
/// - the time since the phone was started, if it is less than then, because the token came before that start.
///
/// The life that is left never reaches beyond the token's own `exp`, read with the clock error that is known, and is a minute
/// less than all this allows. A token whose date lies in the future is not used. A wrong date alone can therefore never make
/// an ended token look good. One case is left that a phone cannot know: it is started anew *and* its date is set back, but
/// not to before the token came. Then an ended token may be sent; the engine refuses it, and it is replaced.
public struct StoredToken: Hashable, Sendable {
    /// What is kept back from the life that is left.
    static let margin = Duration.seconds(60)

    /// The token.
    public let token: FleetToken
    /// How long it was to live when it was saved.
    public let life: Duration
    /// The phone's date when it was saved.
    public let savedAt: Date
    /// How long the phone had been running when it was saved, sleep included.
    public let sinceBoot: Duration
    /// How far the phone was ahead of the token server, if that was known.
    public let clockOffset: Duration?

    /// Describes a stored token.
    public init(token: FleetToken, life: Duration, savedAt: Date, sinceBoot: Duration, clockOffset: Duration? = nil) {
        self.token = token
        self.life = life
        self.savedAt = savedAt
        self.sinceBoot = sinceBoot
        self.clockOffset = clockOffset
    }

    /// The token and the life that it has left for certain, or `nil` when there is none or it is not the subject's.
    func grant(for subject: TokenSubject, at clock: DeviceClock, clockOffset: Duration?) -> TokenGrant? {
        guard let jws = try? CompactJWS(self.token.compactSerialization),
            let claims = try? TokenClaims(unverified: jws.payload), subject.isExactlyClaimed(by: claims.authorization),
            self.life <= TokenCacheMachine.longestLife
        else { return nil }
        let (date, sinceBoot) = (clock.date, clock.sinceBoot)
        let ageByDate = Duration.seconds(date.timeIntervalSince(self.savedAt))
        guard ageByDate >= .zero else { return nil }
        let ageByBoot = sinceBoot < self.sinceBoot ? sinceBoot : sinceBoot - self.sinceBoot
        let trueDate = Duration.seconds(date.timeIntervalSince1970) - (clockOffset ?? self.clockOffset ?? .zero)
        let life = min(self.life - max(ageByDate, ageByBoot), .seconds(claims.expiresAt) - trueDate) - Self.margin
        return life > .zero ? TokenGrant(token: self.token, life: life) : nil
    }
}

// MARK: - Bytes

extension StoredToken {
    private static let version: Int64 = 1

    /// The record as bytes, for a store; they hold the token in the clear.
    public var serialized: Data {
        var record: JSONObject = [
            "version": .integer(Self.version),
            "token": .string(self.token.compactSerialization),
            "life_ms": .integer(self.life.milliseconds),
            "saved_at_ms": .integer(Duration.seconds(self.savedAt.timeIntervalSince1970).milliseconds),
            "since_boot_ms": .integer(self.sinceBoot.milliseconds),
        ]
        record["clock_offset_ms"] = self.clockOffset.map { .integer($0.milliseconds) }
        return Data(JSONValue.object(record).serialized)
    }

    /// Reads a record.
    ///
    /// - Parameter serialized: What ``serialized`` gave.
    /// - Throws: ``TokenClientError`` with `storeFailed` for anything else.
    public init(serialized: Data) throws(TokenClientError) {
        guard serialized.count <= TokenEndpoint.maximumAnswerBytes,
            let record = (try? JSONValue(parsing: serialized))?.object,
            record["version"]?.integer == Self.version,
            let token = record["token"]?.string,
            let life = record["life_ms"]?.integer,
            let savedAt = record["saved_at_ms"]?.integer,
            let sinceBoot = record["since_boot_ms"]?.integer
        else {
            throw TokenClientError(
                code: .storeFailed,
                message: "A stored token (\(serialized.count) bytes) is damaged or of another version; it is not used."
            )
        }
        self.init(
            token: FleetToken(token),
            life: .milliseconds(life),
            savedAt: Date(timeIntervalSince1970: Double(savedAt) / 1000),
            sinceBoot: .milliseconds(sinceBoot),
            clockOffset: record["clock_offset_ms"]?.integer.map { .milliseconds($0) }
        )
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 {
        let (whole, isOverflow) = self.components.seconds.multipliedReportingOverflow(by: 1000)
        guard !isOverflow else { return self < .zero ? .min : .max }
        let (sum, overflows) = whole.addingReportingOverflow(self.components.attoseconds / 1_000_000_000_000_000)
        return overflows ? whole : sum
    }
}
