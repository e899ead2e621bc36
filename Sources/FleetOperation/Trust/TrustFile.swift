// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetSigning
import FleetTokens
package import Foundation

/// The file that says which service accounts an engine trusts with what, and where their keys are.
package struct TrustFile: Sendable {
    /// The accounts, in the order of the file.
    package let accounts: [TrustedAccountSource]

    /// Reads a trust file.
    ///
    /// - Parameters:
    ///   - yaml: The file's text.
    ///   - file: Its name for messages.
    ///   - folder: The folder that relative paths start at.
    /// - Throws: ``ConfigurationError`` with the line and column.
    package init(yaml: String, file: String, folder: URL) throws(ConfigurationError) {
        try self.init(YAMLNode(yaml: yaml, file: file), folder: folder)
    }

    private init(_ root: YAMLNode, folder: URL) throws(ConfigurationError) {
        let members = try root.mapping(["version", "roles", "accounts"], of: "a trust file")
        guard try members["version"]?.string("version") == "1" else {
            throw (members["version"] ?? root).error("a trust file begins with version: 1.")
        }
        let roles = try Self.roles(members["roles"])
        guard let accounts = members["accounts"] else { throw root.error("a trust file needs accounts.") }
        var sources: [TrustedAccountSource] = []
        for entry in try accounts.list("accounts") {
            let source = try Self.account(entry, roles: roles, folder: folder)
            guard !sources.contains(where: { $0.account.email == source.account.email }) else {
                throw entry.error("the account \(source.account.email) stands twice; name all its roles in one entry.")
            }
            sources.append(source)
        }
        self.accounts = sources
    }

    /// What an account is given with a role.
    private struct Grant {
        var permissions: Set<Permission> = []
        /// The roles of the service that are part of it.
        var roles: Set<Role> = []

        mutating func include(_ role: Role) {
            self.permissions.formUnion(role.permissions)
            self.roles.insert(role)
        }

        mutating func formUnion(_ other: Self) {
            self.permissions.formUnion(other.permissions)
            self.roles.formUnion(other.roles)
        }
    }

    /// What goes with every role that an account may be given.
    private static func roles(_ node: YAMLNode?) throws(ConfigurationError) -> [String: Grant] {
        var roles: [String: Grant] = [:]
        for role in Role.known { roles[role.rawValue, default: Grant()].include(role) }
        for (name, role) in try node?.mapping(nil, of: "roles") ?? [:] {
            guard (1...64).contains(name.utf8.count),
                name.allSatisfy({ $0 == "_" || ($0.isASCII && $0.isLetter || $0.isNumber) })
            else { throw role.error("the name of a role is letters, digits and _, at most 64.") }
            guard !Role.known.contains(Role(rawValue: name)) else {
                throw role.error("\(name) is a role of the service; give yours another name.")
            }
            let members = try role.mapping(["permissions", "includes"], of: "the role \(name)")
            var grant = Grant()
            for text in try members["permissions"]?.strings("permissions") ?? [] {
                let short = text.hasPrefix("fleetengine.") ? String(text.dropFirst(12)) : text
                guard let permission = Permission(rawValue: short) else {
                    throw role.error("there is no permission \"\(text.prefix(64))\"; the matrix lists them.")
                }
                grant.permissions.insert(permission)
            }
            for included in try members["includes"]?.strings("includes") ?? [] {
                // A role of the service: roles of the file cannot build on each other.
                guard Role.known.contains(Role(rawValue: included)) else {
                    throw role.error("includes names roles of the service; \"\(included.prefix(64))\" is none.")
                }
                grant.include(Role(rawValue: included))
            }
            guard !grant.permissions.isEmpty else { throw role.error("the role \(name) permits nothing.") }
            roles[name] = grant
        }
        return roles
    }

    private static func account(
        _ node: YAMLNode, roles: [String: Grant], folder: URL
    ) throws(ConfigurationError) -> TrustedAccountSource {
        let members = try node.mapping(["email", "provider", "roles", "keys"], of: "an account")
        guard let email = try members["email"]?.string("email"), let names = try members["roles"]?.strings("roles")
        else { throw node.error("an account needs email and roles.") }
        guard email.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !email.contains("/") else {
            throw node.error("email is the service account's address.")
        }
        var granted = Grant()
        for name in names {
            guard let grant = roles[name] else {
                throw node.error(
                    "there is no role \"\(name.prefix(64))\"; there are \(roles.keys.sorted().joined(separator: ", "))."
                )
            }
            granted.formUnion(grant)
        }
        let role = Role(rawValue: names.joined(separator: "+"))
        let account = TrustedAccount(
            email: email, role: role, provider: try Self.provider(members["provider"], of: email, at: node),
            granted: Role.known.contains(role) ? nil : granted.permissions, roles: granted.roles)
        return TrustedAccountSource(account: account, keys: try Self.keys(members["keys"], of: email, folder: folder))
    }

    /// The provider as it is named, or the project in the account's address.
    private static func provider(
        _ node: YAMLNode?, of email: String, at entry: YAMLNode
    ) throws(ConfigurationError) -> ProviderID {
        let suffix = ".iam.gserviceaccount.com"
        var text =
            email.hasSuffix(suffix) ? email.dropLast(suffix.count).split(separator: "@").last.map(String.init) : nil
        if let node { text = try node.string("provider") }
        guard let provider = text.flatMap({ ProviderID($0) }) else {
            throw (node ?? entry).error("provider must name the project whose vehicles and trips \(email) may reach.")
        }
        return provider
    }

    private static func keys(
        _ node: YAMLNode?, of email: String, folder: URL
    ) throws(ConfigurationError) -> TrustedAccountSource.Keys {
        guard let node else { return .address(TrustedAccountSource.googleAddress(of: email)) }
        let text = try node.string("keys")
        if text == "google" { return .address(TrustedAccountSource.googleAddress(of: email)) }
        if text.contains("://") {
            guard UpstreamAddress.isAcceptable(text) else {
                throw node.error("keys must be google, a file, or a URL, which must be \(UpstreamAddress.rule).")
            }
            return .address(text)
        }
        let path = ConfigurationValues.absolute(text, in: folder)
        if let problem = PathProblem.reading(path) {
            throw node.error("the keys' file \(path) cannot be read: \(problem).")
        }
        return .file(path)
    }
}
