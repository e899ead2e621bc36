// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetConsumer
import FleetTokenClient
import FleetTokens
import Foundation

/// `fleetpass watch`: a customer's app that follows one trip, or a recipient's that follows one shipment.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Follow a trip as a customer's app would, or a shipment as a recipient's app would.",
        discussion: """
            Example:  fleetpass watch --trip trip-7

            Example:  fleetpass watch --tracking-id parcel-3

            Prints one line for each change, and ends when the trip or shipment is over, or with 1 when it cannot be \
            watched. While nothing answers it goes on asking, as an app does; Ctrl-C ends it.
            """
    )

    @Option(help: "The trip's id.", transform: checkedID)
    var trip: TripID?

    @Option(
        name: [.customLong("tracking-id"), .customLong("tracking")],
        help: "The shipment's tracking id, in place of --trip.", transform: checkedID)
    var trackingId: TrackingID?

    @Option(help: "text for people; json for programs, one object a line.")
    var output: OutputFormat = .text

    @OptionGroup var addresses: FleetAddressOptions

    func validate() throws {
        try OptionRules.need((self.trip == nil) != (self.trackingId == nil), "Give either --trip or --tracking-id.")
    }

    func run() async throws {
        if let trip = self.trip {
            let model = try FleetAddressOptions.checkingURLs {
                try TripModel(
                    provider: self.addresses.effectiveProvider, trip: trip, engine: self.addresses.engineURL,
                    tokens: self.addresses.tokens(), transport: ClientTransport())
            }
            try await self.watch(await model.changes(), while: { try await model.run() }) { ChangeLine($0) }
        } else if let tracking = self.trackingId {
            let model = try FleetAddressOptions.checkingURLs {
                try ShipmentModel(
                    provider: self.addresses.effectiveProvider, tracking: tracking, engine: self.addresses.engineURL,
                    tokens: self.addresses.tokens(), transport: ClientTransport())
            }
            try await self.watch(await model.changes(), while: { try await model.run() }) { ChangeLine($0) }
        }
    }

    /// Whether asking again is of no use.
    ///
    /// A token that the engine refuses is replaced by another; where the token server refuses its caller, there is none.
    private static func isFinal(_ failure: EngineFailure) -> Bool {
        switch failure.code {
        case .permissionDenied, .notFound, .invalidArgument: true
        case .unauthenticated: (failure.cause as? TokenClientError)?.code == .refused
        default: false
        }
    }

    private func watch<Change: Sendable>(
        _ changes: AsyncStream<Change>, while run: @escaping @Sendable () async throws -> Void,
        _ line: (Change) -> ChangeLine
    ) async throws {
        let polling = Task { try await run() }
        defer { polling.cancel() }
        for await change in changes {
            let line = line(change)
            switch self.output {
            case .text: Console.give(line.text)
            case .json: try Console.give(jsonLine: line)
            }
            if let failure = line.failure, Self.isFinal(failure) {
                let what = self.trip == nil ? "shipment" : "trip"
                throw CommandFailure(status: .failed, message: "the \(what) cannot be watched: \(failure.told)".shown())
            }
        }
    }
}
