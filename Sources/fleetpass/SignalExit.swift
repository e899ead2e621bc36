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
    /// Those of SIGINT and SIGTERM that end this process: what is ignored, as in the background of a script, stays so.
    static var heeded: [UnixSignal] {
        [.sigint, .sigterm].filter { signal in
            var action = sigaction()
            sigaction(signal.rawValue, nil, &action)
            #if canImport(Darwin)
                let handler = action.__sigaction_u.__sa_handler
            #elseif canImport(Musl)
                let handler = action.__sa_handler.sa_handler
            #else
                let handler = action.__sigaction_handler.sa_handler
            #endif
            return unsafeBitCast(handler, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self)
        }
    }

    /// Runs a body; meanwhile SIGINT and SIGTERM end those programs first, and then this process as they always do.
    static func during<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let heeded = self.heeded
        let signals = await UnixSignalsSequence(trapping: heeded)
        let watch = Task {
            for await signal in signals { CredentialPrograms.endAll { self.end(by: signal.rawValue) } }
        }
        defer {
            watch.cancel()
            for signal in heeded { self.restore(signal.rawValue) }
        }
        return try await body()
    }

    /// Ends the process by the signal itself: a shell whose child only exits goes on with its script.
    static func end(by number: Int32) -> Never {
        self.restore(number)
        kill(getpid(), number)
        // The first process of a container has no default action. What stands to be done at the end may wait for this.
        _exit(128 + number)
    }

    /// Has the signal end the process again.
    private static func restore(_ number: Int32) {
        signal(number, SIG_DFL)
        var numbers = sigset_t()
        sigemptyset(&numbers)
        sigaddset(&numbers, number)
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
    }
}
