// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetOperation
import FleetPostgreSQL
public import FleetTokens
public import Foundation

/// How an engine is set up, from one YAML file and the environment.
public struct EngineConfiguration: Sendable {
    /// Where the withdrawn tokens are listed.
    public struct Revocations: Hashable, Sendable {
        /// The list's address.
        public var url: String
        /// The file or address of the keys it must be signed with; `nil` for the set beside the list.
        public var keys: String?
    }

    /// Who may open the page.
    public enum PageVisibility: Hashable, Sendable {
        /// Nobody: it is not there.
        case nobody
        /// A browser on this machine.
        case thisMachine
        /// Whoever connects from one of these addresses.
        case addresses([AddressRange])
    }

    /// The page.
    public struct Page: Sendable {
        /// Who may open it.
        public var visibility: PageVisibility
        /// Whose vehicles it shows.
        public var provider: ProviderID
        /// What it may show beyond that.
        public var options: PageOptions
    }

    /// The providers that are served, at least one.
    public var providers: [ProviderID]
    /// The files of trusted accounts, at least one.
    public var trustFiles: [String]
    /// Where the withdrawn tokens are listed, if anywhere.
    public var revocations: Revocations?
    /// The token server's store, a file or the address of a database, whose withdrawn tokens are refused, if any.
    public var revocationStore: String?
    /// The folder of the store, if any.
    public var data: String?
    /// The address of the PostgreSQL database that holds the store; `nil` keeps it in ``data``.
    public var postgreSQL: String?
    /// The address to listen on.
    public var host: String
    /// The port of HTTP; 0 picks a free one.
    public var httpPort: Int
    /// The port of gRPC; 0 picks a free one.
    public var grpcPort: Int
    /// The files of TLS, and what clients must show of themselves; `nil` serves in the clear.
    public var tls: ListenerTLS?
    /// What the clients of each port may use up.
    public var limits: ConnectionLimits
    /// Web pages of which origins may call the REST interface; `nil` for none.
    package var origins: AllowedOrigins?
    /// How closely calls are held to the documentation.
    public var profile: StrictnessProfile
    /// How the roads are asked for; `nil` estimates ways by the straight line.
    public var router: OSRMRouter.Settings?
    /// How long what is kept.
    public var retention: RetentionPolicy
    /// The page.
    public var page: Page
    /// The file that every answered call is appended to, if any.
    public var recording: String?
    /// What is logged, and how.
    public var log: LogSettings

    /// Reads a configuration.
    ///
    /// - Parameters:
    ///   - yaml: The file's text.
    ///   - folder: The folder that relative paths start at.
    ///   - environment: The environment; its `FLEETPASS_…` variables go before the file.
    /// - Throws: ``ConfigurationError`` that names the setting, and the line or the variable.
    public init(yaml: String, folder: URL, environment: [String: String]) throws(ConfigurationError) {
        let values = try ConfigurationValues(.engine, yaml: yaml, environment: environment)
        _ = try values.required("providers")
        self.providers = try Self.ids(values.list("providers"), of: "providers")
        self.trustFiles = values.files("trust.files", in: folder)
        guard !self.trustFiles.isEmpty else {
            throw ConfigurationError(
                "No account is trusted, so every token would be refused. Set trust.files to a trust file, which "
                    + "docs/trust.md describes.")
        }
        let revocationKeys = values["revocations.keys"].flatMap { keys in
            keys.contains("://") ? keys : values.file("revocations.keys", in: folder)
        }
        self.revocations = values["revocations.url"].map { Revocations(url: $0, keys: revocationKeys) }
        guard self.revocations != nil || revocationKeys == nil else {
            throw ConfigurationError("revocations.keys goes with revocations.url, which is missing.")
        }
        self.revocationStore = values["revocations.store"].flatMap { store in
            PostgreSQLAddress.isAddress(store) ? store : values.file("revocations.store", in: folder)
        }
        self.data = values.file("data", in: folder)
        self.postgreSQL = values["store.postgresql"]
        guard self.data != nil || self.postgreSQL != nil else {
            throw ConfigurationError(
                "Nothing is set up to keep vehicles and trips in. Set data to a folder, or store.postgresql to a "
                    + "database.")
        }
        self.host = try values.required("listen.host")
        self.httpPort = try values.number("listen.http_port")
        self.grpcPort = try values.number("listen.grpc_port")
        guard self.httpPort == 0 || self.httpPort != self.grpcPort else {
            throw ConfigurationError("listen.http_port and listen.grpc_port must differ.")
        }
        self.tls = try ListenerTLS.read(in: values, folder: folder, host: self.host, protecting: "tokens")
        self.limits = try ConnectionLimits(in: values)
        self.origins = try Self.origins(in: values)
        self.profile = values["profile"].flatMap(StrictnessProfile.init(rawValue:)) ?? .real
        self.router = try values["router.osrm.url"].map { url throws(ConfigurationError) in
            let settings = OSRMRouter.Settings(
                url: url, timeLimit: .milliseconds(try values.number("router.osrm.time_limit_ms")),
                cachedLegs: try values.number("router.osrm.cached_legs"))
            guard settings.isUsable else {
                throw ConfigurationError(
                    "router.osrm.url must be written like http://osrm.internal:5000, without user or query.")
            }
            return settings
        }
        self.retention = RetentionPolicy(
            vehicles: values["retention.vehicles"].flatMap(ConfigurationOption.age),
            trips: values["retention.trips"].flatMap(ConfigurationOption.age),
            deliveryVehicles: values["retention.delivery_vehicles"].flatMap(ConfigurationOption.age),
            tasks: values["retention.tasks"].flatMap(ConfigurationOption.age))
        self.page = try Self.page(in: values, folder: folder, host: self.host, providers: self.providers)
        self.recording = values.file("record", in: folder)
        self.log = try LogSettings(in: values)
    }

