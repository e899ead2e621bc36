// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// One setting of the token server's configuration file.
struct ConfigurationOption: Sendable {
    /// What a value must be.
    enum Kind: Sendable {
        /// Any text.
        case text
        /// A path; a relative one starts at the configuration file's folder.
        case path
        /// A whole number within bounds.
        case number(ClosedRange<Int>)
        /// A time in seconds, such as `75s`, or minutes, such as `5m`.
        case duration
        /// One of a few words.
        case choice([String])
        /// So many in a time, such as `60/1m`.
        case rate
    }

    /// The keys that lead to it, with dots between; `*` is a name that you choose.
    let path: String
    let kind: Kind
    /// What holds where it is not given; `nil` where there is no such thing.
    let standard: String?
    let help: String

    /// The environment variable that overrides a setting.
    static func variable(_ path: String) -> String {
        "FLEETPASS_" + path.uppercased().replacing(".", with: "_").replacing("-", with: "_")
    }

    /// The setting that a path leads to; `nil` where there is none.
    static func at(_ path: some Collection<String>) -> Self? {
        self.all.first { $0.keys.count == path.count && $0.begins(with: path) }
    }

    private var keys: [Substring] { self.path.split(separator: ".") }

    /// Whether a path leads to this setting, or some way towards it.
    func begins(with path: some Collection<String>) -> Bool {
        path.count <= self.keys.count && zip(self.keys, path).allSatisfy { $0 == "*" || $0 == $1 }
    }

    /// The key that follows a path towards this setting.
    func key(after path: some Collection<String>) -> String? {
        self.begins(with: path) && path.count < self.keys.count ? String(self.keys[path.count]) : nil
    }

    /// Every setting, in the order of the reference.
    static let all: [Self] = [
        .init(path: "provider", kind: .text, standard: nil, help: "The provider id. Required."),
        .init(
            path: "data", kind: .path, standard: nil,
            help: "The folder of the store, which must exist, be writable, and be nobody else's. Required."),
        .init(
            path: "store.postgresql", kind: .text, standard: nil,
            help: "The PostgreSQL database that holds the store instead, shared by all nodes: "
                + "`postgresql://USER:PASSWORD@HOST:PORT/DATABASE`. Give it by the environment where it has a password."
        ),
        .init(
            path: "keys", kind: .path, standard: nil,
            help: "The folder of the service accounts' key files, `ROLE.json` each; each role that has one is served. "
                + "Required."),
        .init(path: "listen.host", kind: .text, standard: "127.0.0.1", help: "The address to listen on."),
        .init(
            path: "listen.port", kind: .number(0...65535), standard: "8443", help: "The port; 0 picks a free one."),
        .init(
            path: "listen.tls.certificate", kind: .path, standard: nil,
            help: "The certificate chain in PEM form. Without TLS, only an address of this machine is listened on. "
                + "The files are read again when they change."),
        .init(
            path: "listen.tls.key", kind: .path, standard: nil, help: "The private key of the certificate in PEM form."),
        .init(
            path: "limits.connections", kind: .number(1...1_000_000), standard: "10000",
            help: "Connections at once; more wait until one ends."),
        .init(
            path: "limits.header_bytes", kind: .number(1024...1_048_576), standard: "32768",
            help: "All header fields of a request together."),
        .init(
            path: "limits.header_fields", kind: .number(8...1000), standard: "100", help: "Header fields of a request."),
        .init(
            path: "limits.idle", kind: .duration, standard: "75s", help: "A connection without traffic is closed."),
        .init(
            path: "limits.per_caller", kind: .rate, standard: nil, help: "Requests of each caller, such as `60/1m`."),
        .init(
            path: "limits.per_subject", kind: .rate, standard: nil,
            help: "Tokens for one vehicle, trip or other subject, whoever asks."),
        .init(path: "limits.global", kind: .rate, standard: nil, help: "Requests of all callers together."),
        .init(
            path: "cors.origins", kind: .text, standard: nil,
            help: "Web pages' origins that may ask, with commas between; none without."),
        .init(
            path: "callers.file", kind: .path, standard: nil,
            help:
                "Callers with bearer secrets: JSON with the salted SHA-256 of each secret. One of the kinds of callers "
                + "is required."),
        .init(
            path: "callers.oidc.*.issuer", kind: .text, standard: nil,
            help:
                "An identity provider whose ID tokens are taken: its `iss`. The name in the path is its label in rules, "
                + "assignments and the audit."),
        .init(
            path: "callers.oidc.*.audience", kind: .text, standard: nil,
            help: "Your client ids there, with commas between."),
        .init(
            path: "callers.oidc.*.keys", kind: .text, standard: nil,
            help: "The address of its key set, where discovery is not to be used."),
        .init(
            path: "callers.oidc.*.name_claim", kind: .text, standard: "sub", help: "The claim that names users in logs."
        ),
        .init(
            path: "callers.session.*.issuer", kind: .text, standard: nil,
            help: "A backend of yours whose session tokens (HS256) are taken: their `iss`."),
        .init(
            path: "callers.session.*.audience", kind: .text, standard: nil,
            help: "The values of `aud` that are taken, with commas between."),
        .init(
            path: "callers.session.*.secret_file", kind: .path, standard: nil,
            help: "The file of the secret that is shared with it, 32 random bytes or more."),
        .init(
            path: "callers.session.*.name_claim", kind: .text, standard: "sub",
            help: "The claim that names users in logs."),
        .init(
            path: "policy.file", kind: .path, standard: nil,
            help: "The rules, see [policy.md](policy.md). Without, callers get every token of their own roles."),
        .init(
            path: "policy.secret_file", kind: .path, standard: nil,
            help: "The file of the secret that requests to the policy's webhook are signed with."),
        .init(
            path: "log.level", kind: .choice(["debug", "info", "warning", "error"]), standard: "info",
            help: "What is logged to stderr."),
        .init(
            path: "log.format", kind: .choice(["text", "json"]), standard: "text",
            help: "`json` gives one object on each line."),
    ]

    /// Checks a value.
    ///
    /// - Returns: What is wrong with it, or `nil`.
    func problem(of value: String) -> String? {
        switch self.kind {
        case .text, .path: value.isEmpty ? "must not be empty" : nil
        case .number(let range):
            Int(value).map(range.contains) == true
                ? nil : "must be a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .duration: Self.duration(value) == nil ? "must be a time like 75s or 5m" : nil
        case .rate: Self.rate(value) == nil ? "must be a number and a time like 60/1m" : nil
        case .choice(let words): words.contains(value) ? nil : "must be \(words.joined(separator: " or "))"
        }
    }

    static func rate(_ text: String) -> RateLimit? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Int(parts[0]), let period = self.duration(String(parts[1])) else {
            return nil
        }
        return try? RateLimit(count, per: period)
    }

    static func duration(_ text: String) -> Duration? {
        guard let unit = text.last, let number = Int(text.dropLast()), (1...86_400).contains(number) else { return nil }
        return switch unit {
        case "s": .seconds(number)
        case "m": .seconds(60 * number)
        default: nil
        }
    }
}
