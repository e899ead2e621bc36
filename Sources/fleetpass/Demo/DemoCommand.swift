// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetDriver
import Foundation

/// `fleetpass demo`: `up`, with drivers, trips and a page to watch them on.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Run everything with simulated drivers and trips, and watch it on a page.",
        discussion: """
            Example:  fleetpass demo

            Drivers replay real drives with the driver library, customers watch their trips with the consumer library, \
            and now and then somebody sends a wrong token. Everything goes over the same HTTP as real apps'.
            """
    )

    @OptionGroup var options: LocalServiceOptions

    @Option(help: ArgumentHelp("The folder with the drives, as GPX files.", valueName: "dir"))
    var routes: String?

    @Option(help: "How many times faster than recorded the drivers drive.")
    var speed: Double = 4

    func validate() throws {
        guard self.speed.isFinite, self.speed > 0 else { throw ValidationError("--speed must be above 0.") }
    }

    func run() async throws {
        let routes = try self.readRoutes()
        let service = try LocalService(self.options, logger: LocalLogging.logger())
        let (issuer, speed) = (service.issuer, self.speed)
        try await service.run { addresses in
            Console.say("watch it at \(addresses.http.absoluteString)/   (Ctrl-C ends it)")
            let fleet = try DemoFleet(addresses: addresses, issuer: issuer, routes: routes, speed: speed)
            await fleet.run()
        }
    }

    /// The drives of the folder, or those that come with the program.
    private func readRoutes() throws -> [Route] {
        do throws(DriverError) {
            guard let folder = self.routes else {
                return try [
                    PackageResources.bay_area_trip_1_gpx, PackageResources.bay_area_trip_2_gpx,
                    PackageResources.delivery_day_gpx,
                ].map { bytes throws(DriverError) in try GPXRoute.read(Data(bytes)) }
            }
            let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            let routes = try files.filter { $0.hasSuffix(".gpx") }.sorted().map { name throws(DriverError) in
                try Route.read(contentsOf: URL(filePath: folder).appending(path: name))
            }
            guard !routes.isEmpty else {
                throw DriverError(code: .unreadableFile, message: "there are no GPX files in the folder \(folder).")
            }
            return routes
        } catch {
            throw CommandFailure(status: .configuration, message: error.message)
        }
    }
}
