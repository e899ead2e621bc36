// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import UnixSignals

/// How long a command drives; SIGINT or SIGTERM cuts it short, so that what was begun is brought to its end.
///
/// A second signal ends the process at once.
struct RunningTime: Sendable {
    private let sleep: Task<Void, any Error>
    private let interruption: Locked<UnixSignal?>

    /// Begins the time, and takes the signals from here on.
    ///
    /// - Parameter duration: How long it is unless it is cut short.
    init(_ duration: Duration) async {
        let sleep = Task { try await Task.sleep(for: duration) }
        let interruption = Locked<UnixSignal?>(nil)
        let signals = await UnixSignalsSequence(trapping: SignalExit.heeded)
        Task {
            for await signal in signals {
                guard interruption.withLock({ $0 }) == nil else { SignalExit.end(by: signal.rawValue) }
                interruption.withLock { $0 = signal }
                sleep.cancel()
            }
        }
        self.sleep = sleep
        self.interruption = interruption
    }

    /// Waits until the time is over.
    func end() async {
        _ = await self.sleep.result
    }

    /// Ends the process by the signal that cut the time short, if one did, as a script is to end with it.
    func endProcessIfInterrupted() {
        guard let signal = self.interruption.withLock({ $0 }) else { return }
        SignalExit.end(by: signal.rawValue)
    }
}
