// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Logging
import ServiceLifecycle
import UnixSignals

extension ServiceGroup {
    /// The parts of a server, which SIGTERM and SIGINT end.
    ///
    /// - Parameters:
    ///   - services: The parts; those that were started last end first.
    ///   - drain: How long connections may take to end.
    ///   - logger: Hears of what goes wrong.
    init(serving services: [any Service], drain: Duration, logger: Logger) {
        // At the level of debugging a group describes each service with all that it holds, addresses with passwords too.
        var logger = logger
        logger.logLevel = max(logger.logLevel, .info)
        var configuration = ServiceGroupConfiguration(
            services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // What is left then did not end in time, and is ended.
        configuration.maximumGracefulShutdownDuration = drain + .seconds(5)
        self.init(configuration: configuration)
    }
}