    private static func origins(in values: ConfigurationValues) throws(ConfigurationError) -> AllowedOrigins? {
        guard values["cors.origins"] != nil else { return nil }
        let origins = Set(values.list("cors.origins"))
        guard !origins.isEmpty else {
            throw ConfigurationError("The setting cors.origins names nothing; write its values with commas between.")
        }
        return try AllowedOrigins(origins, permission: EngineRoutes.ofPages)
    }

    private static func ids(_ texts: [String], of setting: String) throws(ConfigurationError) -> [ProviderID] {
        var ids: [ProviderID] = []
        for text in texts {
            do throws(TokenError) {
                ids.append(try ProviderID(checking: text))
            } catch {
                throw ConfigurationError("The setting \(setting): \(error.message)")
            }
        }
        guard Set(ids).count == ids.count, !ids.isEmpty else {
            throw ConfigurationError("The setting \(setting) must name at least one provider, and each once.")
        }
        return ids
    }

    private static func page(
        in values: ConfigurationValues, folder: URL, host: String, providers: [ProviderID]
    ) throws(ConfigurationError) -> Page {
        let provider = try values["page.provider"].map { id throws(ConfigurationError) in
            try Self.ids([id], of: "page.provider")[0]
        }
        guard provider.map(providers.contains) ?? true else {
            throw ConfigurationError("The setting page.provider names none of providers.")
        }
        var tiles: TileSource?
        if let template = values["page.tiles"] {
            tiles = TileSource(template: template, attribution: values["page.tiles_attribution"] ?? "")
            guard tiles != nil else {
                throw ConfigurationError(
                    "page.tiles is no address of tiles; write it like https://tiles.example/{z}/{x}/{y}.png.")
            }
        }
        let leaflet = values.file("page.leaflet", in: folder) ?? PageOptions.systemLeafletFolder
        return Page(
            visibility: try Self.visibility(in: values), provider: provider ?? providers[0],
            options: PageOptions(leafletFolder: leaflet, tiles: tiles))
    }

    private static func visibility(in values: ConfigurationValues) throws(ConfigurationError) -> PageVisibility {
        switch values["page.visible_to"] {
        case nil, "nobody"?: return .nobody
        case "this_machine"?: return .thisMachine
        case _?:
            do throws(ConfigurationError) {
                return .addresses(try values.ranges("page.visible_to"))
            } catch {
                throw ConfigurationError("page.visible_to must be nobody, this_machine or addresses: \(error.message)")
            }
        }
    }
}

/// It names databases by addresses that may hold passwords: printing it shows the providers only.
extension EngineConfiguration: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The providers.
    public var description: String {
        "EngineConfiguration(providers: \(self.providers.map(\.description).joined(separator: ", ")))"
    }
    /// The same as ``description``.
    public var debugDescription: String { self.description }
    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["configuration": self.description]) }
}
