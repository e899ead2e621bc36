// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetOperation
import FleetTokens
import Foundation
import HTTPTypes
import Logging
import Testing

@Suite struct EngineConfigurationTests {
    private static let least = """
        providers: acme
        data: data
        trust: {files: trust.yaml}
        """

    private func read(
        _ yaml: String, environment: [String: String] = [:]
    ) throws(ConfigurationError) -> EngineConfiguration {
        try EngineConfiguration(
            yaml: yaml, folder: URL(filePath: "/etc/fleetpass", directoryHint: .isDirectory), environment: environment)
    }

    private func problem(_ yaml: String) -> String? {
        do throws(ConfigurationError) {
            _ = try self.read(yaml)
            return nil
        } catch {
            return error.message
        }
    }

    @Test func `the least configuration is safe`() throws {
        let configuration = try self.read(Self.least)
        #expect(configuration.providers == [try ProviderID(checking: "acme")])
        #expect(configuration.trustFiles == ["/etc/fleetpass/trust.yaml"])
        #expect(configuration.data == "/etc/fleetpass/data")
        #expect((configuration.host, configuration.httpPort, configuration.grpcPort) == ("127.0.0.1", 8080, 8081))
        #expect(configuration.tls == nil && configuration.revocations == nil && configuration.router == nil)
        #expect(configuration.recording == nil && configuration.postgreSQL == nil)
        #expect(configuration.limits == ConnectionLimits())
        #expect(configuration.retention == RetentionPolicy())
        #expect(configuration.page.visibility == .nobody)
        #expect(configuration.origins == nil)
        #expect(configuration.log == LogSettings())
    }

    @Test func `printing it shows no address of a store`() throws {
        let configuration = try self.read(
            """
            providers: acme
            trust: {files: trust.yaml}
            store: {postgresql: 'postgresql://owner:s3cret@db.example/fleet'}
            """)
        #expect(configuration.postgreSQL?.contains("s3cret") == true)
        var dumped = ""
        dump(configuration, to: &dumped)
        let told = "\(configuration) \(String(reflecting: configuration)) \(dumped)"
        #expect(told.contains("acme") && !told.contains("db.example"), "\(told)")
    }

