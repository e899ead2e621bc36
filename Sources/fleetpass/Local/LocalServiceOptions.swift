// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetEngine
import FleetOperation
import FleetPostgreSQL
import FleetTokens
import Foundation
import Logging

/// The options that `up` and `demo` share.
struct LocalServiceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The folder for keys and data; it is made where it is missing.", valueName: "dir"),
        completion: .directory)
    var data: String = "fleetpass-data"

    @Option(
        help: ArgumentHelp(
            "The PostgreSQL database for what is stored, shared by many nodes; files in the data folder without.",
            valueName: "postgresql-url"))
    var store: String?

    @Option(help: ArgumentHelp("The address to listen on; this machine's own only.", valueName: "address"))
    var host: String = "127.0.0.1"

    @Option(help: "The port of HTTP: token server, engine REST and page; 0 picks a free one.")
    var port: Int = 8080

    @Option(help: "The port of the engine's gRPC; 0 picks a free one.")
    var grpcPort: Int = 8081

    @Option(help: "The provider id (default: demo-fleet).", transform: checkedID)
    var provider: ProviderID?

    @Flag(name: .customLong("open"), help: "Give tokens to anyone on this machine; the default without --callers.")
    var isOpen = false

    @Option(
        help: ArgumentHelp("Give tokens only to the callers in this file, by bearer secret.", valueName: "file"),
        completion: .file())
    var callers: String?

    @Option(
        help: ArgumentHelp(
            "Append each call with a good token that can be read to this file; for export and replay.",
            valueName: "file"),
        completion: .file())
    var record: String?

    @Option(
        help: ArgumentHelp(
            "Refuse what another token server withdrew: the address of its list, https or this machine.",
            valueName: "url"))
    var revocations: String?

    @Option(
        help: ArgumentHelp(
            "The keys that such a list must be signed with; jwks.json below the list's address without.",
            valueName: "file|url"),
        completion: .file())
    var revocationsKeys: String?

    @Option(
        help: ArgumentHelp(
            "Trust these service accounts too, with the roles and keys that the file names.", valueName: "file"),
        completion: .file())
    var trust: String?

    @Option(
        help: ArgumentHelp(
            "How closely calls are held to the documentation: real, as the service does, or strict, with warnings.",
            valueName: "real|strict"),
        completion: .list(StrictnessProfile.allCases.map(\.rawValue)),
        transform: Self.profile)
    var profile = StrictnessProfile.real

    @Option(
        help: ArgumentHelp(
            "Let things go wrong by this script from the start; see fleetpass chaos.", valueName: "file"),
        completion: .file())
    var chaos: String?

    @Option(
        help: ArgumentHelp(
            "Ask this OSRM server for ways along the roads, such as http://127.0.0.1:5000; straight lines without.",
            valueName: "url"))
    var osrm: String?

    @Option(
        help: ArgumentHelp("What is logged to stderr: debug, info, warning or error.", valueName: "level"),
        completion: .list(Self.logLevels))
    var logLevel = "warning"

    @Option(
        help: ArgumentHelp("Where the page's map library is: leaflet.js and leaflet.css.", valueName: "dir"),
        completion: .directory)
    var leaflet: String = PageOptions.systemLeafletFolder

    @Option(
        help: ArgumentHelp(
            "Where the map's background comes from, such as https://tiles.example/{z}/{x}/{y}.png; without, from nowhere.",
            valueName: "url"))
    var tiles: String?

    @Option(help: ArgumentHelp("Whom the map names as the tiles' source.", valueName: "text"))
    var tilesAttribution: String = ""

    private static let logLevels = ["debug", "info", "warning", "error"]

    private static func profile(_ text: String) throws -> StrictnessProfile {
        guard let profile = StrictnessProfile(rawValue: text) else {
            throw ValidationError("--profile is real or strict.")
        }
        return profile
    }

    /// Logs to stderr, quiet unless something is wrong or more is asked for.
    var logger: Logger {
        var logger = Logger(label: "fleetpass", factory: { TextLogHandler(label: $0) })
        logger.logLevel = Logger.Level(rawValue: self.logLevel) ?? .warning
        return logger
    }

    /// What the page may show.
    var pageOptions: PageOptions {
        get throws {
            guard let tiles else { return PageOptions(leafletFolder: self.leaflet) }
            guard let source = TileSource(template: tiles, attribution: self.tilesAttribution) else {
                throw CommandFailure(
                    status: .usage,
                    message: "--tiles \(tiles) is no address of tiles; write it like "
                        + "https://tiles.example/{z}/{x}/{y}.png.")
            }
            return PageOptions(leafletFolder: self.leaflet, tiles: source)
        }
    }

    /// How the roads are asked for, if they are.
    var router: OSRMRouter.Settings? { self.osrm.map { OSRMRouter.Settings(url: $0) } }

    /// The provider of the options.
    var effectiveProvider: ProviderID {
        get throws {
            if let provider { return provider }
            return try ProviderID(checking: "demo-fleet")
        }
    }

    func validate() throws {
        try OptionRules.need(
            self.tiles != nil || self.tilesAttribution.isEmpty,
            "--tiles-attribution names the source of the tiles; give their address too, with --tiles.")
        guard (0...65535).contains(self.port), (0...65535).contains(self.grpcPort) else {
            throw ValidationError("A port is a number from 0 to 65535.")
        }
        try OptionRules.need(
            self.port == 0 || self.port != self.grpcPort,
            "--port and --grpc-port are both \(self.port); give two ports, or 0, which picks a free one.")
        guard Self.logLevels.contains(self.logLevel) else {
            throw ValidationError("--log-level is debug, info, warning or error.")
        }
        guard !(self.isOpen && self.callers != nil) else {
            throw ValidationError("--open and --callers exclude each other.")
        }
        try OptionRules.need(
            self.revocations != nil || self.revocationsKeys == nil, "--revocations-keys belongs to --revocations.")
    }

    /// Refuses an address to listen on, a data folder, a database or a recording that could not be used.
    ///
    /// - Throws: ``CommandFailure`` with `configuration`, or `usage` for a database without an address and for a data folder
    ///   that no line can name.
    func checkPlaces() throws {
        try self.checkHost()
        let data = URL(filePath: self.data, directoryHint: .notDirectory).absoluteURL.path(percentEncoded: false)
        guard !data.contains(where: \.isNewline) else {
            throw CommandFailure(
                status: .usage,
                message: "the data folder \(data.shown()) has a line break in its path; pass another with --data.")
        }
        guard self.store?.allSatisfy(\.isWhitespace) != true else {
            throw CommandFailure(status: .usage, message: "--store is empty; name the database, or leave it out.")
        }
        do throws(PostgreSQLError) {
            if let store { _ = try PostgreSQLAddress(store) }
        } catch {
            throw CommandFailure(status: .configuration, message: error.message)
        }
        guard let record, !self.isForNewDataFolder(record), let problem = PathProblem.writing(record) else { return }
        throw CommandFailure(
            status: .configuration,
            message: "the recording \(record) cannot be written: \(problem); name a file in a folder that exists and "
                + "is writable.")
    }

    /// Whether a file is to be in the data folder, or beside it, in a folder that is made with it.
    private func isForNewDataFolder(_ file: String) -> Bool {
        let folder = URL(filePath: file).absoluteURL.deletingLastPathComponent().standardizedFileURL
        let data = URL(filePath: self.data, directoryHint: .isDirectory).absoluteURL.standardizedFileURL
        return !FileManager.default.fileExists(atPath: folder.path(percentEncoded: false))
            && data.pathComponents.starts(with: folder.pathComponents)
    }

    /// Refuses any address that other machines could reach, as tokens go to anyone over plain HTTP.
    func checkHost() throws {
        guard LoopbackAddress.isLoopback(self.host) else {
            throw CommandFailure(
                status: .configuration,
                message:
                    "\(self.host) is not an address of this machine alone; up and demo serve plain HTTP and listen "
                    + "on 127.0.0.1 or ::1 only."
            )
        }
    }
}
