// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A Swift object that C knows by an opaque pointer, and owns one reference of.
protocol CHandle: AnyObject {}

extension CHandle {
    /// A pointer for C, which owns a reference until it is taken back.
    func given() -> OpaquePointer {
        OpaquePointer(Unmanaged.passRetained(self).toOpaque())
    }

    /// The object, while C keeps its reference.
    static func borrowed(_ pointer: OpaquePointer?) -> Self? {
        pointer.map { Unmanaged<Self>.fromOpaque(UnsafeRawPointer($0)).takeUnretainedValue() }
    }

    /// The object, with the reference that C had.
    static func taken(_ pointer: OpaquePointer?) -> Self? {
        pointer.map { Unmanaged<Self>.fromOpaque(UnsafeRawPointer($0)).takeRetainedValue() }
    }
}
