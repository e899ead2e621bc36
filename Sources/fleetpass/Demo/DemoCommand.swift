// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// `fleetpass demo`: `up`, with drivers, trips and a page to watch them on.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Run everything with simulated drivers and trips, and watch it on a page.",
        discussion: """
            Example:  fleetpass demo

            Drivers replay real drives, customers watch their trips and recipients their shipments, each in a process of \
            its own (fleetpass drive, fleetpass watch), and now and then somebody sends a wrong token. The drives are in \
            the data folder's routes/ for your own drivers; a delivery vehicle drives those whose names begin with \
            delivery.

            With --callers, all of them send the secret in FLEETPASS_SECRET. Its caller needs the roles \(appRoles).
            """
    )

    private static let appRoles =
        "driver, consumer, delivery_untrusted_driver, delivery_trusted_driver and delivery_consumer"

    @OptionGroup var options: LocalServiceOptions

    @Option(help: ArgumentHelp("The folder with the drives, as GPX files.", valueName: "dir"), completion: .directory)
    var routes: String?

    @Option(help: "How many times faster than recorded the drivers drive, 0.001 to 1000.")
    var speed: Double = 4

    func validate() throws {
        try OptionRules.check(path: self.routes, of: "--routes", "name the folder with the drives, or leave it out")
        // More slowly, no driver drives.
        guard (0.001...1_000).contains(self.speed) else { throw ValidationError("--speed must be 0.001 to 1000.") }
    }

    func run() async throws {
        let secret = try SecretVariable.usual.value ?? ""
        guard self.options.callers == nil || !secret.isEmpty else {
            throw CommandFailure(
                status: .usage,
                message: "--callers keeps out the demo's own drivers and customers, too; put the secret of a caller "
                    + "with the roles \(Self.appRoles) into FLEETPASS_SECRET, or leave --callers out.")
        }
        // Unreadable routes are told before anything starts.
        let ownRoutes = try self.routes.map(DemoRoute.all)
        let service = try LocalService(self.options, logger: self.options.logger)
        let (issuer, speed) = (service.issuer, self.speed)
        try await service.run { addresses in
            Console.say("watch it at \(addresses.http.absoluteString)/   (Ctrl-C ends it)")
            let fleet = try DemoFleet(
                addresses: addresses, issuer: issuer, secret: secret,
                routes: ownRoutes ?? Self.bundledRoutes(addresses), speed: speed)
            await fleet.run()
        }
    }

    private static func bundledRoutes(_ addresses: LocalService.Addresses) throws -> [DemoRoute] {
        let folder = "\(addresses.data)/routes"
        try DemoRoute.unpack(into: folder)
        return try DemoRoute.all(in: folder)
    }
}
