// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetOperation
import GoogleCredentials
import Logging
import ServiceLifecycle

/// The parts of an engine that `up` and `serve engine` share: store, recording, calls, retention, gRPC, metrics.
struct EngineService {
    /// What they are made of.
    struct Settings {
        /// The store's file; not used with ``database``.
        var file: String
        /// The PostgreSQL database that holds the store instead, if any.
        var database: String?
        /// The file that every answered call is appended to, if any.
        var recording: String?
        /// Asks for the roads; `nil` estimates ways by the straight line.
        var router: OSRMRouter?
        /// How closely calls are held to the documentation.
        var profile = StrictnessProfile.real
        /// What lets things go wrong by script, if anything does.
        var faults: FaultInjector?
        /// How long what is kept.
        var retention = RetentionPolicy()
    }

    let engine: Engine
    let metrics = EngineMetrics()
    private let store: EngineStoreChoice
    private let recorder: CallRecorder?
    private let retention: RetentionPolicy
    private let logger: Logger

    /// Opens the store and puts the parts together.
    ///
    /// - Throws: ``CommandFailure`` with `configuration`, or with `unreachable` where the store does not serve now.
    init(_ settings: Settings, verifier: any TokenVerifying, logger: Logger) throws {
        do throws(EngineError) {
            self.store = try EngineStoreChoice(settings.database, file: settings.file, logger: logger)
        } catch {
            throw CommandFailure(engineStore: error)
        }
        do throws(CallRecordingError) {
            self.recorder = try settings.recording.map { path throws(CallRecordingError) in
                try CallRecorder(appendingTo: path, logger: logger)
            }
        } catch {
            throw CommandFailure(
                status: .configuration, message: "the recording \(settings.recording ?? "") \(error.message).")
        }
        self.engine = self.store.engine(
            verifier: verifier, router: settings.router, recorder: self.recorder,
            watch: DeviationWatch(profile: settings.profile, logger: logger), faults: settings.faults,
            metrics: self.metrics, logger: logger)
        self.retention = settings.retention
        self.logger = logger
    }

    /// Prepares a router.
    ///
    /// - Throws: ``CommandFailure`` with `configuration` where its address is none.
    static func router(_ settings: OSRMRouter.Settings, logger: Logger) throws -> OSRMRouter {
        do throws(EngineError) {
            return try OSRMRouter(settings, transport: AsyncHTTPClientTransport(), logger: logger)
        } catch {
            throw CommandFailure(status: .configuration, message: error.message)
        }
    }

    /// The gRPC interface, on a port of its own.
    func grpc(host: String, port: Int, limits: ConnectionLimits, tls: ServerTLS?) -> EngineGRPCServer {
        EngineGRPCServer(engine: self.engine, host: host, port: port, limits: limits, tls: tls, logger: self.logger)
    }

    /// Everything that runs, in the order of starting: services end in the opposite order, and the recorder keeps what
    /// the others still answer.
    func services(_ others: [any Service]) -> [any Service] {
        [self.recorder as (any Service)?].compactMap(\.self) + others
            + [RetentionSweep(engine: self.engine, policy: self.retention, logger: self.logger)]
    }

    /// Fails with what to mend where the store cannot be used, and tells where it can and others may be on the way.
    func check() async throws { try await self.store.check(self.logger) }

    /// Closes the store, after everything else has ended.
    func close() async throws { try await self.store.close() }
}
