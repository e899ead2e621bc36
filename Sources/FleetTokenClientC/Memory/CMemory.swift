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

/// The arrays and texts that one C struct points to; they are overwritten and freed with it.
final class CMemory {
    private var blocks: [UnsafeMutableRawBufferPointer] = []

    deinit {
        for block in self.blocks {
            Self.overwrite(block)
            block.deallocate()
        }
    }

    /// A copy of the elements, or `nil` when there are none.
    func array<Element: BitwiseCopyable>(_ elements: some Collection<Element>) -> UnsafeMutablePointer<Element>? {
        elements.isEmpty ? nil : self.copy(elements)
    }

    /// A copy of the text, ended by a zero byte.
    func text(_ text: String) -> UnsafePointer<CChar> {
        UnsafePointer(self.copy(text.utf8CString))
    }

    private func copy<Element: BitwiseCopyable>(_ elements: some Collection<Element>) -> UnsafeMutablePointer<Element> {
        let start = UnsafeMutablePointer<Element>.allocate(capacity: elements.count)
        let block = UnsafeMutableBufferPointer(start: start, count: elements.count)
        _ = block.initialize(fromContentsOf: elements)
        self.blocks.append(UnsafeMutableRawBufferPointer(block))
        return start
    }

    // The optimiser may leave out a plain loop over memory that is freed right after it.
    private static func overwrite(_ block: UnsafeMutableRawBufferPointer) {
        guard let start = block.baseAddress else { return }
        #if canImport(Darwin)
            _ = memset_s(start, block.count, 0, block.count)
        #else
            explicit_bzero(start, block.count)
        #endif
    }
}
