// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetDriver
import FleetSigning
import FleetTokenClient
import FleetTokens
import Foundation

/// `fleetpass drive`: a driver's app that replays a drive.
struct DriveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drive",
        abstract: "Replay a recorded drive as a driver's app would report it.",
        discussion: """
            Example:  fleetpass drive --vehicle veh-3 --route Examples/routes/bay-area-trip-1.gpx --speed 4 \
            --create-with data/service-accounts/server.json

            Asks the token server for the vehicle's token and sends it with each location update. Prints one line for \
            each report; ends with 1 when the last report failed.
            """
    )

    @Option(help: "The vehicle's id.", transform: checkedID)
    var vehicle: VehicleID

    @Option(help: ArgumentHelp("A GPX 1.1 file, or a recording in JSON.", valueName: "file"))
    var route: String

    @Option(help: "How many times faster than recorded.")
    var speed: Double = 1

    @Option(help: "Seconds between reports, 5 to 60.")
    var interval: Int = 10

    @Option(
        help: ArgumentHelp(
            "Create the vehicle first, with this service account's key file of the role server.", valueName: "file"))
    var createWith: String?

    @OptionGroup var addresses: FleetAddressOptions

    func run() async throws {
        let source: RouteLocationSource
        do throws(DriverError) {
            let route = try Route.read(contentsOf: URL(filePath: self.route))
            source = try RouteLocationSource(route: route, speed: self.speed)
        } catch {
            let isUsage = error.code == .invalidSpeed
            throw CommandFailure(status: isUsage ? .usage : .configuration, message: error.message)
        }
        if let file = self.createWith { try await self.createVehicle(keyFile: file) }
        let reporter = try self.reporter()
        let outcome = Task { await Self.printUpdates(of: reporter) }
        await reporter.startTracking()
        try await reporter.setState(.online)
        try await reporter.run(reporting: source)
        await reporter.stopTracking()
        outcome.cancel()
        if let failure = await outcome.value { throw failure }
    }

    private func reporter() throws -> VehicleReporter {
        do {
            return try VehicleReporter(
                provider: self.addresses.effectiveProvider,
                vehicle: self.vehicle,
                engine: self.addresses.engineURL,
                tokens: self.addresses.tokens(),
                configuration: .init(reportingInterval: .seconds(self.interval))
            )
        } catch let error as TokenClientError {
            throw CommandFailure(status: .usage, message: error.message)
        }
    }

    /// Prints each report, and tells how the last one failed.
    private static func printUpdates(of reporter: VehicleReporter) async -> CommandFailure? {
        var last: EngineFailure?
        for await update in reporter.updates {
            last = update.failure
            let place = update.location.map { String(format: "%.6f,%.6f", $0.latitude, $0.longitude) } ?? "no location"
            if let failure = update.failure {
                Console.give("failed    \(update.state) \(place) \(failure)")
            } else {
                Console.give("reported  \(update.state) \(place) +\(update.pastLocationCount) past")
            }
        }
        return last.map { failure in
            CommandFailure(
                status: failure.code == .unavailable ? .unreachable : .failed,
                message: "the last report failed: \(failure)"
            )
        }
    }

    private func createVehicle(keyFile: String) async throws {
        guard let bytes = try? Data(contentsOf: URL(filePath: keyFile)) else {
            throw CommandFailure(status: .configuration, message: "the key file \(keyFile) cannot be read.")
        }
        do {
            let minter = TokenMinter(signer: try LocalSigner(ServiceAccountKey(json: bytes)))
            let backend = FleetBackend(
                provider: try self.addresses.effectiveProvider,
                engine: try EngineEndpoint(self.addresses.engineURL),
                token: { try await minter.mint(TokenType.server.claims, at: Date()).token },
                transport: URLSessionTransport()
            )
            try await backend.createVehicle(self.vehicle)
        } catch let error as SigningError {
            throw CommandFailure(status: .configuration, message: "\(keyFile): \(error.message)")
        } catch let error as EngineFailure {
            throw CommandFailure(status: .failed, message: "the vehicle was not created: \(error)")
        } catch let error as TokenClientError {
            throw CommandFailure(status: .unreachable, message: "the engine is not reached: \(error.message)")
        }
    }
}
