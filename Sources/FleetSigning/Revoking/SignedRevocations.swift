// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation

/// What is withdrawn as a token server tells engines far away: a compact JWS that says when it was made and until when
/// it may be believed.
///
/// Type and algorithm are its own, so it can never be taken for a Fleet Engine token, nor a token for it.
public struct SignedRevocations: Hashable, Sendable {
    /// The header's `typ`.
    public static let type = "fleetpass-revocations+jwt"
    /// The longest list that is written or read, in bytes, about 45,000 entries.
    public static let maximumBytes = 4 << 20
    /// How long a list is believed.
    public static let lifetime: TimeInterval = 60

    static let algorithm = "EdDSA"
    /// The clock difference between signer and reader that is forgiven.
    static let leeway: TimeInterval = 60

    /// When the list was made, in whole seconds.
    public let issuedAt: Date
    /// Until when it is believed.
    public let expiresAt: Date
    /// What is withdrawn.
    public let revocations: [Revocation]
    /// How many more are withdrawn, which the list has no room for.
    public let leftOut: Int

    /// Makes a list.
    ///
    /// Where there is no room for all, keys go before tokens, as each stands for many, and what ends later before what
    /// ends sooner.
    ///
    /// - Parameters:
    ///   - revocations: What is withdrawn; what has ended, or would last longer than a token, is left out or cut, as is
    ///     what no token has.
    ///   - now: The time.
    public init(_ revocations: [Revocation], at now: Date) {
        let start = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down))
        let latest = start.addingTimeInterval(Revocation.longest)
        self.issuedAt = start
        self.expiresAt = start.addingTimeInterval(Self.lifetime)
        let usable = revocations.filter { $0.endsAt > start && Revocation.isUsable(value: $0.value) }.map {
            Revocation(kind: $0.kind, value: $0.value, endsAt: min($0.endsAt, latest))
        }
        self.revocations = Self.whatFits(usable, until: latest)
        self.leftOut = usable.count - self.revocations.count
    }

    /// Those that there is room for; none of them ends later than a time.
    private static func whatFits(_ revocations: [Revocation], until latest: Date) -> [Revocation] {
        // Four characters stand for three bytes; header, signature and the rest of the payload take less than is spared.
        let room = (Self.maximumBytes - 1024) / 4 * 3
        // No entry has more beside its value, whose quotation marks would count twice, and a comma follows it.
        let frame = Self.entry(Revocation(kind: .fingerprint, value: "", endsAt: latest)).serialized.count
        let size = { (revocation: Revocation) in frame + JSONValue.string(revocation.value).serialized.count - 1 }
        guard revocations.reduce(0, { $0 + size($1) }) > room else { return revocations }
        let ordered = revocations.sorted { first, second in
            guard first.kind == second.kind else { return first.kind == .key }
            return (first.endsAt, first.value) > (second.endsAt, second.value)
        }
        var bytes = 0
        return Array(
            ordered.prefix { revocation in
                bytes += size(revocation)
                return bytes <= room
            })
    }

    /// Signs the list.
    ///
    /// - Parameter key: The key.
    /// - Returns: The compact JWS.
    /// - Throws: ``SigningError`` with ``SigningError/Code/signingFailed``.
    public func signed(with key: RevocationKey) throws(SigningError) -> String {
        let header: JSONObject = [
            "alg": .string(Self.algorithm), "typ": .string(Self.type), "kid": .string(key.id),
        ]
        var payload: JSONObject = [
            "iat": Self.seconds(self.issuedAt), "exp": Self.seconds(self.expiresAt),
            "revocations": .array(self.revocations.map(Self.entry)),
        ]
        if self.leftOut > 0 { payload["left_out"] = .integer(Int64(self.leftOut)) }
        let input = [header, payload].map { RevocationKey.text(JSONValue.object($0).serialized) }
            .joined(separator: ".")
        do {
            return "\(input).\(RevocationKey.text(try key.signature(of: Array(input.utf8))))"
        } catch {
            throw SigningError(code: .signingFailed, message: "The revocation key did not sign.", cause: error)
        }
    }

    private static func entry(_ revocation: Revocation) -> JSONValue {
        .object([
            "kind": .string(revocation.kind.rawValue), "value": .string(revocation.value),
            "end": Self.seconds(revocation.endsAt),
        ])
    }

    private static func seconds(_ date: Date) -> JSONValue {
        .integer(Int64(date.timeIntervalSince1970.rounded(.up)))
    }
}