    @Test func `every setting lands where it belongs`() throws {
        let configuration = try self.read(
            """
            providers: "acme, umbrella"
            trust: {files: "a.yaml, /b.yaml"}
            revocations: {url: https://tokens.example/.well-known/revocations, keys: keys.json, store: token-server.sqlite}
            store: {postgresql: postgresql://db/fleet}
            listen:
              host: 0.0.0.0
              http_port: 1
              grpc_port: 2
              tls: {certificate: c.pem, key: k.pem, client_ca: ca.pem, client_certificate: required}
            cors: {origins: "https://a.example, https://b.example"}
            limits: {connections: 5, header_bytes: 2048, header_fields: 9, idle: 2m, request: 9s}
            retention: {vehicles: 1d, trips: 2h, delivery_vehicles: never, tasks: 3d}
            router: {osrm: {url: http://osrm:5000, time_limit_ms: 250, cached_legs: 300}}
            page: {visible_to: 10.0.0.0/8, provider: umbrella, leaflet: map, tiles: "https://t.example/{z}/{x}/{y}.png"}
            record: calls.jsonl
            log: {level: debug, format: json}
            """, environment: ["FLEETPASS_LISTEN_GRPC_PORT": "3"])
        #expect(configuration.providers.map(\.value) == ["acme", "umbrella"])
        #expect(configuration.trustFiles == ["/etc/fleetpass/a.yaml", "/b.yaml"])
        #expect(configuration.revocations?.url == "https://tokens.example/.well-known/revocations")
        #expect(configuration.revocations?.keys == "/etc/fleetpass/keys.json")
        #expect(configuration.revocationStore?.hasSuffix("/token-server.sqlite") == true)
        #expect(configuration.postgreSQL == "postgresql://db/fleet")
        #expect((configuration.host, configuration.httpPort, configuration.grpcPort) == ("0.0.0.0", 1, 3))
        #expect(
            configuration.tls
                == ListenerTLS(
                    certificate: "/etc/fleetpass/c.pem", key: "/etc/fleetpass/k.pem",
                    clients: .required(authorities: "/etc/fleetpass/ca.pem")))
        #expect(
            configuration.limits
                == ConnectionLimits(
                    connections: 5, headerBytes: 2048, headerFields: 9, idle: .seconds(120), request: .seconds(9)))
        #expect(
            configuration.retention
                == RetentionPolicy(
                    vehicles: .seconds(86_400), trips: .seconds(7200), deliveryVehicles: nil,
                    tasks: .seconds(3 * 86_400)))
        #expect(
            configuration.router
                == OSRMRouter.Settings(url: "http://osrm:5000", timeLimit: .milliseconds(250), cachedLegs: 300))
        #expect(configuration.page.visibility == .addresses([try AddressRange("10.0.0.0/8")]))
        #expect(configuration.page.provider.value == "umbrella")
        #expect(configuration.page.options.leafletFolder == "/etc/fleetpass/map")
        #expect(configuration.page.options.tiles?.template == "https://t.example/{z}/{x}/{y}.png")
        for (origin, isAllowed) in [("https://b.example", true), ("https://c.example", false)] {
            var headers = HTTPFields()
            configuration.origins?.mark(&headers, for: origin)
            #expect(headers[.accessControlAllowOrigin] == (isAllowed ? origin : nil))
        }
        #expect(configuration.recording == "/etc/fleetpass/calls.jsonl")
        #expect(configuration.log == LogSettings(level: .debug, isJSON: true))
    }

    @Test func `the keys of a list of revocations may be at an address`() throws {
        let list = "url: 'https://tokens.example/list', keys: 'https://keys.example/set?v=1'"
        let configuration = try self.read(Self.least + "\nrevocations: {\(list)}")
        #expect(configuration.revocations?.keys == "https://keys.example/set?v=1")
    }

    @Test(arguments: [
        "postgresql://db.internal/tokens", "postgresql:/fleet:s3cret@db.internal/tokens",
        "host=127.0.0.1 port=1 user=u dbname=tokens", "hots=db.internal password=s3cret",
    ])
    func `the address of a store of withdrawn tokens is taken as it is written, and for no path`(
        address: String
    ) throws {
        let configuration = try self.read(Self.least + "\nrevocations: {store: '\(address)'}")
        #expect(configuration.revocationStore == address)
    }

    @Test func `where others can come, the page is off unless it is turned on`() throws {
        let open = Self.least + "\nlisten: {host: 0.0.0.0, tls: {certificate: c, key: k}}"
        #expect(try self.read(open).page.visibility == .nobody)
        #expect(try self.read(open + "\npage: {visible_to: this_machine}").page.visibility == .thisMachine)
    }

    @Test(arguments: [
        ("data: d\ntrust: {files: t}", "The setting providers is missing; add it to the file"),
        ("providers: 'a, a'\ndata: d\ntrust: {files: t}", "and each once"),
        ("providers: 'a/b'\ndata: d\ntrust: {files: t}", "The setting providers: "),
        ("providers: a\ndata: d", "No account is trusted"),
        ("providers: a\ntrust: {files: t}", "Set data to a folder, or store.postgresql"),
        (Self.least + "\nrevocations: {keys: k}", "revocations.keys goes with revocations.url"),
        (Self.least + "\nlisten: {host: 10.0.0.1}", "10.0.0.1 can be reached by other machines"),
        (Self.least + "\nlisten: {http_port: 8081}", "must differ"),
        (Self.least + "\nlisten: {tls: {key: k}}", "listen.tls takes both certificate and key"),
        (Self.least + "\nlisten: {tls: {client_ca: ca}}", "listen.tls.client_ca needs a server with TLS"),
        (
            Self.least + "\nlisten: {tls: {certificate: c, key: k, client_certificate: required}}",
            "listen.tls.client_certificate is required, but listen.tls.client_ca"
        ),
        (Self.least + "\nlisten:\n  port: 1", "Line 5: there is no setting listen.port; there are grpc_port, host"),
        (
            Self.least + "\nretention: {trips: 5m}",
            "retention.trips must be a time up to 3650d, like 12h or 7d, or never."
        ),
        (Self.least + "\nretention: {trips: 87601h}", "retention.trips must be a time up to 3650d"),
        ("providers", "Line 1: the configuration takes settings of its own."),
        ("[providers]", "Line 1: the configuration must be a single value or settings."),
        (Self.least + "\nrouter: {osrm: {url: 'osrm:5000'}}", "router.osrm.url must be written like"),
        (Self.least + "\ncors: {origins: 'https://a.example/'}", "cors.origins: \"https://a.example/\" is no origin"),
        (Self.least + "\ncors: {origins: '*'}", "cors.origins: \"*\" is no origin"),
        (Self.least + "\ncors: {origins: ','}", "The setting cors.origins names nothing"),
        (Self.least + "\npage: {provider: other}", "page.provider names none of providers"),
        (Self.least + "\npage: {visible_to: all}", "page.visible_to must be nobody, this_machine or addresses"),
        (Self.least + "\npage: {tiles: here}", "page.tiles is no address of tiles"),
        (Self.least + "\ncallers: {file: x}", "there is no setting callers"),
        (Self.least + "\nlog: {level: &a error}\npage: *a", "Line 5: \"*\" repeats what \"&\" marks"),
        (Self.least + "\n# " + String(repeating: "x", count: 256 * 1024), "the file has more than 262144 bytes."),
    ])
    func `a mistake is named`(yaml: String, message: String) throws {
        #expect(try #require(self.problem(yaml)).contains(message))
    }

    @Test(arguments: [("4000h", 4000), ("87600h", 87_600), ("3650d", 87_600)])
    func `how long something may be kept at most does not depend on the unit`(text: String, hours: Int) throws {
        let retention = try self.read(Self.least + "\nretention: {trips: \(text)}").retention
        #expect(retention.trips == Duration.seconds(3600 * hours))
    }

    @Test func `the reference page tells every setting as it is`() throws {
        let page = URL(filePath: #filePath).appending(path: "../../../../docs/engine-configuration.md").standardized
        #expect(try String(contentsOf: page, encoding: .utf8) == EngineConfiguration.reference + "\n")
    }
}
