// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetSigning
import FleetTokenServer
import FleetTokens
import Foundation
import GoogleCredentials

/// Everything that a configuration of the token server names, looked at once.
struct TokenServerExamination {
    private let configuration: TokenServerConfiguration
    private let file: String
    private let authorities: TrustedAuthorities
    private let google: GoogleSigners
    private let transport = AsyncHTTPClientTransport()

    init(_ configuration: TokenServerConfiguration, file: String, variables: [String: String]) {
        self.configuration = configuration
        self.file = file
        self.authorities = TrustedAuthorities(variables: variables)
        self.google = configuration.google.signers(variables: variables)
    }

    /// What each check found, in the order in which a person would mend it.
    func findings() async -> [DoctorFinding] {
        let store = StoreCheck(folder: self.configuration.data, postgreSQL: self.configuration.postgreSQL)
        var findings: [DoctorFinding] = [.ok("configuration", self.file)]
        // Where it cannot be used, much of the rest fails.
        if let authorities = self.authorities.finding { findings.append(authorities) }
        findings.append(await store.finding())
        if let modes = SecretFilesCheck(self.configuration, file: self.file).finding { findings.append(modes) }
        let needsGoogle = self.configuration.signers.contains { $0.ways.contains { $0 != .key } }
        if needsGoogle { findings.append(await CredentialsCheck(google: self.google).finding()) }
        findings += await self.signers()
        findings += await self.callers()
        findings += await self.policy()
        findings += self.unservedRoles()
        findings += self.others
        if let tls = self.configuration.tls { findings.append(self.certificate(tls)) }
        let issuers = self.configuration.identityProviders.map(\.issuer)
        findings.append(await ClockCheck(google: self.configuration.google, others: issuers).finding())
        return findings
    }

    private func signers() async -> [DoctorFinding] {
        let signing: (keys: SigningKeys?, signers: ConfiguredSigners)
        do {
            signing = try self.signing()
        } catch {
            return [
                .fault(
                    "keys", error, next: "Put the file where it is looked for, or name another in the configuration.")
            ]
        }
        let (keys, signers) = signing
        let roles = signers.roles.union(keys?.roles ?? [])
        guard !roles.isEmpty else {
            return [
                .fault(
                    "keys", "the key folder \(self.configuration.keys ?? "") holds no key file ROLE.json.",
                    next: "Put a service account's key there as driver.json, or set signers.driver.account.")
            ]
        }
        let issuer = TokenIssuer { claims, role, time in
            if let minted = try await signers.mint(claims, as: role) { return minted }
            return try await keys?.minter(for: role, at: time)?.mint(claims, at: time)
        }
        var findings: [DoctorFinding] = []
        for role in roles.sorted(by: { $0.rawValue < $1.rawValue }) {
            let ways = self.configuration.signers.first { $0.role == role }?.ways ?? []
            guard ways.count > 1 else {
                findings.append(await Self.trial(of: role, issuer, check: "signer \(role)"))
                continue
            }
            // Each by itself: a way that signs hides that the one before it is refused.
            for way in ways {
                let issuer = TokenIssuer { claims, role, _ in try await signers.mint(claims, as: role, by: way) }
                findings.append(await Self.trial(of: role, issuer, check: "signer \(role) \(way.word)"))
            }
        }
        return findings
    }

    /// What the running server signs with.
    private func signing() throws -> (keys: SigningKeys?, signers: ConfiguredSigners) {
        let provider = self.configuration.provider
        let keys = try self.configuration.keys.map {
            try SigningKeys(folder: KeyFolder(path: $0), provider: provider)
        }
        return (keys, try ConfiguredSigners(self.configuration.signers, keys: keys, google: self.google))
    }

    /// The roles that are granted and that nothing signs for; nothing where the one or the other cannot be read, which is
    /// told already.
    private func unservedRoles() -> [DoctorFinding] {
        guard let signing = try? self.signing(),
            let policy = try? self.configuration.policy(
                assignments: InMemoryAssignmentStore(), transport: self.transport)
        else { return [] }
        let served = signing.signers.roles.union(signing.keys?.roles ?? [])
        guard !served.isEmpty, let unserved = try? self.configuration.unservedRoles(of: policy, served: served) else {
            return []
        }
        return unserved.map { DoctorFinding.fault("signer \($0.role)", $0.problem, next: $0.remedy) }
    }

    /// A token that reaches one thing that nobody has, as the running server makes it.
    private static func trial(of role: Role, _ issuer: TokenIssuer, check: String) async -> DoctorFinding {
        do {
            let claims = try AuthorizationClaims(
                trip: .only(try TripID(checking: "fleetpass-canary")), additional: ["canary": "true"])
            let issued = try await issuer.issue(.custom(role, claims))
            let payload = try CompactJWS(issued.token.compactSerialization).payload
            let account = try JSONValue(parsing: payload).object?["iss"]?.string ?? "an account"
            return .ok(check, "\(account) signs" + (issued.keyID.map { ", key \($0)" } ?? ""))
        } catch {
            return .fault(check, error, next: "Check signers.\(role), or the role's key file.")
        }
    }

