// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetEngine
import FleetTokens

/// A recording that a command reads.
struct RecordingArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "A Cloud Logging export of Fleet Engine, or the file of `up --record`; - reads stdin.",
            valueName: "recording"),
        completion: .file())
    var recording: String

    /// What it is called in messages.
    var name: String { self.recording == "-" ? "stdin" : self.recording }

    func read() throws -> CallRecording {
        let bytes =
            self.recording == "-"
            ? try Console.input()
            : try InputFile(path: self.recording).bytes(
                atMost: .max, advice: "name a Cloud Logging export of Fleet Engine, or the file of up --record.")
        let name = self.name
        do throws(CallRecordingError) {
            let recording = try CallRecording(parsing: bytes)
            Self.tell(of: recording, in: name)
            return recording
        } catch {
            let end = error.message.hasSuffix(".") ? "" : "."
            throw CommandFailure(status: .configuration, message: "\(name) \(error.message.shown())\(end)")
        }
    }

    /// Says on stderr what was passed over.
    private static func tell(of recording: CallRecording, in name: String) {
        Self.tell(of: recording.tornLines.map(String.init), ("line", "lines"), of: name, "not JSON")
        let others = recording.otherEntries.map { entry in
            entry.type.isEmpty ? "\(entry.number)" : "\(entry.number) (\(entry.type.shown(upTo: 128)))"
        }
        Self.tell(of: others, ("entry", "entries"), of: name, "no known call of Fleet Engine")
        let repeated = recording.repeatedEntries.map(String.init)
        Self.tell(of: repeated, ("entry", "entries"), of: name, "there already")
    }

    private static func tell(of all: [String], _ noun: (one: String, many: String), of name: String, _ what: String) {
        guard !all.isEmpty else { return }
        let (noun, verb) = all.count == 1 ? (noun.one, "is") : (noun.many, "are")
        let some = all.prefix(10).joined(separator: ", ") + (all.count > 10 ? " and more" : "")
        Console.say("fleetpass: passed over \(all.count) \(noun) of \(name) that \(verb) \(what): \(some).")
    }
}
