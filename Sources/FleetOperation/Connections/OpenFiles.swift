// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

package import Logging

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// How many files the system lets the process open; every connection is one.
package enum OpenFiles {
    /// Lowers the connections to what the process may open files for.
    ///
    /// - Parameters:
    ///   - limits: What clients may use up, of each port.
    ///   - ports: How many ports there are.
    ///   - logger: Hears when there are fewer connections than was asked for.
    /// - Returns: The limits, with as many connections as there may be.
    package static func fitting(_ limits: ConnectionLimits, ports: Int, logger: Logger) -> ConnectionLimits {
        let allowed = self.connections(ofFiles: Int(clamping: self.limit?.rlim_cur ?? 1024), ports: ports)
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
    package static func connections(ofFiles files: Int, ports: Int) -> Int {
        max(1, (files - min(256, files / 2)) / ports)
    }

    /// Raises the process's limit as far as the system lets it.
    package static func raise() {
        guard let limit = self.limit else { return }
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        #if canImport(Darwin)
            // More is refused, though the hard limit be none.
            raised.rlim_cur = min(raised.rlim_cur, rlim_t(OPEN_MAX))
        #endif
        if raised.rlim_cur > limit.rlim_cur { setrlimit(self.resource, &raised) }
    }

    #if canImport(Glibc)
        private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
    #else
        private static var resource: Int32 { RLIMIT_NOFILE }
    #endif

    /// The limit in force; `nil` where the system does not tell.
    private static var limit: rlimit? {
        var limit = rlimit()
        return getrlimit(self.resource, &limit) == 0 ? limit : nil
    }
}