    private func callers() async -> [DoctorFinding] {
        do {
            _ = try self.configuration.authenticator(transport: self.transport)
        } catch {
            return [.fault("callers", error, next: "Mend what the section callers names.")]
        }
        let kinds = [
            (self.configuration.callersFile == nil ? 0 : 1, "callers' file"),
            (self.configuration.identityProviders.count, "identity provider"),
            (self.configuration.sessions.count, "session issuer"),
            (self.configuration.certificateCallers.count, "certificate"), (self.configuration.proxies.count, "proxy"),
        ]
        let found = kinds.filter { $0.0 > 0 }.map { "\($0.1) (\($0.0))" }.joined(separator: ", ")
        var findings: [DoctorFinding] = [.ok("callers", found)]
        for provider in self.configuration.identityProviders {
            let check = "callers.oidc.\(provider.label)"
            do {
                let count = try await IDTokenAuthenticator.countKeys(of: provider, transport: self.transport)
                findings.append(.ok(check, "\(provider.issuer) publishes \(count) keys"))
            } catch let error as KeySetError where error.isConfiguration {
                findings.append(
                    .fault(
                        check, "\(error)",
                        next: "Where that is your provider, write \(check).issuer so, to the letter: a final slash "
                            + "counts, and its tokens have the same iss."))
            } catch {
                findings.append(
                    .fault(
                        check, "\(provider.issuer): \(error)",
                        next: "Check its address and the network from here; \(check).keys names a key set directly.",
                        status: .unreachable))
            }
        }
        return findings
    }

    private func policy() async -> [DoctorFinding] {
        guard let file = self.configuration.policyFile else {
            return [self.withoutPolicy]
        }
        let policy: any TokenPolicy
        do {
            policy = try self.configuration.policy(assignments: InMemoryAssignmentStore(), transport: self.transport)
            try self.configuration.checkCallers(of: policy)
        } catch {
            return [.fault("policy", error, next: "Mend the file; docs/policy.md shows its form.")]
        }
        let found = DoctorFinding.ok("policy", file)
        do {
            guard let rules = policy as? RulePolicy, try await rules.tryWebhook(at: Date()) else { return [found] }
            return [found, .ok("policy webhook", "decides what it is asked")]
        } catch {
            let hasAnswer = (error as? PolicyUnavailable)?.hasAnswer ?? false
            return [
                found,
                .fault(
                    "policy webhook", "\(error)",
                    next: hasAnswer
                        ? "Check the webhook's url in \(file), and that both sides have the secret of "
                            + "policy.secret_file; docs/policy.md shows what it is asked and may answer."
                        : "Check the webhook's url in \(file), and the network and trusted authorities from here.",
                    status: hasAnswer ? .failed : .unreachable),
            ]
        }
    }

    /// What comes of no rules: nothing for callers without roles.
    private var withoutPolicy: DoctorFinding {
        let found = "none: callers get every token of their own roles"
        guard let roleless = self.configuration.rolelessCallers(of: RolePolicy()) else { return .ok("policy", found) }
        return roleless.isEverybody
            ? .fault("policy", "\(found), and nobody has one: \(roleless.problem)", next: roleless.remedy)
            : .ok("policy", "\(found); \(roleless.problem)", next: roleless.remedy)
    }

    /// What the server reads at its start besides, where the configuration names it.
    private var others: [DoctorFinding] {
        var findings: [DoctorFinding] = []
        func check(_ name: String, found: String, next: String, _ body: () throws -> Void) {
            do {
                try body()
                findings.append(.ok(name, found))
            } catch {
                findings.append(.fault(name, error, next: next))
            }
        }
        if self.configuration.admin != nil {
            check("admin", found: "administrators are named", next: "Mend what the section admin names.") {
                _ = try self.configuration.administrators(transport: self.transport)
            }
        }
        if !self.configuration.origins.isEmpty {
            let origins = self.configuration.origins.sorted().joined(separator: ", ")
            check("cors", found: origins, next: "Mend cors.origins.") {
                _ = try AllowedOriginsMiddleware<CallerRequestContext>(origins: self.configuration.origins)
            }
        }
        let file = self.configuration.revocationKeyPath
        if FileManager.default.fileExists(atPath: file) {
            check("revocations", found: file, next: "Put the key back, or remove the file for a new one.") {
                _ = try RevocationKeyFile(path: file).key()
            }
        }
        return findings
    }

    private func certificate(_ files: ListenerTLS) -> DoctorFinding {
        do {
            let (validity, now) = (try ReloadingCertificate.validity(of: files), Date())
            if let fault = validity.fault(at: now) { return .fault("tls", fault.problem, next: fault.next) }
            let days = Int(validity.end.timeIntervalSince(now) / 86_400)
            return .ok("tls", "\(files.certificate), for \(days) more days")
        } catch {
            return .fault("tls", error, next: "Mend what the section listen.tls names.")
        }
    }
}
