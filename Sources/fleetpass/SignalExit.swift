// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation
import UnixSignals

/// Has a command that may run others' programs end by `exit`, so that these end with it.
///
/// A credential program leads a process group of its own, which Ctrl-C at a terminal does not reach.
enum SignalExit {
    /// Runs a body; meanwhile SIGINT and SIGTERM end the process with 128 and their number, as shells tell it.
    static func during<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let watch = Task {
            for await signal in signals { Foundation.exit(128 + signal.rawValue) }
        }
        defer { watch.cancel() }
        return try await body()
    }
}
