// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import Foundation

#if canImport(Glibc)
    import Glibc
#endif

/// Finds out whether OpenSSL signs faster without the processor's ADX instructions, and lets it.
///
/// OpenSSL takes them where they are, in place of vectors (AVX2), which on some processors are faster. It is told so by a
/// variable that it reads when it is loaded, which is before this program begins: so the program measures, begins anew
/// with the variable, measures again, and begins without it once more where that was no better.
enum SigningTrial {
    /// What the variable is called, and what leaves ADX out (see OPENSSL_ia32cap(3)).
    static let capabilities = "OPENSSL_ia32cap"
    static let withoutADX = ":~0x80000"
    /// What was measured before the program began anew, in nanoseconds; anything else ends the trial.
    static let before = "FLEETPASS_SIGNING_TRIAL"
    private static let isOver = "over"

    /// Makes the trial, before anything else begins.
    ///
    /// Neither variable is left to the programs that this one starts. Who sets OpenSSL's is heeded, and nothing is tried.
    ///
    /// - Returns: How much less time OpenSSL takes than it would, in percent; `nil` where it takes what it takes.
    static func run() -> Int? {
        #if canImport(Glibc) && arch(x86_64)
            let environment = ProcessInfo.processInfo.environment
            guard let trial = environment[self.before] else {
                guard environment[self.capabilities] == nil, self.isWorthATrial,
                    let time = OpenSSLSpeed.timeOfPower()
                else { return nil }
                self.beginAnew([self.before: "\(Self.nanoseconds(time))", self.capabilities: self.withoutADX])
                return nil
            }
            unsetenv(self.before)
            guard let before = Int64(trial), before > 0 else { return nil }
            let time = OpenSSLSpeed.timeOfPower().map(self.nanoseconds)
            unsetenv(self.capabilities)
            guard let time, time < before / 20 * 19 else {
                self.beginAnew([self.before: self.isOver])
                return nil
            }
            return Int(100 - 100 * time / before)
        #else
            return nil
        #endif
    }

    #if canImport(Glibc) && arch(x86_64)
        /// Whether the processor has ADX and AVX2, and not the vectors that OpenSSL prefers to both.
        private static var isWorthATrial: Bool {
            guard let text = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8),
                let line = text.split(separator: "\n").first(where: { $0.hasPrefix("flags") })
            else { return false }
            let flags = Set(line.split(separator: " "))
            return flags.isSuperset(of: ["adx", "avx2"]) && !flags.contains("avx512ifma")
        }

        private static func nanoseconds(_ time: Duration) -> Int64 { Int64(time / .nanoseconds(1)) }

        /// Begins the program anew as the same process, with variables; comes back where that cannot be.
        private static func beginAnew(_ variables: [String: String]) {
            // By its own path, as the process is called after that.
            guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
                return
            }
            for (name, value) in variables { setenv(name, value, 1) }
            execv(program, CommandLine.unsafeArgv)
            for name in variables.keys { unsetenv(name) }
        }
    #endif
}
