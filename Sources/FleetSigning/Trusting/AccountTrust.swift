// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
public import Foundation

/// Keeps a verifier's keys as the trusted accounts publish them.
///
/// Whoever owns it calls ``refresh()`` every few seconds, which fetches nothing but what is due: a set is used for its
/// `max-age`, between 5 minutes and a day, renewed early, and kept for a day more while fetches fail; a certificate's
/// key is let go of when the certificate ends. A set without entries withdraws all keys of its account. For a token
/// with a key that is not known, ``learnKey(of:)`` asks again, at most once in 30 seconds for each account.
public final class AccountTrust: Sendable {
    /// The most keys of one account.
    private static let maximumKeys = 64
    private static let source = "accounts"
    /// For so long past its end a set that cannot be renewed is no problem yet.
    private static let patience: Duration = .seconds(600)
    /// How long a call waits for keys to be fetched: anybody can name a key that nobody has.
    private static let callPatience: Duration = .seconds(1)

    /// The verifier whose keys are kept.
    public let verifier: TokenVerifier

    private let sources: [TrustedAccountSource]
    private let remotes: [RemoteKeySet<[RSAPublicKey]>]
    private let kept: KeptKeys
    private let time: TimeSource

    /// The keys of each account, in the order of the sources.
    final class KeptKeys: Sendable {
        private struct State {
            var keys: [[RSAPublicKey]]
            /// How often each account's keys were fetched.
            var fetches: [Int]
        }

        private let verifier: TokenVerifier
        private let state: Locked<State>

        init(_ count: Int, verifier: TokenVerifier) {
            self.verifier = verifier
            self.state = Locked(
                State(keys: Array(repeating: [], count: count), fetches: Array(repeating: 0, count: count)))
        }

        func isEmpty(at index: Int) -> Bool { self.state.withLock { $0.keys[index].isEmpty } }

        func fetches(at index: Int) -> Int { self.state.withLock { $0.fetches[index] } }

        /// Replaces one account's keys by those that were fetched.
        func put(_ keys: [RSAPublicKey], at index: Int) {
            self.state.withLock { state in
                state.fetches[index] += 1
                self.replace(keys, at: index, in: &state)
            }
        }

        /// Lets go of one account's keys, unless they were fetched again after so many fetches.
        func drop(at index: Int, after fetches: Int) {
            self.state.withLock { state in
                guard state.fetches[index] == fetches else { return }
                self.replace([], at: index, in: &state)
            }
        }

        /// The same keys again change nothing, as the verifier forgets what it verified.
        private func replace(_ keys: [RSAPublicKey], at index: Int, in state: inout State) {
            guard !state.keys[index].elementsEqual(keys, by: { $0.isSame(as: $1) }) else { return }
            state.keys[index] = keys
            self.publish(state.keys)
        }

        /// Lets go of the keys whose certificates have ended.
        func dropEnded(at time: Date) {
            self.state.withLock { state in
                guard state.keys.contains(where: { $0.contains { $0.hasEnded(at: time) } }) else { return }
                state.keys = state.keys.map { $0.filter { !$0.hasEnded(at: time) } }
                self.publish(state.keys)
            }
        }

        private func publish(_ all: [[RSAPublicKey]]) {
            self.verifier.replaceKeys(TrustedKeySet(all.flatMap(\.self)), from: AccountTrust.source)
        }
    }

    /// Trusts accounts.
    ///
    /// - Parameters:
    ///   - sources: The accounts, each once.
    ///   - transport: Fetches their keys.
    ///   - verifier: Gets them beside its own.
    ///   - clock: What the keys' age is counted on.
    ///   - now: The date that certificates are judged by.
    /// - Throws: ``SigningError`` with ``SigningError/Code/invalidKeySet`` for an address that cannot be used, and for two
    ///   accounts with one set of keys: a key must not sign for another account.
    public init(
        _ sources: [TrustedAccountSource], transport: any UpstreamTransport, verifier: TokenVerifier,
        clock: some Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Date = { Date() }
    ) throws(SigningError) {
        for case .address(let url) in sources.map(\.keys) where !UpstreamAddress.isAcceptable(url) {
            throw SigningError(
                code: .invalidKeySet,
                message: "The keys' address \(UpstreamAddress.shown(url)) must be \(UpstreamAddress.rule).")
        }
        var owners: [TrustedAccountSource.Keys: String] = [:]
        for source in sources {
            guard let owner = owners.updateValue(source.account.email, forKey: source.keys.normalized) else { continue }
            throw SigningError(
                code: .invalidKeySet,
                message:
                    "The accounts \(owner) and \(source.account.email) name the same keys, so that each could sign for "
                    + "the other; give each account its own set or key file.")
        }
        let kept = KeptKeys(sources.count, verifier: verifier)
        let time = TimeSource(clock: clock, now: now)
        self.verifier = verifier
        self.sources = sources
        self.kept = kept
        self.time = time
        self.remotes = sources.enumerated().map { index, source in
            RemoteKeySet(time: time) {
                let (bytes, age) = try await Self.fetch(source.keys, over: transport)
                let date = time.date
                let keys = try Self.keys(in: bytes, of: source, at: date)
                kept.put(keys, at: index)
                return (keys, Self.age(age, of: keys, at: date))
            }
        }
    }

