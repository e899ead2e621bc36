// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import Logging

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// How many files the system lets the process open; every connection is one.
enum OpenFiles {
    /// What is kept for files that are no connections of clients: the store, logs, databases, other servers.
    static let reserve = 256

    /// Raises the limit as far as the system lets the process, and lowers the connections to what it allows.
    ///
    /// - Parameters:
    ///   - limits: What clients may use up, of each port.
    ///   - ports: How many ports there are.
    ///   - logger: Hears when there are fewer connections than was asked for.
    /// - Returns: The limits, with as many connections as there may be.
    static func fitting(_ limits: ConnectionLimits, ports: Int, logger: Logger) -> ConnectionLimits {
        let allowed = max(1, (self.raise() - self.reserve) / ports)
        guard allowed < limits.connections else { return limits }
        logger.warning(
            "the system lets the process open few files, so it takes fewer connections than limits.connections",
            metadata: ["connections": "\(allowed)", "wanted": "\(limits.connections)"])
        var limits = limits
        limits.connections = allowed
        return limits
    }

    /// Raises the soft limit to the hard one, and gives the limit in force.
    private static func raise() -> Int {
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        if setrlimit(resource, &raised) == 0 { limit = raised }
        return Int(clamping: limit.rlim_cur)
    }
}
