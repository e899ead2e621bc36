// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetTokenServer
import FleetTokens
import Foundation
import GoogleCredentials
import Logging
import Testing

@Suite struct TokenServerConfigurationTests {
    private static let least = """
        provider: acme
        data: /var/lib/fleetpass
        keys: keys
        callers:
          file: callers.json
        """

    private func read(
        _ yaml: String, environment: [String: String] = [:]
    ) throws(TokenServerError) -> TokenServerConfiguration {
        try TokenServerConfiguration(
            yaml: yaml, folder: URL(filePath: "/etc/fleetpass", directoryHint: .isDirectory), environment: environment)
    }

    private func problem(_ yaml: String, environment: [String: String] = [:]) -> String? {
        do throws(TokenServerError) {
            _ = try self.read(yaml, environment: environment)
            return nil
        } catch {
            return error.message
        }
    }

    @Test func `the least configuration is safe`() throws {
        let configuration = try self.read(Self.least)
        #expect(configuration.host == "127.0.0.1")
        #expect(configuration.port == 8443)
        #expect(configuration.keys == "/etc/fleetpass/keys")
        #expect(configuration.data == "/var/lib/fleetpass")
        #expect(configuration.callersFile == "/etc/fleetpass/callers.json")
        #expect(configuration.limits == ConnectionLimits())
        #expect(configuration.limits.connections == 10_000)
        #expect(!configuration.log.isJSON)
    }

    @Test(arguments: [
        ("", true), ("\npolicy: {file: policy.yaml}", true),
        ("\npolicy: {file: policy.yaml, secret_file: hook.secret}", false),
        ("\nsigners: {driver: {account: self}}", false),
    ])
    func `waiting for another service takes no processor, so as many go on as in a burst`(
        settings: String, isOwnWork: Bool
    ) throws {
        let limits = try self.read(Self.least + "\nlimits: {pending: 100000}" + settings).pendingLimits
        #expect(limits.burst == 100_000)
        #expect(limits.steady == (isOwnWork ? 4 * Processors.count : 100_000))
    }

    @Test func `a caller's refusals are limited unless that is switched off`() throws {
        #expect(try self.read(Self.least).requestLimits.refusedPerCaller == RateLimit(60, per: .seconds(60)))
        func limit(_ value: String) throws -> RateLimit? {
            try self.read(Self.least + "\nlimits: {refused_per_caller: \(value)}").requestLimits.refusedPerCaller
        }
        #expect(try limit("5/1s") == RateLimit(5, per: .seconds(1)))
        #expect(try limit("off") == nil)
    }

    @Test func `nobody is an administrator unless somebody is named`() throws {
        let users = "\n  oidc:\n    login: {issuer: https://login.example, audience: fleet}"
        #expect(try self.read(Self.least).admin == nil)
        let both = try self.read(
            Self.least + users + "\nadmin: {callers_file: a.json, provider: login, claim: groups, values: 'ops, dev'}")
        #expect(both.admin?.callersFile == "/etc/fleetpass/a.json")
        #expect(both.admin?.rule?.provider == "login")
        #expect(both.admin?.rule?.claim == "groups")
        #expect(both.admin?.rule?.values == ["ops", "dev"])
        let unknown = self.problem(Self.least + "\nadmin: {provider: login, claim: groups, values: ops}")
        #expect(unknown?.contains("admin.provider names login") == true)
        let incomplete = self.problem(Self.least + users + "\nadmin: {provider: login, claim: groups}")
        #expect(incomplete?.contains("admin.values is missing") == true)
        #expect(self.problem(Self.least + "\nadmin: {claim: groups}")?.contains("admin.provider") == true)
    }

