// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetOperation
import Foundation
import Logging
import ServiceLifecycle
import UnixSignals

/// An engine for the vehicles of one company.
struct AcmeEngine {
    static func main() async throws {
        let folder = URL(filePath: "/etc/acme-engine", directoryHint: .isDirectory)
        let logger = Logger(label: "acme.engine")
        let configuration = try EngineConfiguration(
            yaml: String(contentsOf: folder.appending(path: "engine.yaml"), encoding: .utf8), folder: folder,
            environment: ProcessInfo.processInfo.environment)
        let server = try EngineServer(configuration, logger: logger) { ports in
            logger.notice("listens", metadata: ["http": "\(ports.http)", "grpc": "\(ports.grpc)"])
        }

        // SIGTERM and SIGINT end it; calls that are under way then are still answered.
        var group = ServiceGroupConfiguration(
            services: [server], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        group.maximumGracefulShutdownDuration = configuration.limits.drain + .seconds(5)
        try await ServiceGroup(configuration: group).run()
    }
}
