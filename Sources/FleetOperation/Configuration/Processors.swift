// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore

/// The processors that this process may run on.
///
/// More event loops than processors only take turns. A program that serves as `fleetpass serve` does says so before it
/// uses SwiftNIO: `NIOSingletons.groupLoopCountSuggestion = Processors.count`.
public enum Processors {
    /// How many there are, by the limits of its control group and its affinity, as `taskset` sets it.
    public static var count: Int {
        let status = try? String(contentsOf: URL(filePath: "/proc/self/status"), encoding: .utf8)
        return min(System.coreCount, status.flatMap(Self.allowed(inStatus:)) ?? System.coreCount)
    }

    /// Counts the bits of `Cpus_allowed`, a mask in hexadecimal with commas (proc(5)); `nil` where there is none.
    package static func allowed(inStatus status: String) -> Int? {
        let line = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") }
        let count = line?.split(separator: ":").last?.compactMap(\.hexDigitValue).map(\.nonzeroBitCount).reduce(0, +)
        return count.flatMap { $0 > 0 ? $0 : nil }
    }
}
