// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation

extension ConfigurationSchema {
    /// Every setting of the engine's file, in the order of the reference.
    static let engine = ConfigurationSchema(
        command: "serve engine",
        options: [
            .init(
                path: "providers", kind: .text, standard: nil,
                help:
                    "The provider ids that are served, with commas between. Accounts of any other in a trust file are an "
                    + "error at the start. Required."),
            .init(
                path: "trust.files", kind: .paths, standard: nil,
                help: "The [trust files](trust.md) with the accounts whose tokens are taken. Required."),
            .init(
                path: "revocations.url", kind: .text, standard: nil,
                help: "The list of withdrawn tokens that a token server publishes, "
                    + "`https://HOST/.well-known/revocations`."),
            .init(
                path: "revocations.keys", kind: .text, standard: nil,
                help: "The keys that the list must be signed with, a file or an address. Unset: `jwks.json` below the "
                    + "list's address."),
            .init(
                path: "revocations.store", kind: .text, standard: nil,
                help:
                    "The store of a token server whose withdrawn tokens are refused: the file `token-server.sqlite` of "
                    + "one on this machine, or its PostgreSQL database. Without this and `revocations.url`, withdrawn "
                    + "tokens are accepted until they expire."),
            .init(
                path: "data", kind: .path, standard: nil,
                help:
                    "The folder of the store, which must exist and be writable. Required unless `store.postgresql` is "
                    + "set."),
            .init(
                path: "store.postgresql", kind: .text, standard: nil,
                help: "The PostgreSQL database that holds the store instead, shared by all nodes: "
                    + "`postgresql://USER:PASSWORD@HOST:PORT/DATABASE`. Give it by the environment where it has a "
                    + "password."),
            .init(path: "listen.host", kind: .text, standard: "127.0.0.1", help: "The address to listen on."),
            .init(
                path: "listen.http_port", kind: .number(0...65535), standard: "8080",
                help: "The port of REST, the page and metrics; 0 picks a free one."),
            .init(
                path: "listen.grpc_port", kind: .number(0...65535), standard: "8081",
                help: "The port of gRPC; 0 picks a free one."),
        ]
            + ConfigurationOption.tls(
                use: "With it, clients may show a certificate; their tokens are needed all the same.")
            + ConfigurationOption.connectionLimits
            + [
                .init(
                    path: "cors.origins", kind: .text, standard: nil,
                    help:
                        "Web pages' origins that may call the REST interface (CORS), with commas between. They send a token "
                        + "like everybody else; the page is for none. Unset: none."),
                .init(
                    path: "profile", kind: .choice(StrictnessProfile.allCases.map(\.rawValue)),
                    standard: StrictnessProfile.real.rawValue,
                    help:
                        "How closely calls are held to the documentation: `real`, as the service does, or `strict`, with a "
                        + "warning to each caller, see [strictness.md](strictness.md). Either notes what departs from it."
                ),
                .init(
                    path: "router.osrm.url", kind: .text, standard: nil,
                    help:
                        "An OSRM server that is asked for ways along the roads, such as `http://osrm.internal:5000`; it "
                        + "gets positions. Without, and while it does not answer, ways are straight lines."),
                .init(
                    path: "router.osrm.time_limit_ms", kind: .number(10...10_000), standard: "500",
                    help: "How long a call that looks waits for its answers, in milliseconds; writes never wait."),
                .init(
                    path: "router.osrm.cached_legs", kind: .number(100...10_000_000), standard: "20000",
                    help:
                        "How many legs are remembered, if their ways have 200 points on average, which are about 6 kB; "
                        + "where they have more, fewer are."),
                .init(
                    path: "retention.vehicles", kind: .age, standard: "7d",
                    help:
                        "How long vehicles without trips are kept after their last update. What is older is deleted ten "
                        + "minutes after the start and then every hour, here as below; `1h` may keep it for two."),
                .init(
                    path: "retention.trips", kind: .age, standard: "7d",
                    help: "How long trips are kept after their last change."),
                .init(
                    path: "retention.delivery_vehicles", kind: .age, standard: "7d",
                    help: "How long delivery vehicles without open tasks are kept after their last update."),
                .init(
                    path: "retention.tasks", kind: .age, standard: "never",
                    help: "How long tasks that are in no vehicle's list of stops are kept after their last change."),
                .init(
                    path: "page.visible_to", kind: .text, standard: nil,
                    help:
                        "Who may open the page and `/deviations`, which show every vehicle without a token: `nobody`, "
                        + "`this_machine`, or ranges of addresses with commas between, such as `10.1.0.0/16`. Unset: `nobody`. Behind a proxy on "
                        + "this machine everybody comes from this machine, unless it says for whom it asks; a proxy elsewhere whose "
                        + "address is named shows the page to everybody whom it serves."),
                .init(
                    path: "page.provider", kind: .text, standard: nil,
                    help: "The provider whose vehicles the page shows. Unset: the first of `providers`."),
                .init(
                    path: "page.leaflet", kind: .path, standard: PageOptions.systemLeafletFolder,
                    help: "Where the page's map library is: `leaflet.js` and `leaflet.css`."),
                .init(
                    path: "page.tiles", kind: .text, standard: nil,
                    help:
                        "Where the map's background comes from, such as `https://tiles.example/{z}/{x}/{y}.png`. Unset: "
                        + "there is none."),
                .init(
                    path: "page.tiles_attribution", kind: .text, standard: nil,
                    help: "Whom the map names as the tiles' source."),
                .init(
                    path: "record", kind: .path, standard: nil,
                    help:
                        "Every call that can be read and has a good token is appended to this file with its answer, see "
                        + "[recordings.md](recordings.md); it holds positions."),
            ] + ConfigurationOption.log)
}

extension EngineConfiguration {
    /// The reference page of the configuration, in Markdown.
    public static var reference: String { ConfigurationSchema.engine.reference }

    /// The variables of an environment that look like settings and are none, in order.
    package static func unknownVariables(in environment: [String: String]) -> [String] {
        ConfigurationSchema.engine.unknownVariables(in: environment)
    }
}
