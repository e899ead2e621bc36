// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A C struct that C owns, in one allocation with what keeps its texts alive.
struct COwned<Value> {
    // First, so that a pointer to the allocation is a pointer to the C struct.
    private let value: Value
    private let memory: CMemory

    /// Makes a struct for C, which must give it back to ``release(_:)``.
    ///
    /// - Parameter fill: Makes the struct; what it points to must come from the memory.
    /// - Returns: The struct.
    static func make(_ fill: (CMemory) -> Value) -> UnsafeMutablePointer<Value> {
        let memory = CMemory()
        let owned = UnsafeMutablePointer<Self>.allocate(capacity: 1)
        owned.initialize(to: Self(value: fill(memory), memory: memory))
        return UnsafeMutableRawPointer(owned).assumingMemoryBound(to: Value.self)
    }

    /// Frees a struct that ``make(_:)`` made, and everything it points to.
    static func release(_ pointer: UnsafeMutablePointer<Value>?) {
        guard let pointer else { return }
        let owned = UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: Self.self)
        owned.deinitialize(count: 1)
        owned.deallocate()
    }
}
