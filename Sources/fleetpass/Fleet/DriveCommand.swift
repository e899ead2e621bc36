// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetDriver
import FleetOperation
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

            Example:  fleetpass drive --delivery-vehicle van-1 --route Examples/routes/delivery-day.gpx --report-stops \
            --create-with data/service-accounts/delivery_server.json

            Asks the token server for the vehicle's token and sends it with each location update. Prints one line for \
            each report; ends with 1 when the last report failed, or with 69 when it reached no server. Once it drives, \
            SIGINT and SIGTERM end the drive where it is, with its last report and the vehicle offline, as does an \
            output that cannot be written; a second signal waits for nothing.
            """
    )

    @Option(help: "The vehicle's id.", transform: checkedID)
    var vehicle: VehicleID?

    @Option(help: "The delivery vehicle's id, in place of --vehicle.", transform: checkedID)
    var deliveryVehicle: DeliveryVehicleID?

    @Flag(
        help: """
            Act as a delivery driver on a trusted device: report each stop when the drive comes by, and its tasks as done.
            """)
    var reportStops = false

    @Option(
        help: ArgumentHelp(
            "A GPX 1.1 file, or a recording in JSON; of several vehicles in it, the one with the same id counts.",
            valueName: "file"),
        completion: .file())
    var route: String

    @Option(help: "How many times faster than recorded, 0.001 or more.")
    var speed: Double = 1

    @Option(help: "Seconds between reports, 5 to 60.")
    var interval: Int = 10

    @Option(
        help: ArgumentHelp(
            "Create the vehicle first, with this service account's key file of the role server, or delivery_server.",
            valueName: "file"),
        completion: .file())
    var createWith: String?

    @OptionGroup var addresses: FleetAddressOptions

    func validate() throws {
        try OptionRules.need(
            (self.vehicle == nil) != (self.deliveryVehicle == nil), "Give either --vehicle or --delivery-vehicle.")
        try OptionRules.need(
            !self.reportStops || self.deliveryVehicle != nil, "--report-stops is for a --delivery-vehicle.")
        try OptionRules.check(path: self.route, of: "--route", "name the file with the drive")
        guard (5...60).contains(self.interval) else { throw ValidationError("--interval must be 5 to 60.") }
    }

    func run() async throws {
        let source: RouteLocationSource
        do throws(DriverError) {
            source = try RouteLocationSource(route: self.readRoute(), speed: self.speed)
        } catch {
            let isUsage = error.code == .invalidSpeed
            throw CommandFailure(status: isUsage ? .usage : .configuration, message: error.message)
        }
        if let vehicle = self.vehicle {
            try await self.create { try await $0.createVehicle(vehicle) }
            try await self.drive(vehicle, along: source)
        } else if let vehicle = self.deliveryVehicle {
            try await self.create { try await $0.createDeliveryVehicle(vehicle) }
            try await self.drive(vehicle, along: source)
        }
    }

    /// The drive of the file; in a recording of several vehicles, that of the vehicle with the given id.
    private func readRoute() throws(DriverError) -> Route {
        let id = self.vehicle?.value ?? self.deliveryVehicle?.value
        do throws(DriverError) {
            return try Route.read(contentsOf: URL(filePath: self.route), ifSeveral: id)
        } catch {
            if error.code == .unreadableFile, let reason = PathProblem.reading(self.route) {
                throw DriverError(
                    code: error.code, message: "\(self.route) cannot be read: \(reason).", cause: error.cause)
            }
            guard error.code == .unknownVehicle else { throw error }
            throw DriverError(
                code: error.code,
                message: error.message
                    + " Drive as that one, or make a file of its calls with fleetpass export \(self.route) --about ID, and "
                    + "drive along that.",
                cause: error.cause)
        }
    }

    private func drive(_ vehicle: VehicleID, along source: RouteLocationSource) async throws {
        let reporter = try FleetAddressOptions.checkingURLs {
            try VehicleReporter(
                provider: self.addresses.effectiveProvider,
                vehicle: vehicle,
                engine: self.addresses.engineURL,
                tokens: self.addresses.tokens(),
                transport: ClientTransport(),
                configuration: .init(reportingInterval: .seconds(self.interval))
            )
        }
        try await self.drive(printing: reporter.updates()) {
            DriveReport($0)
        } along: {
            await reporter.startTracking()
            try await reporter.setState(.online)
            try await reporter.run(reporting: source, endsTracking: true)
        } ending: {
            await reporter.stopTracking()
        }
    }

    private func drive(_ vehicle: DeliveryVehicleID, along source: RouteLocationSource) async throws {
        let reporter = try FleetAddressOptions.checkingURLs {
            try DeliveryVehicleReporter(
                provider: self.addresses.effectiveProvider,
                vehicle: vehicle,
                engine: self.addresses.engineURL,
                tokens: self.addresses.tokens(),
                transport: ClientTransport(),
                configuration: .init(reportingInterval: .seconds(self.interval))
            )
        }
        let reportsStops = self.reportStops
        try await self.drive(printing: reporter.updates()) {
            DriveReport($0)
        } along: {
            await reporter.startTracking()
            if reportsStops {
                try await DeliveryRound(reporter: reporter).drive(along: source)
            } else {
                try await reporter.run(reporting: source)
            }
        } ending: {
            await reporter.stopTracking()
        }
    }

    /// Drives to the end of the way, or until a signal or an output that cannot be written cuts it short.
    ///
    /// - Parameters:
    ///   - updates: What becomes of each report.
    ///   - report: Makes the report to print.
    ///   - drive: Drives along the way.
    ///   - end: Ends tracking, unless the drive did.
    /// - Throws: ``CommandFailure`` for a last report that failed, and what the drive throws.
    private func drive<Update: Sendable>(
        printing updates: AsyncStream<Update>, _ report: @escaping @Sendable (Update) -> DriveReport,
        along drive: @escaping @Sendable () async throws -> Void, ending end: () async -> Void
    ) async throws {
        // The vehicle is to go offline also where nobody reads what is printed.
        signal(SIGPIPE, SIG_IGN)
        let time = await RunningTime(of: drive)
        let outcome = Task { await DriveReport.print(updates, report) { time.cut() } }
        let ending = await time.end()
        await end()
        outcome.cancel()
        let failure = await outcome.value
        time.endProcessIfInterrupted()
        if let failure { throw failure }
        try ending.get()
    }

    private func create(_ vehicle: (FleetBackend) async throws -> Void) async throws {
        guard let keyFile = self.createWith else { return }
        let type: TokenType = self.vehicle == nil ? .deliveryServer : .server
        let backend = try FleetBackend(
            keyFile: keyFile, type: type, provider: self.addresses.effectiveProvider, engine: self.addresses.engineURL,
            transport: ClientTransport())
        do {
            try await vehicle(backend)
        } catch let error as EngineFailure {
            throw CommandFailure(status: .failed, message: "the vehicle was not created: \(error)".shown())
        } catch let error as TokenClientError {
            throw CommandFailure(status: .unreachable, message: "the engine is not reached: \(error.message)")
        }
    }
}
