// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The thread that runs, to be compared.
struct ThreadID: Hashable, Sendable {
    private let number: UInt

    static var current: Self {
        #if canImport(Darwin)
            Self(number: UInt(bitPattern: pthread_self()))
        #else
            Self(number: UInt(pthread_self()))
        #endif
    }
}
