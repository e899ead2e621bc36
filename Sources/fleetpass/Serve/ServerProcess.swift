// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a server does first: keeps what it holds from everybody else on the machine, and does without a reader.
enum ServerProcess {
    /// From here on, files belong to this user alone from their first moment, and a crash leaves no image of the memory,
    /// where the private keys are.
    ///
    /// A reader of its output or log that goes away does not end it: writing fails, which is no reason to stop serving.
    /// Neither does SIGHUP, by which others are told to read their files again; in a terminal that is closed it does.
    static func begin() {
        umask(0o077)
        signal(SIGPIPE, SIG_IGN)
        if isatty(STDIN_FILENO) == 0 { signal(SIGHUP, SIG_IGN) }
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        #if canImport(Glibc)
            setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        #else
            setrlimit(RLIMIT_CORE, &none)
        #endif
    }
}
