// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(os)
    import os

    /// A value that is read and changed under a lock.
    ///
    /// `Synchronization.Mutex` would do, but needs iOS 18.
    package final class Locked<State: Sendable>: Sendable {
        private let lock: OSAllocatedUnfairLock<State>

        /// Puts a value under a lock.
        package init(_ state: State) {
            self.lock = OSAllocatedUnfairLock(initialState: state)
        }

        /// Runs the body while nobody else sees the value; it must be short and must not call out.
        package func withLock<Answer: Sendable, Failure: Error>(
            _ body: (inout State) throws(Failure) -> Answer
        ) throws(Failure) -> Answer {
            try self.lock.withLockUnchecked { state in
                Result { () throws(Failure) in try body(&state) }
            }.get()
        }
    }
#else
    #if canImport(Glibc)
        public import Glibc
    #elseif canImport(Musl)
        public import Musl
    #endif

    /// A value that is read and changed under a lock.
    ///
    /// `Synchronization.Mutex` would do, but the thread sanitizer does not see its slow path on Linux and reports races
    /// where there are none; a POSIX mutex keeps that gate meaningful, for servers too.
    ///
    /// Usable from inline, and its imports public, as only then do other modules of the package inline its methods.
    @usableFromInline package final class Locked<State: Sendable>: @unchecked Sendable {
        // Unchecked because the compiler cannot know that `state` is touched only while `mutex` is held.
        @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
        @usableFromInline let state: UnsafeMutablePointer<State>

        /// Puts a value under a lock.
        @inlinable package init(_ state: State) {
            self.mutex = .allocate(capacity: 1)
            self.mutex.initialize(to: pthread_mutex_t())
            pthread_mutex_init(self.mutex, nil)
            self.state = .allocate(capacity: 1)
            self.state.initialize(to: state)
        }

        deinit {
            self.state.deinitialize(count: 1)
            self.state.deallocate()
            pthread_mutex_destroy(self.mutex)
            self.mutex.deallocate()
        }

        /// Runs the body while nobody else sees the value; it must be short and must not call out.
        @inlinable package func withLock<Answer: Sendable, Failure: Error>(
            _ body: (inout State) throws(Failure) -> Answer
        ) throws(Failure) -> Answer {
            pthread_mutex_lock(self.mutex)
            defer { pthread_mutex_unlock(self.mutex) }
            return try body(&self.state.pointee)
        }
    }
#endif
