// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetEngine

/// A recording that a command reads.
struct RecordingArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "A Cloud Logging export of Fleet Engine, or the file of `up --record`; - reads stdin.",
            valueName: "recording"))
    var recording: String

    func read() throws -> CallRecording {
        let isStdin = self.recording == "-"
        let bytes =
            isStdin
            ? try Console.input()
            : try InputFile(path: self.recording).bytes(
                atMost: .max, advice: "name a Cloud Logging export of Fleet Engine, or the file of up --record.")
        let name = isStdin ? "stdin" : self.recording
        do throws(CallRecordingError) {
            let recording = try CallRecording(parsing: bytes)
            Self.tell(of: recording.tornLines, in: name)
            return recording
        } catch {
            let end = error.message.hasSuffix(".") ? "" : "."
            throw CommandFailure(status: .configuration, message: "\(name) \(error.message)\(end)")
        }
    }

    /// Says on stderr which lines are missing in what was read.
    private static func tell(of tornLines: [Int], in name: String) {
        guard !tornLines.isEmpty else { return }
        let (lines, are) = tornLines.count == 1 ? ("line", "is") : ("lines", "are")
        let numbers = tornLines.prefix(10).map(String.init).joined(separator: ", ")
        let more = tornLines.count > 10 ? " and more" : ""
        Console.say(
            "fleetpass: passed over \(tornLines.count) \(lines) of \(name) that \(are) not JSON: \(numbers)\(more).")
    }
}
