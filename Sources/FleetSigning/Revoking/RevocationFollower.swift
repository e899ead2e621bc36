// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation

/// Keeps a ``RevocationList`` as another token server publishes it.
///
/// Whoever owns it calls ``poll()`` every 2 seconds. A list that is forged, too old or of another kind is refused; one
/// that can be believed and was made before the list at hand changes nothing, as several servers may answer in turn,
/// unless the list at hand is from the future, as after a clock was ahead. A list that had no room for everything adds to
/// what earlier ones withdrew, which stays until its end. While none can be had, the last one stays in force; ``problem``
/// tells when it became too old to be believed, or is from the future.
public final class RevocationFollower: Sendable {
    /// Where the keys are that lists must be signed with.
    public enum Keys: Sendable {
        /// A key set that is fetched when it is needed.
        case address(String)
        /// Keys that are known beforehand.
        case pinned(RevocationKeySet)
    }

    /// What became of a poll.
    public enum Outcome: Hashable, Sendable {
        /// A newer list is in force, with so many entries.
        case applied(Int)
        /// The list at hand is the newest that was seen.
        case unchanged
        /// There is no newer list to be believed.
        case failed(String)
    }

    private struct Kept {
        var list: SignedRevocations
        var entityTag: String?
        /// What lists before it named and it does not, where it had no room for everything.
        var earlier: [Revocation] = []

        /// What is withdrawn at a time.
        func inForce(at now: Date) -> [Revocation] { (self.list.revocations + self.earlier).filter { $0.endsAt > now } }

        /// What is withdrawn and a later list does not name, where that had no room for everything.
        func leftOut(of list: SignedRevocations, at now: Date) -> [Revocation] {
            guard list.leftOut > 0 else { return [] }
            let named = Dictionary(grouping: list.revocations, by: \.kind).mapValues { Set($0.map(\.value)) }
            return self.inForce(at: now).filter { named[$0.kind]?.contains($0.value) != true }
        }
    }

    private struct State {
        var kept: Kept?
        var failure: String?

        /// The list at hand, as far as others are compared with it.
        ///
        /// One from the future came by a clock that was ahead: all others would be older, until that time has come.
        func newest(at now: Date) -> Kept? {
            self.kept.flatMap { $0.list.isFromTheFuture(at: now) ? nil : $0 }
        }
    }

    /// The list's address.
    public let url: String

    private let pinned: RevocationKeySet?
    private let remote: RemoteKeySet<RevocationKeySet>
    private let transport: any UpstreamTransport
    private let list: RevocationList
    private let time: TimeSource
    private let state = Locked(State())

    /// Follows a list.
    ///
    /// - Parameters:
    ///   - url: The list's address: https, or this machine.
    ///   - keys: The keys that lists must be signed with; by default the set at `jwks.json` below the list, with its
    ///     query.
    ///   - transport: Fetches list and keys.
    ///   - list: What is kept up to date, under the name of `url`.
    ///   - clock: What the keys' age is counted on.
    ///   - now: The date that lists are judged by.
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidKeySet`` for an address that cannot be used.
    public init(
        url: String, keys: Keys? = nil, transport: any UpstreamTransport, list: RevocationList,
        clock: some Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Date = { Date() }
    ) throws(SigningError) {
        let path = url.prefix { $0 != "?" }
        var keysAddress = "\(path)/jwks.json\(url.dropFirst(path.count))"
        var pinned: RevocationKeySet?
        switch keys {
        case .address(let address)?: keysAddress = address
        case .pinned(let keys)?: pinned = keys
        case nil: break
        }
        guard UpstreamAddress.isAcceptable(url), UpstreamAddress.isAcceptable(keysAddress) else {
            throw SigningError(
                code: .invalidKeySet,
                message: "The addresses of a list of revocations and its keys must be \(UpstreamAddress.rule).")
        }
        self.url = url
        self.pinned = pinned
        self.transport = transport
        self.list = list
        self.time = TimeSource(clock: clock, now: now)
        self.remote = RemoteKeySet(time: self.time) { [keysAddress] in
            let answer = try await KeySetFetch.document(at: keysAddress, over: transport)
            return (try RevocationKeySet(jwks: answer.body), answer.maximumAge)
        }
    }

