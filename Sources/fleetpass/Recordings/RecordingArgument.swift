// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetEngine
import Foundation

/// A recording that a command reads.
struct RecordingArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "A Cloud Logging export of Fleet Engine, or the file of `up --record`; - reads stdin.",
            valueName: "recording"))
    var recording: String

    func read() throws -> CallRecording {
        let isStdin = self.recording == "-"
        let bytes = isStdin ? try Console.input() : try? Data(contentsOf: URL(filePath: self.recording))
        guard let bytes else {
            throw CommandFailure(status: .configuration, message: "the recording \(self.recording) cannot be read.")
        }
        do throws(CallRecordingError) {
            return try CallRecording(parsing: bytes)
        } catch {
            let name = isStdin ? "stdin" : self.recording
            let end = error.message.hasSuffix(".") ? "" : "."
            throw CommandFailure(status: .configuration, message: "\(name) \(error.message)\(end)")
        }
    }
}
