// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetSigning
import FleetTokens
import Foundation

/// `swift-backend grpc PORT KEYS PROVIDER VEHICLE TRIP`, or `swift-backend rest URL KEYS PROVIDER VEHICLE TRIP`.
@main struct SwiftBackend {
    static func main() async {
        do {
            try await self.run()
        } catch {
            FileHandle.standardError.write(Data("swift-backend: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count == 6 else { self.exitWithUsage() }
        let (way, place) = (arguments[0], arguments[1])
        let order = Order(
            provider: try ProviderID(checking: arguments[3]), vehicle: try VehicleID(checking: arguments[4]),
            trip: try TripID(checking: arguments[5]))
        let signers = try ServiceAccounts.signers(in: URL(filePath: arguments[2]))
        // Which signer cannot sign is known before the first customer finds out.
        for case (let role, let problem?) in await signers.check() { throw Unusable(role: role, problem: problem) }
        let trip: Trip
        switch (way, UInt16(place)) {
        case ("grpc", let port?): trip = try await OverGRPC(signers: signers, port: Int(port)).run(order)
        case ("rest", _): trip = try await OverREST(signers: signers, address: place).run(order)
        default: self.exitWithUsage()
        }
        print("\(trip.name) \(trip.tripStatus)")
    }

    private static func exitWithUsage() -> Never {
        let usage = """
            usage: swift-backend grpc PORT KEYS PROVIDER VEHICLE TRIP
                   swift-backend rest URL KEYS PROVIDER VEHICLE TRIP

            """
        FileHandle.standardError.write(Data(usage.utf8))
        exit(2)
    }

    private struct Unusable: Error, CustomStringConvertible {
        let role: Role
        let problem: any Error

        var description: String { "the account of the role \(self.role.rawValue) cannot sign: \(self.problem)" }
    }
}