    @Test func `every setting lands where it belongs, and the environment goes before the file`() throws {
        let yaml =
            "provider: acme\ndata: /var/lib/fleetpass\nkeys: keys\n" + """
                callers:
                  oidc:
                    acme-login: {issuer: https://login.example, audience: "a, b", name_claim: email}
                  session:
                    shop: {issuer: shop, audience: fleet, secret_file: shop.secret}
                policy: {file: policy.yaml, secret_file: hook.secret}
                cors: {origins: "https://a.example,https://b.example"}
                listen: {host: 0.0.0.0, port: 443, tls: {certificate: c.pem, key: k.pem}}
                limits: {connections: 5, header_bytes: 2048, header_fields: 9, idle: 2m, request: 9s, per_caller: 60/1m, global: 5/1s, pending: 7, steady: 3}
                log: {level: debug, format: json}
                """
        let configuration = try self.read(
            yaml,
            environment: [
                "FLEETPASS_LISTEN_PORT": "8444", "FLEETPASS_DATA": "/srv", "FLEETPASS_HOME": "x",
                "FLEETPASS_CALLERS_OIDC_ACME_LOGIN_ISSUER": "https://other.example",
            ])
        #expect(configuration.host == "0.0.0.0")
        #expect(configuration.port == 8444)
        #expect(configuration.data == "/srv")
        #expect(configuration.tls?.certificate == "/etc/fleetpass/c.pem")
        #expect(configuration.tls?.key == "/etc/fleetpass/k.pem")
        let limits = configuration.limits
        #expect(limits.connections == 5)
        #expect(limits.headerBytes == 2048)
        #expect(limits.headerFields == 9)
        #expect(limits.idle == .seconds(120))
        #expect(limits.request == .seconds(9))
        let provider = try #require(configuration.identityProviders.first)
        #expect(provider.label == "acme-login")
        #expect(provider.issuer == "https://other.example")
        #expect(provider.audiences == ["a", "b"])
        #expect(provider.nameClaim == "email")
        let session = try #require(configuration.sessions.first)
        #expect(session.label == "shop")
        #expect(session.secretFile == "/etc/fleetpass/shop.secret")
        #expect(configuration.callersFile == nil)
        #expect(configuration.policyFile == "/etc/fleetpass/policy.yaml")
        #expect(configuration.policySecretFile == "/etc/fleetpass/hook.secret")
        #expect(configuration.origins == ["https://a.example", "https://b.example"])
        #expect(configuration.requestLimits.perCaller != nil)
        #expect(configuration.pendingLimits.burst == 7)
        #expect(configuration.pendingLimits.steady == 3)
        #expect(configuration.requestLimits.perSubject == nil)
        #expect(configuration.log.level == .debug)
        #expect(configuration.log.isJSON)
    }

    @Test func `blanks around commas belong to no word`() throws {
        let configuration = try self.read(
            Self.secured + """
                callers:
                  oidc:
                    login: {issuer: "https://login.example", audience: "  a ,\\tb, "}
                  session:
                    shop: {issuer: shop, audience: " fleet  , app ", secret_file: s}
                  proxy:
                    edge: {peers: "10.0.0.7 , ::1 ", subject_header: X-User, claim_headers: " X-Groups = groups , X-A=a"}
                cors: {origins: "https://a.example ,  https://b.example"}
                admin: {provider: login, claim: groups, values: "ops ,  dev "}
                """)
        #expect(configuration.identityProviders.map(\.audiences) == [["a", "b"]])
        #expect(configuration.sessions.map(\.audiences) == [["fleet", "app"]])
        #expect(configuration.origins == ["https://a.example", "https://b.example"])
        #expect(configuration.admin?.rule?.values == ["ops", "dev"])
        #expect(configuration.proxies.count == 1)
    }

