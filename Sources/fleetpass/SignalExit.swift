// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import GoogleCredentials
import UnixSignals

/// Has the credential programs of a command end with it when a signal ends it.
///
/// They lead process groups of their own, which Ctrl-C at a terminal does not reach.
enum SignalExit {
    /// Runs a body; meanwhile SIGINT and SIGTERM end those programs first, and then this process as they always do.
    ///
    /// A signal that is ignored, as in the background of a script, stays so.
    static func during<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let signals = await UnixSignalsSequence(
            trapping: [.sigint, .sigterm].filter { !self.isIgnored($0.rawValue) })
        let watch = Task {
            for await signal in signals { CredentialPrograms.endAll { self.end(by: signal.rawValue) } }
        }
        defer { watch.cancel() }
        return try await body()
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        let former = unsafeBitCast(signal(number, SIG_DFL), to: Int.self)
        let isIgnored = former == unsafeBitCast(SIG_IGN, to: Int.self)
        if isIgnored { signal(number, SIG_IGN) }
        return isIgnored
    }

    /// Ends the process by the signal itself: a shell whose child only exits goes on with its script.
    private static func end(by number: Int32) {
        signal(number, SIG_DFL)
        var numbers = sigset_t()
        sigemptyset(&numbers)
        sigaddset(&numbers, number)
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
        kill(getpid(), number)
    }
}
