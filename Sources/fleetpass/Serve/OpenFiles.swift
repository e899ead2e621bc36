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
    /// Raises the limit as far as the system lets the process, and lowers the connections to what it allows.
    ///
    /// - Parameters:
    ///   - limits: What clients may use up, of each port.
    ///   - ports: How many ports there are.
    ///   - logger: Hears when there are fewer connections than was asked for.
    /// - Returns: The limits, with as many connections as there may be.
    static func fitting(_ limits: ConnectionLimits, ports: Int, logger: Logger) -> ConnectionLimits {
        let allowed = self.connections(ofFiles: self.raise(), ports: ports)
        guard allowed < limits.connections else { return limits }
        logger.warning(
            "the system lets the process open few files, so it takes fewer connections than limits.connections",
            metadata: ["connections": "\(allowed)", "wanted": "\(limits.connections)"])
        var limits = limits
        limits.connections = allowed
        return limits
    }

    /// How many connections each port may have.
    ///
    /// - Parameters:
    ///   - files: How many files the process may open.
    ///   - ports: How many ports there are.
    /// - Returns: What is left, at least 1, when 256 files are kept for what is no connection of a client, or half of all
    ///   where there are few: the store, logs, databases, other servers.
    static func connections(ofFiles files: Int, ports: Int) -> Int { max(1, (files - min(256, files / 2)) / ports) }

    /// Raises the soft limit to the hard one, as far as the system takes it, and gives the limit in force.
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
        #if canImport(Darwin)
            // More is refused, though the hard limit be none.
            raised.rlim_cur = min(raised.rlim_cur, rlim_t(OPEN_MAX))
        #endif
        if raised.rlim_cur > limit.rlim_cur, setrlimit(resource, &raised) == 0 { limit = raised }
        return Int(clamping: limit.rlim_cur)
    }
}
