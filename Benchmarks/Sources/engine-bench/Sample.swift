// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How long calls took, and what they cost.
struct Sample: Sendable {
    let rate: Double
    /// Milliseconds.
    let p50: Double
    let p99: Double
    /// Processor time of servers and clients for one call, in microseconds.
    let cost: Double
    /// Processor time of the database for one call, in microseconds.
    let databaseCost: Double?

    /// Summarises calls.
    ///
    /// - Parameters:
    ///   - nanoseconds: How long each took.
    ///   - seconds: How long all of them took.
    ///   - processorSeconds: What the process used meanwhile.
    ///   - databaseSeconds: What the database used meanwhile, where that is known.
    init(nanoseconds: [Double], seconds: Double, processorSeconds: Double, databaseSeconds: Double? = nil) {
        let sorted = nanoseconds.sorted()
        func quantile(_ share: Double) -> Double {
            sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))] / 1e6
        }
        self.rate = Double(sorted.count) / seconds
        self.p50 = quantile(0.5)
        self.p99 = quantile(0.99)
        let calls = Double(max(1, sorted.count))
        self.cost = processorSeconds * 1e6 / calls
        self.databaseCost = databaseSeconds.map { $0 * 1e6 / calls }
    }

    /// The sample whose rate is in the middle.
    static func median(_ samples: [Sample]) -> Sample? {
        samples.isEmpty ? nil : samples.sorted { $0.rate < $1.rate }[samples.count / 2]
    }
}

/// What this process used so far.
enum ProcessUse {
    /// Processor time, user and system.
    static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// Resident memory that belongs to no file, in bytes; 0 where the system does not tell.
    static var anonymousBytes: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) * 1024
    }
}

/// A PostgreSQL server on this machine, by its first process.
struct DatabaseProcess: Sendable {
    let id: Int

    /// Processor time of the server so far, in seconds; that of connections which ended included.
    var processorSeconds: Double {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let ticks = names.compactMap { Int($0) }.reduce(0) { sum, process in
            // The fields after the name, which may hold spaces: 1 is the parent, 11 to 14 are times.
            let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
            let fields = text.split(separator: ")").last?.split(separator: " ").map { Int($0) ?? 0 } ?? []
            guard fields.count > 14, process == self.id || fields[1] == self.id else { return sum }
            return sum + fields[11] + fields[12] + (process == self.id ? fields[13] + fields[14] : 0)
        }
        return Double(ticks) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
