// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetEngine

/// `fleetpass export`: a recording as viewers of Cloud Logging exports load it.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Turn what `up --record` wrote into a file for viewers of Cloud Logging exports.",
        discussion: """
            Example:  fleetpass export traffic.jsonl --about veh-3 > veh-3.json

            Google's open Fleet Debugger loads the result.
            """
    )

    @OptionGroup var source: ProviderRecording

    @Option(help: ArgumentHelp("Only the calls about this vehicle, trip or task.", valueName: "id"))
    var about: String?

    func run() async throws {
        var recording = try self.source.read()
        if let about {
            recording = recording.about(about)
            guard !recording.calls.isEmpty else {
                throw CommandFailure(status: .failed, message: "the recording holds no call about \(about).")
            }
        }
        Console.give(recording.exported)
        Console.say("fleetpass: exported \(recording.calls.count) calls.")
    }
}
