// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetEngine
import FleetTokens

/// A recording of one provider's calls that a command reads.
struct ProviderRecording: ParsableArguments {
    @OptionGroup var source: RecordingArgument

    @Option(
        help: ArgumentHelp(
            "Only the calls on this provider's resources, of a recording that holds those of several.", valueName: "id"
        ))
    var recordedProvider: String?

    func read() throws -> CallRecording {
        let recording = try self.source.read()
        let providers = recording.providers
        let list = providers.prefix(20).joined(separator: ", ") + (providers.count > 20 ? " and more" : "")
        guard let recordedProvider else {
            guard providers.count > 1 else { return recording }
            throw CommandFailure(
                status: .configuration,
                message: "\(self.source.name) holds calls of several providers; name with --recorded-provider one of "
                    + "\(list.shown()).")
        }
        let chosen = recording.of(provider: recordedProvider)
        guard !chosen.calls.isEmpty else {
            throw CommandFailure(
                status: .configuration,
                message: "\(self.source.name) holds no call of provider \(recordedProvider.shown(upTo: 64)); it has "
                    + "those of \(list.isEmpty ? "none" : list.shown()).")
        }
        return chosen
    }
}
