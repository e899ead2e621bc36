// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#endif

/// A library of this machine in C, found when the program runs; on Linux alone.
///
/// Once loaded it stays in the process, and its symbols meet no others.
struct DynamicLibrary {
    #if canImport(Glibc)
        private let handle: UnsafeMutableRawPointer
    #endif

    /// Loads a library; `nil` where there is none.
    ///
    /// - Parameters:
    ///   - name: The file's name, which is looked for where the system keeps its libraries.
    ///   - isLoaded: Whether only one that is in the process already is taken.
    init?(named name: String, ifLoaded isLoaded: Bool = false) {
        #if canImport(Glibc)
            guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | (isLoaded ? RTLD_NOLOAD : 0)) else { return nil }
            self.handle = handle
        #else
            return nil
        #endif
    }

    /// Finds a function, whose type in C is the caller's to know.
    func find<Function>(_ name: String, as type: Function.Type = Function.self) -> Function? {
        #if canImport(Glibc)
            dlsym(self.handle, name).map { unsafeBitCast($0, to: type) }
        #else
            nil
        #endif
    }
}
