// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetConsumer
import FleetTokenClient
import FleetTokens
import Foundation

/// `fleetpass watch`: a customer's app that follows one trip.
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Follow a trip as a customer's app would.",
        discussion: "Example:  fleetpass watch --trip trip-7"
    )

    @Option(help: "The trip's id.", transform: checkedID)
    var trip: TripID

    @Option(help: "text for people; json for programs, one object a line.")
    var output: OutputFormat = .text

    @OptionGroup var addresses: FleetAddressOptions

    func run() async throws {
        let model: TripModel
        do {
            model = try TripModel(
                provider: self.addresses.effectiveProvider,
                trip: self.trip,
                engine: self.addresses.engineURL,
                tokens: self.addresses.tokens()
            )
        } catch let error as TokenClientError {
            throw CommandFailure(status: .usage, message: error.message)
        }
        let polling = Task { try await model.run() }
        defer { polling.cancel() }
        for await change in model.changes {
            let line = ChangeLine(change)
            switch self.output {
            case .text: Console.give(line.text)
            case .json: try Console.give(jsonLine: line)
            }
            if case .failure(let failure) = change,
                [.permissionDenied, .notFound, .invalidArgument].contains(failure.code)
            {
                throw CommandFailure(status: .failed, message: "the trip cannot be watched: \(failure)")
            }
        }
    }
}

/// One change of a trip as `watch` prints it.
struct ChangeLine: Encodable {
    let change: String
    var value: String?
    var latitude: Double?
    var longitude: Double?
    var stops: Int?

    init(_ change: TripChange) {
        switch change {
        case .vehicle(let vehicle):
            self.change = "vehicle"
            self.value = vehicle?.value
        case .status(let status):
            self.change = "status"
            self.value = status.rawValue
        case .vehiclePosition(let position):
            self.change = "position"
            self.latitude = position?.point.latitude
            self.longitude = position?.point.longitude
        case .etaToNextWaypoint(let eta):
            self.change = "eta"
            self.value = eta.map(RFC3339.text)
        case .remainingWaypoints(let stops):
            self.change = "stops"
            self.stops = stops.count
        case .route(let points, _):
            self.change = "route"
            self.stops = points.count
        case .ended(let status):
            self.change = "ended"
            self.value = status.rawValue
        case .failure(let failure):
            self.change = "failure"
            self.value = "\(failure)"
        }
    }

    var text: String {
        let place = self.latitude.flatMap { latitude in
            self.longitude.map { String(format: "%.6f,%.6f", latitude, $0) }
        }
        let words = [self.value, place, self.stops.map(String.init)].compactMap(\.self)
        return self.change.padding(toLength: 10, withPad: " ", startingAt: 0)
            + (words.isEmpty ? "none" : words.joined(separator: " "))
    }
}