    static let mistakes: [(change: String, message: String)] = [
        ("listen:\n  prot: 1", "Line 7: there is no setting listen.prot; there are host, port, proxies, tls."),
        ("listen: {proxies: the-edge}", "listen.proxies: \"the-edge\" is no range of addresses"),
        ("listen: {proxies: '10.0.0.0/24, ::/0'}", "listen.proxies: The proxies list every address there is"),
        ("signers: {pilot: {account: self}}", "signers.pilot: there is no such role; there are consumer, "),
        ("signers: {driver: {account: nobody}}", "signers.driver.account must be self or a service account's e-mail"),
        ("signers: {driver: {ways: magic}}", "signers.driver.ways must be some of key, sign_jwt, sign_blob, each once"),
        ("signers: {driver: {ways: 'key, key'}}", "signers.driver.ways must be some of"),
        ("signers: {driver: {key: k.json}}", "signers.driver.ways does not use it; add key to the ways"),
        ("signers: {driver: {delegates: a@b}}", "name it in signers.driver.account"),
        ("google: {endpoints: {iam: 'http://10.0.0.1'}}", "google.endpoints.iam must be an https address"),
        ("listen: {tls: {client_ca: ca.pem}}", "listen.tls.client_ca needs a server with TLS"),
        ("colour: red", "Line 6: there is no setting colour"),
        (
            "  oidc: {shop: {issuer: 'https://a.example', audience: a}}\n"
                + "  session: {shop: {issuer: shop, audience: a, secret_file: s}}",
            "The name shop under callers is taken"
        ),
        (
            "  oidc: {a: {issuer: 'https://a.example', audience: 'p, q'}, b: {issuer: 'https://a.example', audience: q}}",
            "callers.oidc.a and callers.oidc.b both take the tokens of https://a.example for the audience q"
        ),
        (
            "  session: {a: {issuer: s, audience: x, secret_file: s}, b: {issuer: s, audience: x, secret_file: s}}",
            "callers.session.a and callers.session.b both take the tokens of s for the audience x"
        ),
        (
            "  oidc: {acme/login: {issuer: 'https://a.example', audience: a}}",
            "The name acme/login under callers must be 1 to 255 printable ASCII characters without a slash"
        ),
        ("  session: {a/b: {issuer: s, audience: a, secret_file: s}}", "The name a/b under callers must be"),
        ("  proxy: {a/b: {peers: '::1', subject_header: X-User}}", "The name a/b under callers must be"),
        ("  session: {müller: {issuer: s, audience: a, secret_file: s}}", "The name müller under callers must be"),
        ("  session: {static: {issuer: s, audience: a, secret_file: s}}", "static, certificate, admin, command line"),
        ("  session: {admin: {issuer: s, audience: a, secret_file: s}}", "The name admin under callers is taken"),
        ("  oidc: {command line: {issuer: 'https://a.b', audience: a}}", "The name command line under callers is"),
        ("listen:\n  port: many", "Line 7: listen.port must be a whole number from 0 to 65535."),
        ("limits:\n  idle: 75", "Line 7: limits.idle must be a time up to a day, like 75s, 5m or 2h."),
        ("limits: {idle: +75s}", "Line 6: limits.idle must be a time up to a day, like 75s, 5m or 2h."),
        ("limits: {drain: 1441m}", "Line 6: limits.drain must be a time up to a day, like 75s, 5m or 2h."),
        ("log:\n  level: loud", "Line 7: log.level must be debug or info or warning or error."),
        (
            "limits: {global: lots}",
            "Line 6: limits.global must be a number and a time up to a day, like 60/1m or 500/1h."
        ),
        (
            "limits: {global: 5/1441m}",
            "Line 6: limits.global must be a number and a time up to a day, like 60/1m or 500/1h."
        ),
        (
            "limits: {global: 5/25h}",
            "Line 6: limits.global must be a number and a time up to a day, like 60/1m or 500/1h."
        ),
        (
            "limits: {global: off}",
            "Line 6: limits.global must be a number and a time up to a day, like 60/1m or 500/1h."
        ),
        (
            "limits: {refused_per_caller: ''}",
            "Line 6: limits.refused_per_caller must be a number and a time up to a day, like 60/1m or 500/1h, or off."
        ),
        ("policy: {oidc: x}", "there is no setting policy.oidc; there are file, secret_file."),
        ("listen: 8080", "listen takes settings of its own."),
        ("listen:\n  host: [a, b]", "listen.host must be a single value or settings."),
        ("listen:\n  tls:\n    key: k.pem", "listen.tls takes both certificate and key, or neither."),
        ("listen:\n  host: 192.0.2.1", "192.0.2.1 can be reached by other machines"),
        ("listen:\n  host: localhost", "listen.host is localhost, which may be any machine's address"),
        (
            "  oidc: {login: {issuer: 'https://a.example', audience: a}}\n"
                + "admin: {provider: login, claim: groups, values: ','}", "The setting admin.values names nothing"
        ),
        (
            "  oidc: {login: {issuer: 'https://a.example', audience: ' , '}}",
            "The setting callers.oidc.login.audience names nothing"
        ),
        ("cors: {origins: ','}", "The setting cors.origins names nothing"),
        ("provider: again", "the key provider stands here and once more below"),
        ("log: {", "Line 7: the YAML cannot be read: "),
        (
            "log: {level: &quiet error}\nchaos: *quiet",
            "Line 7: \"*\" repeats what \"&\" marks, and aliases are not read; write the value out."
        ),
        (
            "# " + String(repeating: "x", count: 256 * 1024),
            "The configuration cannot be read: the file has more than 262144 bytes."
        ),
    ]

