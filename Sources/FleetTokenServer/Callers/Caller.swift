// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens

/// One caller among those of all authenticators: a subject is only unique together with who vouches for it.
public struct CallerID: Hashable, Sendable, CustomStringConvertible {
    /// The authenticator's label, such as the name of an identity provider in the configuration.
    public var issuer: String
    /// The subject there: `sub` of an ID token, or the client's id.
    public var subject: String
    /// Issuer and subject with a slash between.
    public var description: String { "\(self.issuer)/\(self.subject)" }

    /// Names a caller.
    public init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }

    /// Reads issuer and subject with a slash between, as ``description`` writes them; `nil` where there is no slash.
    package init?(_ description: String) {
        guard let slash = description.utf8.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let subject = description[description.utf8.index(after: slash)...]
        self.init(issuer: String(description[..<slash]), subject: String(subject))
    }

    /// Whether both can be those of a caller.
    package var isUsable: Bool { Self.isUsable(subject: self.issuer) && Self.isUsable(subject: self.subject) }

    /// Whether a text from outside can be a subject: 1 to 255 printable ASCII characters (OpenID Connect Core §2).
    ///
    /// Within ASCII, texts that look the same or are equal to one comparison are equal to every other, a store's included.
    package static func isUsable(subject: String) -> Bool {
        (1...255).contains(subject.utf8.count) && subject.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}

/// Who asks for tokens, and what is known of them.
public struct Caller: Hashable, Sendable {
    /// A name for logs and audit; no secret.
    public var name: String
    /// Which subject of which authenticator it is.
    public var id: CallerID
    /// The roles that the authenticator itself grants; empty where a policy's rules do.
    public var roles: Set<Role>
    /// The claims of a verified ID token that are a string or a list of strings, each as a list.
    public var claims: [String: [String]]

    /// The authenticator's label.
    public var issuer: String { self.id.issuer }
    /// The subject: `sub` of an ID token, or the client's id.
    public var subject: String { self.id.subject }

    /// Describes a caller.
    ///
    /// - Parameters:
    ///   - name: A name for logs and audit.
    ///   - subject: The subject; the name where there is none.
    ///   - issuer: The authenticator's label.
    ///   - roles: The roles that the authenticator grants.
    ///   - claims: What a verified ID token says.
    public init(
        name: String, subject: String? = nil, issuer: String, roles: Set<Role> = [], claims: [String: [String]] = [:]
    ) {
        self.name = name
        self.id = CallerID(issuer: issuer, subject: subject ?? name)
        self.roles = roles
        self.claims = claims
    }

    /// The values of the claim of exactly this name, or `nil` where there is none.
    func values(ofClaim name: String) -> [String]? {
        guard let index = self.claims.index(forKey: name), ExactText(self.claims[index].key) == ExactText(name)
        else { return nil }
        return self.claims[index].value
    }
}
