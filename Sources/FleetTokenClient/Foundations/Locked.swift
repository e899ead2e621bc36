// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(os)
    import os
#else
    import Synchronization
#endif

/// A value that is read and changed under a lock.
///
/// `Synchronization.Mutex` would do, but needs iOS 18.
package final class Locked<State: Sendable>: Sendable {
    #if canImport(os)
        private let lock: OSAllocatedUnfairLock<State>

        /// Puts a value under a lock.
        package init(_ state: State) {
            self.lock = OSAllocatedUnfairLock(initialState: state)
        }

        /// Runs the body while nobody else sees the value; it must be short and must not call out.
        package func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
            self.lock.withLockUnchecked(body)
        }
    #else
        private let lock: Mutex<State>

        /// Puts a value under a lock.
        package init(_ state: State) {
            self.lock = Mutex(state)
        }

        /// Runs the body while nobody else sees the value; it must be short and must not call out.
        package func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
            self.lock.withLock { state in body(&state) }
        }
    #endif
}
