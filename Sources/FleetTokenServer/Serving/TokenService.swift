// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
package import FleetSigning
package import FleetTokens
import Foundation
package import GoogleCredentials
package import Logging
package import ServiceLifecycle

/// The parts of a token server that `up` and `serve tokens` share: store, audit, keys, revocations, readiness, metrics.
package struct TokenService: Service {
    /// Keeps the audit, the revocations and the assignments.
    package let store: TokenServerStore
    let keys: SigningKeys?
    let signers: ConfiguredSigners?
    /// Issues tokens of the roles that something signs for.
    package let issuer: TokenIssuer
    /// What `/metrics` shows.
    package let metrics: TokenServerMetrics
    /// What `/readyz` answers from.
    package let readiness: Readiness
    let revocations: RevocationList
    private let listed: ListedRevocations
    private let publisher: RevocationPublisher
    /// Serves the list of what is withdrawn.
    package let revocationRoutes: RevocationRoutes
    /// Keeps up with what others publish: another token server's list, trusted accounts' keys.
    package let followers: [any Service]
    /// Verifies for an engine: with what ``trust`` adds, where a trust file is named.
    package let trust: AccountTrust?
    /// Verifies what ``keys`` sign, without what was withdrawn.
    package let verifier: TokenVerifier
    /// Who is known by bearer secrets.
    private let callers: [CallersFile]
    /// The address of the database that holds the store, if one does.
    private let database: String?
    private let logger: Logger
    private let watching: WatchLog
    /// Whether the log was told last that the list of revocations leaves something out.
    private let leavesOut = Locked(false)
    /// Ends once everything was looked at.
    private let looked = AsyncStream.makeStream(of: Void.self)

    /// The roles that something signs for now; the key folder may take another's key while the server runs.
    package var roles: Set<Role> { Self.roles(self.keys, self.signers) }

    /// Opens the store in a data folder and reads the keys.
    ///
    /// - Parameters:
    ///   - data: The data folder.
    ///   - address: The database that holds the store instead of a file in the data folder, if any.
    ///   - path: The key folder, if any.
    ///   - settings: How roles are signed that do not simply sign with the folder's keys.
    ///   - google: The identity that asks IAM; needed where there are such roles.
    ///   - provider: The provider.
    ///   - revocationKey: The file of the key that signs the list of revocations; in the data folder without.
    ///   - callers: The files of those who are known by bearer secrets, which are read again when they change.
    ///   - followed: What others publish.
    ///   - logger: Hears of what goes wrong.
    /// - Throws: ``TokenServerError``.
    package init(
        data: String, store address: String? = nil, keys path: String?, signers settings: [SignerSettings] = [],
        google: GoogleSigners? = nil,
        provider: ProviderID, revocationKey: String? = nil, callers: [CallersFile] = [],
        following followed: FollowedServers, logger: Logger
    ) throws(TokenServerError) {
        let (revocations, following, trusting) = (followed.revocations, followed.following, followed.trusting)
        let store = try Self.store(address, data: data, logger: logger)
        let keys: SigningKeys?
        if let path {
            keys = try SigningKeys(folder: KeyFolder(path: path), provider: provider, revocations: revocations)
        } else {
            keys = nil
        }
        let signers: ConfiguredSigners?
        if let google {
            signers = try ConfiguredSigners(settings, keys: keys, google: google, revocations: revocations)
        } else {
            signers = nil
        }
        guard !Self.roles(keys, signers).isEmpty else {
            throw TokenServerError(
                code: .invalidConfiguration,
                message:
                    "The key folder \(path ?? "") holds no key file ROLE.json; download a service account's key "
                    + "as driver.json, and so for each role, or set up accounts under signers.")
        }
        let keyFile =
            revocationKey ?? URL(filePath: data).appending(path: RevocationKeyFile.name).path(percentEncoded: false)
        let listed = ListedRevocations(of: RevocationStore(store: store))
        let publisher = RevocationPublisher(key: try Self.revocationKey(keyFile)) { try await listed.current(at: $0) }
        self.listed = listed
        self.publisher = publisher
        self.revocationRoutes = RevocationRoutes(publisher)
        self.store = store
        self.keys = keys
        self.signers = signers
        self.issuer = TokenIssuer(signers: signers, keys: keys, revocations: revocations)
        self.metrics = followed.metrics
        self.revocations = revocations
        self.verifier = followed.verifier
        self.verifier.replaceKeys(TrustedKeySet(self.keys?.published(at: Date()) ?? []))
        self.trust = trusting?.trust
        self.followers = followed.services
        self.readiness = Readiness(
            issuer: self.issuer, servedRoles: { Self.roles(keys, signers) }, store: self.store, metrics: self.metrics,
            followed: [
                .revocations: { following?.follower.problem },
                .trust: { trusting?.trust.problem },
            ], upstreamClocks: followed.clocks, logger: logger)
        self.callers = callers
        self.database = address
        self.logger = logger
        self.watching = WatchLog(logger: logger)
        self.metrics.show(sharedTokensOf: keys, signers)
        self.metrics.add {
            var leftOut = MetricFamily(
                "fleetpass_published_revocations_left_out", .gauge,
                help: "Entries that the list of revocations, which was asked for, has no room for.")
            leftOut.set(Double(publisher.leftOut))
            return [leftOut]
        }
        self.metrics.add { [watching] in
            var failing = MetricFamily(
                "fleetpass_reload_failing", .gauge, labels: ["part"],
                help: "Whether a file that changed could not be used; what was read of it before stays in force then.")
            func set(_ part: String, _ isFailing: Bool) { failing.set(isFailing ? 1 : 0, part) }
            if keys != nil { set("key_folder", watching.problem(of: Self.keyFolder) != nil) }
            if !callers.isEmpty { set("callers", callers.contains { watching.problem(of: Self.part($0)) != nil }) }
            if let signers { set("signers", signers.hasStaleKeys) }
            return [failing]
        }
        if let signers, !signers.roles.isEmpty { signers.report(to: self.metrics) }
        if FileMode.isWritableByOthers(data) {
            let next = FileMode.isForEverybody(data) ? "name a folder of the server's own as data" : "chmod 700 \(data)"
            logger.warning("the data folder can be written by other users", metadata: ["next": "\(next)"])
        }
    }

    private static func roles(_ keys: SigningKeys?, _ signers: ConfiguredSigners?) -> Set<Role> {
        (keys?.roles ?? []).union(signers?.roles ?? [])
    }

    private static func store(
        _ address: String?, data: String, logger: Logger
    ) throws(TokenServerError) -> TokenServerStore {
        if let address { return try TokenServerStore(postgreSQL: address, logger: logger) }
        return try TokenServerStore(creatingAt: TokenServerStore.file(inFolder: data))
    }

    /// The key that signs the list of revocations, read or made.
    private static func revocationKey(_ file: String) throws(TokenServerError) -> RevocationKey {
        let isThere = FileManager.default.fileExists(atPath: file)
        if let problem = isThere ? PathProblem.reading(file) : PathProblem.making(file: file) {
            throw TokenServerError(
                code: .invalidConfiguration,
                message: "The revocation key \(file) cannot be \(isThere ? "read" : "made"): \(problem). Mend that, or "
                    + "name another file with revocations.key_file.")
        }
        return try RevocationKeyFile(path: file).key()
    }

    /// Fails with what to mend where the store cannot be used.
    ///
    /// A database is asked by a connection of its own first, as the store's log what goes wrong: it is told once.
    package func checkStore() async throws(TokenServerError) {
        if let database { try await TokenServerStore.checkAnswer(of: database) }
        try await self.store.check()
    }

    /// The token server's routes; `observed` may put itself round the log of what is decided.
    package func routes(
        authenticator: any CallerAuthenticator, policy: any TokenPolicy = RolePolicy(), limiter: RequestLimiter? = nil,
        observed: (any AuditLog) -> any AuditLog = { $0 }
    ) -> TokenRoutes {
        let (keys, signers) = (self.keys, self.signers)
        return TokenRoutes(
            desk: TokenDesk(
                issuer: self.issuer, authenticator: authenticator, policy: policy, limiter: limiter,
                audit: observed(StoredAuditLog(store: self.store, logger: self.logger)), metrics: self.metrics,
                logger: self.logger),
            publishedKeys: {
                let now = Date()
                return (keys?.published(at: now) ?? []) + (signers?.publishedKeys(at: now) ?? [])
            })
    }

    /// The routes for administrators.
    func adminRoutes(_ administrators: Administrators, limits: TokenServerConfiguration) -> AdminRoutes {
        AdminRoutes(
            administrators: administrators, records: .init(store: self.store, keys: self.keys, signers: self.signers),
            limiter: RequestLimiter(RequestLimits(perCaller: limits.requestLimits.perCaller)),
            failedLogins: FailedLoginLimiter(limits.failedLogins), logger: self.logger)
    }

    /// Keeps keys, revocations and readiness as they should be, until shutdown.
    package func run() async throws {
        await withDiscardingTaskGroup { group in
            // A store that does not answer is told of while its changes are waited for.
            group.addTask { await untilShutdown { await self.refresh() } }
            group.addTask { await self.watchReadiness() }
        }
    }

    private func watchReadiness() async {
        let rounds = Locked(0)
        await untilShutdown {
            let round = rounds.withLock { rounds in
                defer { rounds += 1 }
                return rounds
            }
            // Trial tokens cost signatures; the rest costs next to nothing. What is down is looked at each time, so
            // that its recovery shows; breakers keep that cheap.
            if round % 15 == 0 || !self.readiness.problems.isEmpty {
                await self.readiness.check()
            } else {
                await self.readiness.checkStore()
            }
            self.looked.continuation.finish()
        }
    }

    /// Waits until ``run()`` has looked at everything once; what takes long is not waited for, and is not ready until then.
    func firstLook() async {
        await withTaskGroup { group in
            group.addTask { for await _ in self.looked.stream {} }
            group.addTask { try? await Task.sleep(for: .seconds(3)) }
            await group.next()
            group.cancelAll()
        }
    }

    private static let keyFolder = "the key folder"
    private static func part(_ file: CallersFile) -> String { "the callers' file \(file.path)" }

    /// Takes over what changed in the folder, the key files, the callers' files and the store.
    ///
    /// What is in force stays where that fails.
    package func refresh() async {
        await self.watching.perform(Self.keyFolder) { try self.refreshKeys() }
        for file in self.callers {
            await self.watching.perform(Self.part(file)) {
                guard try file.refresh() else { return }
                self.logger.notice("callers read again", metadata: ["file": "\(file.path)"])
            }
        }
        if let signers {
            let (changes, problems) = signers.refreshKeyFiles(at: Date())
            if changes > 0 { self.logger.notice("signers' key files read again", metadata: ["changed": "\(changes)"]) }
            for problem in problems {
                self.logger.error("a signer's key in force stays", metadata: ["error": "\(problem.message)"])
            }
        }
        await self.watching.perform("the list of revocations") {
            self.revocations.replace(try await RevocationStore(store: self.store).current(at: Date()))
            try await self.publisher.keepUp()
            self.noteLeftOut()
            // Not by who asks for the list, as it may take longer than they wait.
            if self.publisher.leftOut > 0 { try await self.listed.lookUpTokensOfKeys(at: Date()) }
        }
    }

    /// What keeps it from none of its work, and somebody should mend, by check: `/readyz` of every server of a store would
    /// fail at once for it, and anybody who asks for the list could have them do so.
    @Sendable package func remarks() -> [String: String] {
        self.publisher.problem.map { [Readiness.Check.revocations.rawValue: $0] } ?? [:]
    }

    /// Tells the log when the list of revocations begins or ceases to leave something out.
    private func noteLeftOut() {
        let problem = self.publisher.problem
        let isNews = self.leavesOut.withLock { leavesOut in
            defer { leavesOut = problem != nil }
            return leavesOut != (problem != nil)
        }
        guard isNews else { return }
        if let problem {
            self.logger.error("the list of revocations leaves something out", metadata: ["problem": "\(problem)"])
        } else {
            self.logger.notice("the list of revocations leaves nothing out any more")
        }
    }

    private func refreshKeys() throws {
        guard let keys else { return }
        let now = Date()
        if let change = try keys.change(at: now) {
            let found = keys.statuses(at: now).map { "\($0.role) \($0.keyID) \($0.state)" }
            self.logger.notice("key folder read again", metadata: ["keys": "\(found.joined(separator: ", "))"])
            if !change.cutShort.isEmpty {
                self.logger.warning(
                    "a new key is of a time that is over; those before it stay published until their tokens have ended",
                    metadata: [
                        "keys": "\(change.cutShort.joined(separator: ", "))",
                        "next": "set the clock of the machine that made the key known",
                    ])
            }
        }
        let published = keys.published(at: now)
        if published.map(\.id) != self.verifier.keys(from: TokenVerifier.own)?.keys.map(\.id) {
            self.verifier.replaceKeys(TrustedKeySet(published))
        }
    }
}