    /// Why the list in force cannot be believed to be the newest; `nil` when it can.
    public var problem: String? {
        let (kept, failure) = self.state.withLock { ($0.kept, $0.failure) }
        guard let kept else { return failure ?? "no list of revocations was fetched yet" }
        let now = self.time.date
        guard !kept.list.isFromTheFuture(at: now) else {
            let early = Int(kept.list.issuedAt.timeIntervalSince(now))
            return "the list of revocations is from \(early) s in the future: \(failure ?? "the clock was set back")"
        }
        let late = now.timeIntervalSince(kept.list.expiresAt)
        guard late >= SignedRevocations.leeway else { return nil }
        return "the list of revocations ended \(Int(late)) s ago: \(failure ?? "it is unchanged")"
    }

    /// How long ago the list in force was made; `nil` before the first.
    public var age: Duration? {
        self.state.withLock { $0.kept }.map {
            .milliseconds(Int64(self.time.date.timeIntervalSince($0.list.issuedAt) * 1000))
        }
    }

    /// Fetches the list if it changed, and puts it in force if it can be believed.
    ///
    /// - Returns: What became of it.
    @discardableResult
    public func poll() async -> Outcome {
        let outcome: Outcome
        do {
            outcome = try await self.fetch()
        } catch {
            outcome = .failed("\(error)")
        }
        let now = self.time.date
        self.state.withLock { state in
            if case .failed(let why) = outcome { state.failure = why } else { state.failure = nil }
            guard let kept = state.kept else { return }
            // What has ended is let go of, whether or not there is a newer list. Behind the lock, as another poll may
            // have brought one meanwhile.
            self.list.replace(kept.inForce(at: now), from: self.url)
        }
        return outcome
    }

    private func fetch() async throws -> Outcome {
        let start = self.time.date
        let kept = self.state.withLock { $0.newest(at: start) }
        var headers = [(name: "Accept", value: "application/jwt")]
        if let tag = kept?.entityTag { headers.append(("If-None-Match", tag)) }
        let request = UpstreamRequest(
            url: self.url, headers: headers, timeout: .seconds(3), maximumBytes: SignedRevocations.maximumBytes)
        let answer = try await self.transport.send(request)
        if answer.status == 304, let kept {
            guard self.time.date < kept.list.expiresAt.addingTimeInterval(SignedRevocations.leeway) else {
                throw SignedRevocations.Refusal("An old list was said to be the newest.")
            }
            return .unchanged
        }
        guard answer.status == 200 else {
            throw SignedRevocations.Refusal("The list's address answered with status \(answer.status).")
        }
        let keys = try await self.keys(for: answer.body)
        let list = try SignedRevocations(reading: answer.body, keys: keys, at: self.time.date)
        let now = self.time.date
        let isKept = self.state.withLock { state in
            // Another poll, or another server at this address, may have brought a newer one before.
            let newest = state.newest(at: now)
            if let newest, list.issuedAt < newest.list.issuedAt { return false }
            state.kept = Kept(
                list: list, entityTag: answer.header("ETag"), earlier: newest?.leftOut(of: list, at: now) ?? [])
            return true
        }
        return !isKept || list == kept?.list ? .unchanged : .applied(list.revocations.count)
    }

    private func keys(for text: [UInt8]) async throws -> RevocationKeySet {
        if let pinned { return pinned }
        let id = try SignedRevocations.keyID(of: text)
        switch await self.remote.lookup({ $0.contains(id) }) {
        case .found(let keys): return keys
        case .unknownKey: throw SignedRevocations.Refusal("The list names a key that its server does not have.")
        case .unavailable:
            let why = self.remote.failure ?? "the fetch failed"
            throw SignedRevocations.Refusal("The list's keys cannot be had: \(why)\(why.hasSuffix(".") ? "" : ".")")
        }
    }
}
