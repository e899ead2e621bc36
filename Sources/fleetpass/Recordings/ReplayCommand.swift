// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetEngine
import FleetSigning
import FleetTokenClient
import FleetTokenServer
import FleetTokens
import Foundation

/// `fleetpass replay`: sends the calls of a recording to an engine, and compares the answers.
struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Send a recording's calls to an engine, and compare the answers.",
        discussion: """
            Example:  fleetpass replay two-trips.json --data fleetpass-data --compare

            The calls go out one after the other, over REST, for the provider of --provider, with server tokens that the keys \
            in --data sign. What a recording presumes is created first. What was refused for its token is not sent. A call \
            that does not end as it was recorded, well or with the same status, is told, and the exit code is 1. \
            --compare also counts the fields that differ, but for times.
            """
    )

    @OptionGroup var source: ProviderRecording

    @Option(help: ArgumentHelp("The engine's REST address.", valueName: "url"))
    var engine: String = "http://127.0.0.1:8080"

    @Option(
        help: ArgumentHelp(
            "The data folder of `up`, or a folder of key files; its server keys sign.", valueName: "dir"),
        completion: .directory)
    var data: String = "fleetpass-data"

    @Option(help: "The provider id (default: demo-fleet).", transform: checkedID)
    var provider: ProviderID?

    @Flag(help: "Compare the answers field by field.")
    var compare = false

    @Option(help: "text for people; json for programs.")
    var output: OutputFormat = .text

    func run() async throws {
        let recording = try self.source.read()
        let provider = try self.provider ?? ProviderID(checking: "demo-fleet")
        let session = ReplaySession(
            engine: try self.endpoint(), provider: provider, issuer: try self.issuer(provider),
            transport: ClientTransport())
        var report = ReplayReport()
        do {
            try await session.run(recording, comparing: self.compare, into: &report)
        } catch {
            // What was sent before changed the engine.
            if report.sent > 0 { try self.give(report) }
            throw error
        }
        try self.give(report)
        guard report.otherwise.isEmpty else {
            throw CommandFailure(
                status: .failed, message: "\(report.otherwise.count) of \(report.sent) calls ended otherwise.")
        }
    }

    private func give(_ report: ReplayReport) throws {
        switch self.output {
        case .text: Console.give(report.text)
        case .json: try Console.give(json: report)
        }
    }

    private func endpoint() throws -> EngineEndpoint {
        guard let url = URL(string: self.engine), url.scheme != nil, url.host() != nil else {
            throw CommandFailure(
                status: .usage, message: "--engine \(self.engine) is not a URL such as http://127.0.0.1:8080.")
        }
        do throws(TokenClientError) {
            return try EngineEndpoint(url)
        } catch {
            throw CommandFailure(status: .usage, message: "--engine: \(error.message)")
        }
    }

    private func issuer(_ provider: ProviderID) throws -> TokenIssuer {
        guard !self.data.isEmpty else {
            throw CommandFailure(
                status: .usage, message: "--data is empty; name the data folder of up, or a folder of key files.")
        }
        let accounts = "\(self.data)/service-accounts"
        let folder = FileManager.default.fileExists(atPath: accounts) ? accounts : self.data
        do throws(TokenServerError) {
            let keys = try SigningKeys(folder: KeyFolder(path: folder), provider: provider)
            return TokenIssuer { claims, role, time in
                guard let minter = keys.minter(for: role, at: time) else {
                    throw CommandFailure(
                        status: .configuration,
                        message: "\(folder) has no \(role).json, whose key signs the calls; name with --data the data "
                            + "folder of up, or a folder with that file.")
                }
                return try await minter.mint(claims, at: time)
            }
        } catch {
            throw CommandFailure(status: .configuration, message: error.message)
        }
    }
}
