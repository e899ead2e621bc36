// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation

extension ConfigurationSchema {
    /// Every setting, in the order of the reference.
    static let tokenServer = ConfigurationSchema(
        command: "serve tokens",
        options: [
            .init(path: "provider", kind: .text, standard: nil, help: "The provider id. Required."),
            .init(
                path: "data", kind: .path, standard: nil,
                help:
                    "The folder of the store, which must exist and be writable; other users should not be able to write it, "
                    + "which the log and `doctor` tell. Required."),
            .init(
                path: "store.postgresql", kind: .text, standard: nil,
                help: "The PostgreSQL database that holds the store instead, shared by all nodes: "
                    + "`postgresql://USER:PASSWORD@HOST:PORT/DATABASE`. Give it by the environment where it has a password."
            ),
            .init(
                path: "keys", kind: .path, standard: nil,
                help:
                    "The folder of the service accounts' key files, `ROLE.json` each; each role that has one is served. "
                    + "Required unless `signers` has a role."),
            .init(
                path: "signers.*.account", kind: .text, standard: "self",
                help:
                    "The account that the role NAME's tokens are signed for: an e-mail that the process may impersonate, or "
                    + "`self`, the account that it runs as."),
            .init(
                path: "signers.*.ways", kind: .text, standard: "sign_jwt",
                help:
                    "How to sign, with commas between, the preferred way first: `sign_jwt` and `sign_blob` ask IAM and need no "
                    + "key here, `key` signs with a key of the same account. A way that fails is passed over for a while."
            ),
            .init(
                path: "signers.*.delegates", kind: .text, standard: nil,
                help:
                    "The accounts between the process's identity and the account, in order, with commas between. Each needs "
                    + "`roles/iam.serviceAccountTokenCreator` on the next."),
            .init(
                path: "signers.*.key", kind: .path, standard: nil,
                help:
                    "The key file for the way `key`; without it, the role's key in the folder `keys`. Read again when it changes."
            ),
            .init(
                path: "google.credentials", kind: .path, standard: nil,
                help:
                    "The credential file that the process runs with. Without it: `GOOGLE_APPLICATION_CREDENTIALS`, gcloud's "
                    + "file, the metadata server."),
            .init(
                path: "google.signing_calls_per_minute", kind: .number(1...1_000_000), standard: "60000",
                help:
                    "IAM signing calls that this process may make in a minute: its share of the project's quota. When few are "
                    + "left, `refresh_after` is spread wider."),
            .init(
                path: "google.endpoints.iam", kind: .text, standard: nil,
                help: "Where `iamcredentials.googleapis.com` is reached instead, such as a private endpoint."),
            .init(
                path: "google.endpoints.keys", kind: .text, standard: nil,
                help: "Where `www.googleapis.com`, which publishes accounts' keys, is reached instead."),
            .init(
                path: "google.endpoints.sts", kind: .text, standard: nil,
                help: "Where `sts.googleapis.com` is reached instead."),
            .init(
                path: "google.endpoints.oauth", kind: .text, standard: nil,
                help: "Where `oauth2.googleapis.com` is reached instead."),
            .init(path: "listen.host", kind: .text, standard: "127.0.0.1", help: "The address to listen on."),
            .init(
                path: "listen.port", kind: .number(0...65535), standard: "8443", help: "The port; 0 picks a free one."),
            .init(
                path: "listen.proxies", kind: .text, standard: nil,
                help:
                    "The addresses of reverse proxies and load balancers in front, such as `10.0.0.0/24`, with commas between. "
                    + "Where one of them connects, the audit and `limits.failed_logins` go by the address that it adds to "
                    + "`X-Forwarded-For`. Unset: by the connection's."),
        ]
            + ConfigurationOption.tls(
                use: "With it, clients may show a certificate, and `callers.certificate` says whose it is.")
            + ConfigurationOption.connectionLimits
            + [
                .init(
                    path: "limits.per_caller", kind: .rate, standard: nil,
                    help: "Requests of each caller, and of each administrator, such as `60/1m`."),
                .init(
                    path: "limits.refused_per_caller", kind: .optionalRate, standard: "60/1m",
                    help:
                        "Requests of each caller that the policy refuses and the audit keeps. Who has sent as many is answered "
                        + "429, whatever is asked for, until the time in `Retry-After`. Of those that fail, as many are kept; all are "
                        + "answered 503. `off`: no limit."),
                .init(
                    path: "limits.per_subject", kind: .rate, standard: nil,
                    help:
                        "Tokens for one vehicle, trip or other subject, whoever asks; for a delivery vehicle whatever task they name. "
                        + "Those that could not be signed or recorded do not count, nor those for everything of a kind."
                ),
                .init(path: "limits.global", kind: .rate, standard: nil, help: "Requests of all callers together."),
                .init(
                    path: "limits.pending", kind: .number(1...100_000), standard: "64",
                    help:
                        "Requests for tokens that are worked on at once; more are answered 503 with `Retry-After`. "
                        + "Raise it where signing or the policy waits for another service, to the rate times the time that "
                        + "one takes."
                ),
                .init(
                    path: "limits.steady", kind: .number(1...100_000), standard: nil,
                    help:
                        "While requests are turned away, only so many are worked on at once, so that nobody waits long; 100 ms "
                        + "after the last one was, `limits.pending` holds again. Unset: 4 for each processor, or, with "
                        + "`signers` or `policy.secret_file`, as many as `limits.pending`."
                ),
                .init(
                    path: "limits.failed_logins", kind: .rate, standard: "10/1m",
                    help:
                        "Wrong credentials at `/admin/api` from one address (with IPv6, one network of 64 bits). More are answered "
                        + "429, and so is everything else from there until the time in `Retry-After`."),
                .init(
                    path: "cors.origins", kind: .text, standard: nil,
                    help: "Web pages' origins that may read answers (CORS), with commas between. Unset: none."),
                .init(
                    path: "callers.file", kind: .path, standard: nil,
                    help:
                        "Callers with bearer secrets: JSON with the salted SHA-256 of each secret, of entries that `fleetpass "
                        + "callers new` makes. Read again when it changes. One of the kinds of callers is required."),
                .init(
                    path: "callers.oidc.*.issuer", kind: .text, standard: nil,
                    help:
                        "An identity provider whose ID tokens are taken: its `iss`. The name in the path is its label in rules, "
                        + "assignments and the audit, and has no slash, as those of sessions and proxies have none."),
                .init(
                    path: "callers.oidc.*.audience", kind: .text, standard: nil,
                    help:
                        "Your client ids there, with commas between. Several providers may have one `iss` and different client "
                        + "ids."),
                .init(
                    path: "callers.oidc.*.keys", kind: .text, standard: nil,
                    help: "The address of its key set, where discovery is not to be used."),
                .init(
                    path: "callers.oidc.*.name_claim", kind: .text, standard: "sub",
                    help: "The claim that names users in logs."
                ),
                .init(
                    path: "callers.session.*.issuer", kind: .text, standard: nil,
                    help: "A backend of yours whose session tokens (HS256) are taken: their `iss`."),
                .init(
                    path: "callers.session.*.audience", kind: .text, standard: nil,
                    help: "The values of `aud` that are taken, with commas between."),
                .init(
                    path: "callers.session.*.secret_file", kind: .path, standard: nil,
                    help:
                        "The file of the secret that is shared with it, 32 random bytes or more; in hexadecimal digits, 64 or "
                        + "more. The key is the file's bytes as they are, digits as text; the line feed at the end of a text "
                        + "does not count. A change needs a restart."),
                .init(
                    path: "callers.session.*.name_claim", kind: .text, standard: "sub",
                    help: "The claim that names users in logs."),
                .init(
                    path: "callers.certificate.*.uri", kind: .text, standard: nil,
                    help:
                        "A caller with a client certificate, by a URI among its alternative names, such as "
                        + "`spiffe://example/dispatch`. The name in the path is the caller's."),
                .init(
                    path: "callers.certificate.*.dns_name", kind: .text, standard: nil,
                    help: "The same, by a DNS name among the alternative names, in upper or lower case."),
                .init(
                    path: "callers.certificate.*.subject", kind: .text, standard: nil,
                    help:
                        "The same, by the whole subject, such as `CN=dispatch,O=Acme`, as `openssl x509 -noout -subject -nameopt "
                        + "RFC2253` prints it. For authorities that give no alternative names; the common name alone never counts."
                ),
                .init(
                    path: "callers.certificate.*.fingerprint", kind: .text, standard: nil,
                    help: "The same, by the SHA-256 of the certificate, in hexadecimal digits."),
                .init(
                    path: "callers.certificate.*.roles", kind: .text, standard: nil,
                    help: "The roles whose tokens the caller may have, with commas between."),
                .init(
                    path: "callers.proxy.*.peers", kind: .text, standard: nil,
                    help:
                        "The addresses that a reverse proxy connects from, such as `10.0.0.7` or `10.0.0.0/24`, with commas "
                        + "between. Its headers count from there alone; it must remove them from what comes in."),
                .init(
                    path: "callers.proxy.*.subject_header", kind: .text, standard: nil,
                    help: "The header in which the proxy names the user, such as `X-Forwarded-User`."),
                .init(
                    path: "callers.proxy.*.claim_headers", kind: .text, standard: nil,
                    help:
                        "Headers in which the proxy sends claims, and the claims' names: `X-Groups=groups, X-Mail=email`. A "
                        + "header's value is a list with commas between: let no header of which users choose the text be a "
                        + "claim that rules match."),
                .init(
                    path: "policy.file", kind: .path, standard: nil,
                    help:
                        "The rules, see [policy.md](policy.md). Without, callers get every token of their own roles; those "
                        + "of `callers.oidc`, `callers.session` and `callers.proxy` have none, and get no token. A change needs "
                        + "a restart."),
                .init(
                    path: "policy.secret_file", kind: .path, standard: nil,
                    help:
                        "The file of the secret that requests to the policy's webhook are signed with; the key is made of it as "
                        + "of that of a session. A change needs a restart."),
                .init(
                    path: "admin.callers_file", kind: .path, standard: nil,
                    help:
                        "Administrators with bearer secrets: as `callers.file`, without roles. Read again when it changes. "
                        + "This or `admin.provider` turns `/admin` on."),
                .init(
                    path: "admin.provider", kind: .text, standard: nil,
                    help: "The name under `callers.oidc` of the identity provider among whose users are administrators."
                ),
                .init(
                    path: "admin.claim", kind: .text, standard: nil,
                    help: "The claim of their ID tokens that tells administrators."),
                .init(
                    path: "admin.values", kind: .text, standard: nil,
                    help: "The values of which the claim must have one, with commas between."),
                .init(
                    path: "revocations.key_file", kind: .path, standard: nil,
                    help:
                        "The key that signs `/.well-known/revocations`, made where it is missing. Unset: in the data folder. "
                        + "Servers of one store need the same."),
            ] + ConfigurationOption.log)
}

extension TokenServerConfiguration {
    /// The reference page of the configuration, in Markdown.
    public static var reference: String { ConfigurationSchema.tokenServer.reference }

    /// The variables of an environment that look like settings and are none, in order.
    package static func unknownVariables(in environment: [String: String]) -> [String] {
        ConfigurationSchema.tokenServer.unknownVariables(in: environment)
    }
}