    /// What is missing, in words: accounts of which no key can be had, or none that is of now, or that withdrew all.
    ///
    /// Keys that cannot be renewed are a problem from 10 minutes after their set's end; ``failures`` tells at once.
    public var problem: String? {
        var (lacking, old): ([String], [String]) = ([], [])
        for index in self.sources.indices {
            let remote = self.remotes[index]
            func words(_ otherwise: String) -> String {
                "\(self.sources[index].account.email) (\(remote.failure ?? otherwise))"
            }
            if self.kept.isEmpty(at: index) {
                let why = remote.keys.map { $0.isEmpty ? "its key set is empty" : "its certificates have ended" }
                lacking.append(words(why ?? "not fetched yet"))
            } else if let overrun = remote.overrun, overrun >= Self.patience {
                old.append(words("fetches fail"))
            }
        }
        let problems = [("no keys of", lacking), ("only old keys of", old)].filter { !$0.1.isEmpty }
        guard !problems.isEmpty else { return nil }
        return problems.map { "\($0) \($1.joined(separator: ", "))" }.joined(separator: "; ")
    }

    /// Why the last fetch of an account's keys failed, by account; an account whose keys could be fetched has no entry.
    public var failures: [String: String] {
        var failures: [String: String] = [:]
        for (source, remote) in zip(self.sources, self.remotes) { failures[source.account.email] = remote.failure }
        return failures
    }

    /// How long ago the keys were fetched that were fetched longest ago; `nil` before the first fetch.
    public var age: Duration? { self.remotes.compactMap(\.age).max() }

    /// Fetches the keys that are due, all accounts at once, and forgets those that have ended or were not to be had for
    /// too long.
    public func refresh() async {
        defer { self.kept.dropEnded(at: self.time.date) }
        await withTaskGroup { group in
            for (index, remote) in self.remotes.enumerated() {
                group.addTask {
                    let fetches = self.kept.fetches(at: index)
                    // A call may have had the keys fetched meanwhile.
                    if case .unavailable = await remote.lookup({ _ in true }) {
                        self.kept.drop(at: index, after: fetches)
                    }
                }
            }
        }
    }

    /// Asks for the key that a token names, if the account that it claims to be of is trusted.
    ///
    /// Nothing of the token is believed by it.
    ///
    /// - Parameter token: The compact JWS.
    /// - Returns: Whether there is such a key now, as far as can be known.
    public func learnKey(of token: String) async -> KeyLookup {
        guard let jws = try? CompactJWS(token),
            let issuer = (try? JSONValue(parsing: jws.payload))?.object?["iss"]?.string,
            let index = self.sources.firstIndex(where: { $0.account.email == issuer })
        else { return .unknown }
        let date = self.time.date
        let lookup = await self.remotes[index].lookup(patience: Self.callPatience) { keys in
            keys.contains { key in
                !key.hasEnded(at: date) && jws.keyID.map { key.id == $0 || key.isUnnamed } ?? true
            }
        }
        return switch lookup {
        case .found: .found
        case .unknownKey: .unknown
        case .unavailable: .unavailable
        }
    }

    private static func fetch(
        _ keys: TrustedAccountSource.Keys, over transport: any UpstreamTransport
    ) async throws -> (bytes: Data, maximumAge: Duration?) {
        switch keys {
        case .address(let url):
            let answer = try await KeySetFetch.document(at: url, over: transport)
            return (Data(answer.body), answer.maximumAge)
        // A file is read again as often as the rules allow.
        case .file(let path):
            do {
                return (try Data(contentsOf: URL(filePath: path)), .zero)
            } catch {
                // The error itself is told in other words each time, and its description as a number at times.
                let cause = (error as? CocoaError)?.underlying as? POSIXError
                let reason = cause.map { String(cString: strerror($0.code.rawValue)) } ?? error.localizedDescription
                throw SigningError(code: .invalidKeySet, message: "\(path) cannot be read: \(reason)")
            }
        }
    }

    /// How long a set may be used: no longer than the first of its certificates.
    private static func age(_ age: Duration?, of keys: [RSAPublicKey], at now: Date) -> Duration? {
        guard let end = keys.compactMap(\.end).min() else { return age }
        return min(age ?? KeySetCache<[RSAPublicKey]>.Rules().defaultAge, .seconds(end.timeIntervalSince(now)))
    }

    private static func keys(
        in bytes: Data, of source: TrustedAccountSource, at now: Date
    ) throws(SigningError) -> [RSAPublicKey] {
        let name = source.account.email
        let read = try TrustedKeySet.read(bytes, named: name, account: source.account, validAt: now)
        // Whoever publishes no key has withdrawn those that there were; entries of no use are somebody's mistake.
        if read.isEmpty, TrustedKeySet.isWithoutEntries(bytes) { return [] }
        guard (1...Self.maximumKeys).contains(read.count) else {
            throw SigningError(
                code: .invalidKeySet,
                message: "The keys of \(name) are \(read.count) RS256 keys that are valid now; 1 to "
                    + "\(Self.maximumKeys) are taken.")
        }
        return read
    }
}
