// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import UnixSignals

/// How long a command drives; SIGINT or SIGTERM cuts it short, so that what was begun is brought to its end.
///
/// A second signal ends the process at once.
struct RunningTime: Sendable {
    private let work: Task<Void, any Error>
    private let interruption: Locked<UnixSignal?>

    /// Begins the time, and takes the signals from here on.
    ///
    /// - Parameter duration: How long it is unless it is cut short.
    init(_ duration: Duration) async {
        await self.init { try await Task.sleep(for: duration) }
    }

    /// Takes the signals from here on, and begins some work, which takes the time that it takes.
    ///
    /// - Parameter work: The work, which is cancelled to cut it short.
    init(of work: @escaping @Sendable () async throws -> Void) async {
        let interruption = Locked<UnixSignal?>(nil)
        let signals = await UnixSignalsSequence(trapping: SignalExit.heeded)
        let work = Task { try await work() }
        Task {
            for await signal in signals {
                guard interruption.withLock({ $0 }) == nil else { SignalExit.end(by: signal.rawValue) }
                interruption.withLock { $0 = signal }
                work.cancel()
            }
        }
        self.work = work
        self.interruption = interruption
    }

    /// Cuts the time short, without a signal.
    func cut() {
        self.work.cancel()
    }

    /// Waits until the time is over.
    ///
    /// - Returns: How the work ended; a `CancellationError` where it was cut short.
    @discardableResult func end() async -> Result<Void, any Error> {
        await self.work.result
    }

    /// Ends the process by the signal that cut the time short, if one did, as a script is to end with it.
    func endProcessIfInterrupted() {
        guard let signal = self.interruption.withLock({ $0 }) else { return }
        SignalExit.end(by: signal.rawValue)
    }
}
