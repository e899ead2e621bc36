// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import FleetOperation
import GoogleCredentials
package import Logging
package import ServiceLifecycle

/// The parts of an engine that `up` and `serve engine` share: store, recording, calls, retention, gRPC, metrics.
package struct EngineService: Sendable {
    /// What they are made of.
    package struct Settings: Sendable {
        /// The store's file; not used with ``database``.
        package var file: String
        /// The PostgreSQL database that holds the store instead, if any.
        package var database: String?
        /// The file that every answered call is appended to, if any.
        package var recording: String?
        /// Asks for the roads; `nil` estimates ways by the straight line.
        package var router: OSRMRouter?
        /// How closely calls are held to the documentation.
        package var profile: StrictnessProfile
        /// What lets things go wrong by script, if anything does.
        package var faults: FaultInjector?
        /// How long what is kept.
        package var retention: RetentionPolicy

        /// Names the parts.
        package init(
            file: String, database: String?, recording: String?, router: OSRMRouter?, profile: StrictnessProfile,
            faults: FaultInjector? = nil, retention: RetentionPolicy = RetentionPolicy()
        ) {
            self.file = file
            self.database = database
            self.recording = recording
            self.router = router
            self.profile = profile
            self.faults = faults
            self.retention = retention
        }
    }

    /// What answers the calls.
    package let engine: Engine
    /// What counts them.
    package let metrics = EngineMetrics()
    private let store: EngineStoreChoice
    private let recorder: CallRecorder?
    private let retention: RetentionPolicy
    private let logger: Logger

    /// Opens the store and puts the parts together.
    ///
    /// - Throws: ``EngineError`` whose reason starts with `STORE_`, or `ConfigurationError` for the recording.
    package init(_ settings: Settings, verifier: any TokenVerifying, logger: Logger) throws {
        self.store = try EngineStoreChoice(settings.database, file: settings.file, logger: logger)
        do throws(CallRecordingError) {
            self.recorder = try settings.recording.map { path throws(CallRecordingError) in
                try CallRecorder(appendingTo: path, logger: logger)
            }
        } catch {
            throw ConfigurationError("the recording \(settings.recording ?? "") \(error.message).")
        }
        self.engine = Engine(
            store: self.store.store, verifier: verifier, router: settings.router, recorder: self.recorder,
            watch: DeviationWatch(profile: settings.profile, logger: logger), faults: settings.faults,
            metrics: self.metrics, logger: logger)
        self.retention = settings.retention
        self.logger = logger
    }

    /// Prepares a router.
    ///
    /// - Throws: `ConfigurationError` where its address is none.
    package static func router(
        _ settings: OSRMRouter.Settings, logger: Logger
    ) throws(ConfigurationError) -> OSRMRouter {
        do throws(EngineError) {
            let transport = AsyncHTTPClientTransport(connectionsPerHost: OSRMRouter.maximumRequests)
            return try OSRMRouter(settings, transport: transport, logger: logger)
        } catch {
            throw ConfigurationError(error.message)
        }
    }

    /// The gRPC interface, on a port of its own.
    package func grpc(host: String, port: Int, limits: ConnectionLimits, tls: ServerTLS?) -> EngineGRPCServer {
        EngineGRPCServer(engine: self.engine, host: host, port: port, limits: limits, tls: tls, logger: self.logger)
    }

    /// Everything that runs, in the order of starting: services end in the opposite order, and the recorder keeps what
    /// the others still answer.
    package func services(_ others: [any Service]) -> [any Service] {
        [self.recorder as (any Service)?].compactMap(\.self) + others
            + [RetentionSweep(engine: self.engine, policy: self.retention, logger: self.logger)]
    }

    /// Fails with what to mend where the store cannot be used, and tells where it can and others may be on the way.
    ///
    /// - Throws: ``EngineError``, with `UNAVAILABLE` where the store does not serve now.
    package func check() async throws(EngineError) { try await self.store.check(self.logger) }

    /// Closes the store, after everything else has ended.
    ///
    /// - Throws: An error of SQLite, when the file cannot be closed.
    package func close() async throws { try await self.store.close() }
}