    @Test(arguments: mistakes)
    func `a mistake is named with its line`(change: String, message: String) throws {
        let problem = try #require(self.problem(Self.least + "\n" + change))
        #expect(problem.contains(message), "\(problem)")
    }

    @Test func `it does not start without an authenticator`() throws {
        let configuration = try self.read("provider: acme\ndata: d\nkeys: k")
        let error = #expect(throws: TokenServerError.self) {
            _ = try TokenServer(configuration, environment: [:], logger: Logger(label: "test"))
        }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("No authenticator is set up") == true)
    }

    @Test func `it does not start without anything to sign with`() throws {
        let problem = try #require(self.problem("provider: acme\ndata: d\ncallers: {file: c}"))
        #expect(problem.contains("Set keys to a folder of key files ROLE.json"))
        #expect(problem.contains("signers.driver.account"))
    }

    @Test func `roles are signed as the file says, and no key folder is needed`() throws {
        let configuration = try self.read(
            """
            provider: acme
            data: d
            callers: {file: c}
            signers:
              driver: {account: d@acme.example, ways: "sign_jwt, sign_blob, key", delegates: "a@b, c@d", key: d.json}
              consumer: {account: self}
            google:
              credentials: adc.json
              signing_calls_per_minute: 500
              endpoints: {iam: "http://127.0.0.1:1/", keys: "https://keys.example"}
            """)
        #expect(configuration.keys == nil)
        #expect(
            configuration.signers == [
                SignerSettings(role: .consumer),
                SignerSettings(
                    role: .driver, account: .email("d@acme.example"), ways: [.iam(.signJwt), .iam(.signBlob), .key],
                    delegates: ["a@b", "c@d"], keyFile: "/etc/fleetpass/d.json"),
            ])
        #expect(
            configuration.google
                == GoogleSettings(
                    credentialFile: "/etc/fleetpass/adc.json",
                    hostOverrides: [
                        "iamcredentials.googleapis.com": "http://127.0.0.1:1",
                        "www.googleapis.com": "https://keys.example",
                    ], callsPerMinute: 500))
    }

    @Test(arguments: ["driver: {}, consumer: {account: self}", "driver: , consumer: {account: self}"])
    func `a role whose section is left empty is signed as its settings are without`(signers: String) throws {
        let configuration = try self.read("provider: acme\ndata: d\ncallers: {file: c}\nsigners: {\(signers)}")
        #expect(configuration.signers == [SignerSettings(role: .consumer), SignerSettings(role: .driver)])
    }

    @Test(arguments: [
        ("oidc: {login: }", "The setting callers.oidc.login.issuer is missing"),
        ("session: {shop: {}}", "The setting callers.session.shop.issuer is missing"),
        ("proxy: {edge: {}}", "callers.proxy.edge."), ("certificate: {dispatch: {}}", "callers.certificate.dispatch"),
    ])
    func `a caller's section that is left empty is told by its name`(callers: String, message: String) throws {
        let problem = try #require(self.problem(Self.least + "\n  \(callers)"))
        #expect(problem.contains(message), "\(problem)")
    }

    @Test func `variables are enough for the settings of a section that is left empty`() throws {
        let configuration = try self.read(
            Self.least + "\n  oidc: {login: }",
            environment: [
                "FLEETPASS_CALLERS_OIDC_LOGIN_ISSUER": "https://a.example",
                "FLEETPASS_CALLERS_OIDC_LOGIN_AUDIENCE": "a",
            ])
        #expect(configuration.identityProviders.map(\.issuer) == ["https://a.example"])
    }

    private static let secured = "provider: acme\ndata: d\nkeys: k\n"

    @Test func `callers known by certificates and proxies land where they belong`() throws {
        let configuration = try self.read(
            Self.secured + """
                listen: {tls: {certificate: c.pem, key: k.pem, client_ca: ca.pem, client_certificate: required}}
                callers:
                  certificate:
                    dispatch: {uri: "spiffe://acme/dispatch", roles: "driver, consumer"}
                  proxy:
                    edge: {peers: "10.0.0.0/24, ::1", subject_header: X-User, claim_headers: "X-Groups=groups"}
                """)
        #expect(configuration.tls?.clients == .required(authorities: "/etc/fleetpass/ca.pem"))
        let caller = try #require(configuration.certificateCallers.first)
        #expect(caller.name == "dispatch")
        #expect(caller.identity == .uri("spiffe://acme/dispatch"))
        #expect(caller.roles == [.driver, .consumer])
        #expect(configuration.proxies.count == 1)
    }

    @Test(arguments: [
        ("certificate: {a: {uri: 'x'}}", "callers.certificate needs listen.tls.client_ca"),
        ("certificate: {a: {roles: driver}}", "takes one of uri, dns_name, subject and fingerprint"),
        ("certificate: {a: {subject: dispatch}}", "the certificate's whole subject"),
        ("certificate: {a: {fingerprint: 'ab:cd'}}", "64 hexadecimal digits"),
        ("certificate: {a: {uri: 'x', roles: pilot}}", "there is no role pilot"),
        (
            "certificate: {a: {uri: 'x', roles: 'driver, server'}}",
            "there is no role server for callers; there are driver, consumer, "
        ),
        ("proxy: {a: {peers: 10.0.0.1}}", "callers.proxy.a.subject_header is missing"),
        ("proxy: {a: {subject_header: X-User}}", "needs a name and the addresses it connects from"),
        ("proxy: {a: {peers: 0.0.0.0/0, subject_header: X-User}}", "lists every address there is"),
        ("proxy: {a: {peers: 0.0.0.0/00, subject_header: X-User}}", "lists every address there is"),
        (
            "proxy: {a: {peers: '::1', subject_header: X-User, claim_headers: X}}",
            "must be written like X-Groups=groups"
        ),
        (
            "proxy: {a: {peers: '::1', subject_header: X-User, claim_headers: 'X-Groups=groups, X-Groups=teams'}}",
            "callers.proxy.a.claim_headers names the header X-Groups twice"
        ),
        (
            "proxy: {a: {peers: '::1', subject_header: X-User, claim_headers: 'X-Groups=groups, X-Teams = groups '}}",
            "has two headers for the claim \"groups\""
        ),
    ])
    func `a mistake about certificates and proxies is named`(callers: String, message: String) throws {
        let problem = try #require(self.problem(Self.secured + "callers: {\(callers)}"))
        #expect(problem.contains(message), "\(problem)")
    }

    @Test(arguments: [
        ("listen: {tls: {certificate: c.pem, key: k.pem, client_certificate: required}}", "listen.tls.client_ca"),
        ("listen: {tls: {client_certificate: required}}", "listen.tls.client_ca"),
        ("policy: {secret_file: hook.secret}", "policy.secret_file goes with policy.file"),
    ])
    func `what protects nothing alone is refused`(part: String, message: String) throws {
        let problem = try #require(self.problem(Self.secured + "callers: {file: c.json}\n" + part))
        #expect(problem.contains(message), "\(problem)")
    }

    @Test func `several may have one issuer, with audiences or keys of their own`() throws {
        let configuration = try self.read(
            Self.secured + """
                callers:
                  oidc:
                    drivers: {issuer: "https://login.example", audience: driver-app}
                    riders: {issuer: "https://login.example", audience: rider-app}
                    others: {issuer: "https://login.example", audience: rider-app, keys: "https://login.example/b"}
                  session:
                    old: {issuer: "https://login.example", audience: rider-app, secret_file: old.secret}
                    new: {issuer: "https://login.example", audience: rider-app, secret_file: new.secret}
                """)
        #expect(configuration.issuerLabels == ["drivers", "others", "riders", "new", "old"])
    }

    @Test func `an identity provider needs its issuer and audience`() throws {
        let problem = try #require(self.problem("provider: acme\ndata: d\nkeys: k\ncallers: {oidc: {x: {issuer: y}}}"))
        #expect(problem.hasPrefix("The setting callers.oidc.x.audience is missing; add it"))
    }

    @Test func `a mistake in the environment names the variable and not its value`() throws {
        let problem = try #require(self.problem(Self.least, environment: ["FLEETPASS_LISTEN_PORT": "s3cret"]))
        #expect(problem.contains("FLEETPASS_LISTEN_PORT must be a whole number"))
        #expect(!problem.contains("s3cret"))
    }

    @Test(arguments: [
        "FLEETPASS_SIGNERS_DRIVER_WAYS", "FLEETPASS_CALLERS_OIDC_ACME_ISSUER", "FLEETPASS_CALLERS_PROXY_A_PEERS",
    ])
    func `a variable for a section that the file does not have is named, and not its value`(variable: String) throws {
        let problem = try #require(self.problem(Self.least, environment: [variable: "s3cret"]))
        #expect(problem.hasPrefix("The variable \(variable) is for "))
        #expect(problem.contains("no section of that name"))
        #expect(!problem.contains("s3cret"))
    }

    @Test(arguments: [("a-b", "a_b", "A_B"), ("acme", "ACME", "ACME")])
    func `a variable that would be for two sections is for none`(one: String, other: String, name: String) throws {
        func section(_ name: String) -> String { "\(name): {issuer: 'https://a.example', audience: \(name)}" }
        let yaml = Self.least + "\n  oidc: {\(section(one)), \(section(other))}"
        #expect(self.problem(yaml) == nil)
        let variable = "FLEETPASS_CALLERS_OIDC_\(name)_AUDIENCE"
        let problem = try #require(self.problem(yaml, environment: [variable: "s3cret"]))
        #expect(problem.hasPrefix("The variable \(variable) is for callers.oidc."))
        #expect(problem.contains(".\(one).audience") && problem.contains(".\(other).audience"))
        #expect(!problem.contains("s3cret"))
    }

    @Test func `variables of sections that are there and those of other programs are let be`() throws {
        let yaml = Self.least + "\n  oidc: {acme-login: {issuer: 'https://a.example', audience: a}}"
        let variables = [
            "FLEETPASS_CALLERS_OIDC_ACME_LOGIN_NAME_CLAIM", "FLEETPASS_CALLERS_OIDC_ISSUER", "FLEETPASS_SIGNERS_WAYS",
            "FLEETPASS_SECRET", "FLEETPASS_SIGNERS_DRIVER_NOTE", "FLEETPASS_CALLERS",
        ]
        let environment = Dictionary(uniqueKeysWithValues: variables.map { ($0, "x") })
        #expect(try self.read(yaml, environment: environment).identityProviders.map(\.nameClaim) == ["x"])
    }

    @Test func `a missing provider is told with what to add`() {
        let problem = self.problem("data: d\nkeys: k\ncallers: {file: c}")
        #expect(problem?.hasPrefix("The setting provider is missing; add it") == true)
        #expect(problem?.contains("FLEETPASS_PROVIDER") == true)
    }

    @Test func `callers' issuers are the labels of what is configured`() throws {
        #expect(try self.read(Self.least).issuerLabels == ["static"])
        let several = try self.read(
            Self.secured + """
                listen: {tls: {certificate: c.pem, key: k.pem, client_ca: ca.pem}}
                callers:
                  oidc: {login: {issuer: "https://login.example", audience: a}}
                  session: {shop: {issuer: shop, audience: a, secret_file: s}}
                  proxy: {edge: {peers: "::1", subject_header: X-User}}
                  certificate: {dispatch: {uri: "spiffe://acme/dispatch"}}
                """)
        #expect(several.issuerLabels == ["login", "shop", "edge", "certificate"])
    }

    @Test func `what a file sets, code may set as well`() throws {
        var configuration = try self.read(Self.least)
        configuration.identityProviders.append(
            .init(label: "login", issuer: "https://login.example", audiences: ["app"]))
        configuration.sessions.append(.init(label: "shop", issuer: "shop", audiences: ["app"], secretFile: "s"))
        configuration.admin = .init(rule: .init(provider: "login", claim: "groups", values: ["ops"]))
        #expect(configuration.sessions.map(\.nameClaim) == ["sub"])
        #expect(configuration.admin?.rule?.provider == "login" && configuration.admin?.callersFile == nil)
        // Rules may speak of them.
        #expect(configuration.issuerLabels == ["login", "shop", "static"])
    }

    @Test func `printing it shows no address of a store`() throws {
        let configuration = try self.read(
            Self.least + "\nstore: {postgresql: 'postgresql://owner:s3cret@db.example/fleet'}")
        #expect(configuration.postgreSQL?.contains("s3cret") == true)
        var dumped = ""
        dump(configuration, to: &dumped)
        let told = "\(configuration) \(String(reflecting: configuration)) \(dumped)"
        #expect(told.contains("acme") && !told.contains("db.example"), "\(told)")
    }

    @Test func `a rule for an issuer or a role that is not there is an error with its place`() throws {
        let configuration = try self.read(
            Self.least + "\n  oidc: {acme-login: {issuer: 'https://a.example', audience: a}}")
        func problem(_ condition: String) throws -> String? {
            let policy = try RulePolicy(
                yaml: """
                    version: 1
                    rules:
                      - {name: all, when: any_caller, grant: driver, for: assigned}
                      - {name: a, when: {\(condition)}, grant: driver, for: assigned}
                    """, file: "p", assignments: InMemoryAssignmentStore())
            do throws(TokenServerError) {
                try configuration.checkCallers(of: policy)
                return nil
            } catch {
                return error.message
            }
        }
        #expect(try problem("issuer: [acme-login, static]") == nil)
        #expect(
            try problem("issuer: [static, acme-logn]")
                == "p:4:30: no caller is of the issuer \"acme-logn\". There are acme-login, static.")
        #expect(try problem("roles: [driver, fleet_reader]") == nil)
        #expect(
            try problem("roles: [driver, dispatchr]")
                == "p:4:29: no caller has the role \"dispatchr\". There are driver, consumer, "
                + "delivery_untrusted_driver, delivery_trusted_driver, delivery_consumer, fleet_reader, "
                + "delivery_fleet_reader. What a login says of its users goes under claims.")
        #expect(try problem("roles: server")?.hasPrefix("p:4:29: no caller has the role \"server\".") == true)
        #expect(throws: Never.self) { try configuration.checkCallers(of: RolePolicy()) }
    }

    @Test func `a policy is read as a configuration is, with a byte order mark or none, and not where it is no UTF-8`()
        throws
    {
        let file = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        var configuration = try self.read(Self.least)
        configuration.policyFile = file.path(percentEncoded: false)
        func policy(_ bytes: Data) throws -> any TokenPolicy {
            try bytes.write(to: file)
            return try configuration.policy(
                assignments: InMemoryAssignmentStore(), transport: AsyncHTTPClientTransport())
        }
        let rule = "version: 1\nrules:\n  - {name: zoé, when: any_caller, grant: driver, for: assigned}\n"
        #expect(try policy(Data(rule.utf8)) is RulePolicy)
        #expect(try policy(Data("\u{FEFF}\(rule)".utf8)) is RulePolicy)
        let latin1 = try #require(rule.data(using: .isoLatin1))
        let error = #expect(throws: TokenServerError.self) { try policy(latin1) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message == "The policy \(file.path(percentEncoded: false)) is no UTF-8 text; save it as UTF-8.")
    }

    @Test func `a role that rules grant and nothing signs for is told with the rules`() throws {
        let configuration = try self.read(Self.least)
        let policy = try RulePolicy(
            yaml: """
                version: 1
                rules:
                  - {name: all, when: any_caller, grant: [driver, consumer], for: assigned}
                  - {name: apps, when: {issuer: static}, grant: consumer, for: any}
                """, assignments: InMemoryAssignmentStore())
        let unserved = try configuration.unservedRoles(of: policy, served: [.driver])
        #expect(unserved.map(\.role) == [.consumer])
        #expect(unserved.first?.grantors == ["the rule all", "the rule apps"])
        #expect(unserved.first?.remedy.contains("consumer.json") == true)
        #expect(try configuration.unservedRoles(of: policy, served: [.driver, .consumer]).isEmpty)
    }

    @Test func `without rules, the roles of callers are what is granted`() throws {
        let folder = URL.temporaryDirectory.appending(path: "fleetpass-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let digest = String(repeating: "0", count: 64)
        let entry = #"{"name":"app","secret_sha256":"\#(digest)","roles":["driver","consumer"]}"#
        let file = folder.appending(path: "callers.json")
        try Data(#"{"callers":[\#(entry)]}"#.utf8).write(to: file)
        var configuration = try self.read(Self.least)
        configuration.callersFile = file.path(percentEncoded: false)
        configuration.certificateCallers = [
            .init(identity: .dnsName("dispatch.example"), name: "dispatch", roles: [.fleetReader])
        ]
        let unserved = try configuration.unservedRoles(of: RolePolicy(), served: [.driver])
        #expect(unserved.map(\.role) == [.consumer, .fleetReader])
        #expect(unserved.map(\.grantors) == [["the caller app"], ["callers.certificate.dispatch"]])
    }

    @Test(arguments: [
        ("{file: callers.json}", [], false),
        (
            "{file: callers.json, oidc: {login: {issuer: 'https://login.example', audience: app}}}", ["oidc.login"],
            false
        ),
        (
            """
            {oidc: {login: {issuer: 'https://login.example', audience: app}}, certificate: {spare: {dns_name: a}},
            session: {backend: {issuer: acme, audience: fleet, secret_file: s}},
            proxy: {edge: {peers: 192.0.2.1, subject_header: X-User}}}
            """, ["oidc.login", "session.backend", "proxy.edge", "certificate.spare"], true
        ),
        ("{certificate: {a: {dns_name: a}, b: {dns_name: b, roles: driver}}}", ["certificate.a"], false),
        ("{certificate: {b: {dns_name: b, roles: driver}}}", [], false),
    ])
    func `without rules, who has no roles gets no token`(
        callers: String, roleless: [String], isEverybody: Bool
    ) throws {
        let tls = "listen: {tls: {certificate: c.pem, key: k.pem, client_ca: ca.pem}}\n"
        let configuration = try self.read(Self.secured + tls + "callers: \(callers)\n")
        let found = configuration.rolelessCallers(of: RolePolicy())
        #expect(found?.authenticators ?? [] == roleless.map { "callers.\($0)" })
        #expect(found?.isEverybody ?? false == isEverybody)
        let rules = "{version: 1, rules: [{name: all, when: any_caller, grant: driver, for: assigned}]}"
        let policy = try RulePolicy(yaml: rules, assignments: InMemoryAssignmentStore())
        #expect(configuration.rolelessCallers(of: policy) == nil)
    }

    @Test func `the reference page tells every setting as it is`() throws {
        let page = URL(filePath: #filePath).appending(path: "../../../../docs/configuration.md").standardized
        #expect(try String(contentsOf: page, encoding: .utf8) == TokenServerConfiguration.reference + "\n")
    }
}
