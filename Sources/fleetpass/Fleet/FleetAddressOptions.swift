// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokenClient
import FleetTokens
import Foundation

/// Where `drive`, `watch` and `simulate` find the token server and the engine.
struct FleetAddressOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The token server.", valueName: "url"))
    var tokenServer: String = "http://127.0.0.1:8080"

    @Option(help: ArgumentHelp("The engine's REST address.", valueName: "url"))
    var engine: String = "http://127.0.0.1:8080"

    @Option(help: "The provider id (default: demo-fleet).", transform: checkedID)
    var provider: ProviderID?

    @Option(
        help: ArgumentHelp(
            "The environment variable that holds the secret for the token server, where it asks for one.",
            valueName: "name"))
    var secretVariable: String = SecretVariable.usual.name

    /// The provider of the options.
    var effectiveProvider: ProviderID {
        get throws {
            if let provider { return provider }
            return try ProviderID(checking: "demo-fleet")
        }
    }

    /// The engine's URL.
    var engineURL: URL { get throws { try Self.url(self.engine, option: "--engine") } }

    /// A provider that asks the token server.
    func tokens(
        transport: any HTTPTransport = ClientTransport(maximumBodyBytes: TokenEndpoint.maximumAnswerBytes),
        configuration: TokenCacheConfiguration = .init()
    ) throws -> FleetTokenProvider {
        let secret = try SecretVariable(name: self.secretVariable).value
        guard secret != nil || self.secretVariable == SecretVariable.usual.name else {
            throw CommandFailure(
                status: .usage, message: "--secret-variable: there is no environment variable \(self.secretVariable).")
        }
        do {
            let endpoint = try TokenEndpoint.fleetpass(Self.url(self.tokenServer, option: "--token-server"))
            return try FleetTokenProvider(endpoint: endpoint, transport: transport, configuration: configuration) {
                secret.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
            }
        } catch let error as TokenClientError {
            throw CommandFailure(status: .usage, message: "--token-server: \(error.message)")
        }
    }

    /// Makes what carries tokens to the addresses.
    ///
    /// - Throws: ``CommandFailure`` with `usage` where tokens must not travel there.
    static func checkingURLs<Made>(_ make: () throws -> Made) throws -> Made {
        do {
            return try make()
        } catch let error as TokenClientError {
            throw CommandFailure(status: .usage, message: error.message)
        }
    }

    private static func url(_ text: String, option: String) throws -> URL {
        guard let url = URL(string: text), url.scheme != nil, url.host() != nil else {
            throw CommandFailure(
                status: .usage, message: "\(option) \(text) is not a URL such as http://127.0.0.1:8080.")
        }
        return url
    }
}