extension SignedRevocations {
    /// Why a list is not believed.
    public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        /// What is wrong, without anything of the list that is not public.
        public let message: String
        /// The same as ``message``.
        public var description: String { self.message }

        init(_ message: String) { self.message = message }
    }

    /// The id of the key that a list claims to be signed with, for those who must fetch it first.
    ///
    /// - Parameter text: The compact JWS.
    /// - Returns: The `kid`.
    /// - Throws: ``Refusal`` for a text that is no such list.
    static func keyID(of text: [UInt8]) throws(Refusal) -> String {
        try Self.parts(of: text).keyID
    }

    /// Reads a list that a key vouches for and that is of now.
    ///
    /// - Parameters:
    ///   - text: The compact JWS.
    ///   - keys: The keys that are trusted with lists.
    ///   - now: The time.
    /// - Throws: ``Refusal`` for the first rule that does not hold.
    public init(reading text: [UInt8], keys: RevocationKeySet, at now: Date) throws(Refusal) {
        let (keyID, parts) = try Self.parts(of: text)
        guard keys.contains(keyID) else { throw Refusal("The list names a key that is not trusted.") }
        guard keys.isValidSignature(parts.signature, for: parts.signingInput, by: keyID) else {
            throw Refusal("The list's signature does not hold.")
        }
        guard let payload = (try? JSONValue(parsing: parts.payload))?.object,
            let issuedAt = Self.date(payload["iat"]), let expiresAt = Self.date(payload["exp"]),
            issuedAt < expiresAt, expiresAt <= issuedAt.addingTimeInterval(Revocation.longest),
            let entries = payload["revocations"]?.array
        else { throw Refusal("The list is not a JSON object with iat, a near exp, and revocations.") }
        guard !Self.isFromTheFuture(issuedAt, at: now) else {
            throw Refusal("The list is from the future; set the clocks.")
        }
        guard now < expiresAt.addingTimeInterval(Self.leeway) else { throw Refusal("The list is out of date.") }
        // The signer's clock and the tokens' may differ a little.
        let latest = issuedAt.addingTimeInterval(Revocation.longest + Self.leeway)
        var revocations: [Revocation] = []
        revocations.reserveCapacity(entries.count)
        for entry in entries {
            guard let members = entry.object, let kind = members["kind"]?.string.flatMap(Revocation.Kind.init),
                let value = members["value"]?.string, let end = Self.date(members["end"]), end <= latest
            else { throw Refusal("The list has an entry that is none, or that outlives every token.") }
            // What no token has withdraws nothing: refusing the list for it would let later withdrawals through.
            guard Revocation.isUsable(value: value) else { continue }
            revocations.append(Revocation(kind: kind, value: value, endsAt: end))
        }
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.revocations = revocations
        self.leftOut = Int(clamping: max(0, payload["left_out"]?.integer ?? 0))
    }

    /// Whether the list was made later than now, by more than clocks differ.
    func isFromTheFuture(at now: Date) -> Bool { Self.isFromTheFuture(self.issuedAt, at: now) }

    private static func isFromTheFuture(_ issuedAt: Date, at now: Date) -> Bool {
        issuedAt > now.addingTimeInterval(Self.leeway)
    }

    private static func parts(of text: [UInt8]) throws(Refusal) -> (keyID: String, JWSParts) {
        let parts: JWSParts
        do throws(JWSParts.Fault) {
            parts = try JWSParts(text, atMost: Self.maximumBytes)
        } catch {
            throw error == .size
                ? Refusal("The list has more than \(Self.maximumBytes) bytes.")
                : Refusal("The list is not a compact JWS.")
        }
        let header = parts.header
        guard header["typ"]?.string == Self.type, header["alg"]?.string == Self.algorithm, header["crit"] == nil else {
            throw Refusal("The list's header is not that of a list: typ \(Self.type), alg \(Self.algorithm).")
        }
        guard let keyID = header["kid"]?.string, (1...256).contains(keyID.utf8.count) else {
            throw Refusal("The list does not name its key (kid).")
        }
        return (keyID, parts)
    }

    private static func date(_ value: JSONValue?) -> Date? {
        guard let seconds = value?.integer, (0...253_402_300_799).contains(seconds) else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(seconds))
    }
}
