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
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 6, let way = arguments.first, let place = arguments.dropFirst().first else {
            FileHandle.standardError.write(
                Data("usage: swift-backend grpc|rest PORT|URL KEYS PROVIDER VEHICLE TRIP\n".utf8))
            exit(2)
        }
        let rest = Array(arguments.dropFirst(2))
        let signers = try ServiceAccounts.signers(in: URL(filePath: rest[0]))
        // Which signer cannot sign is known before the first customer finds out.
        for case (let role, let problem?) in await signers.check() { throw Unusable(role: role, problem: problem) }
        let order = Order(
            provider: try ProviderID(checking: rest[1]), vehicle: try VehicleID(checking: rest[2]),
            trip: try TripID(checking: rest[3]))
        let trip =
            way == "grpc"
            ? try await OverGRPC(signers: signers, port: Int(place) ?? 443).run(order)
            : try await OverREST(signers: signers, address: place).run(order)
        print("\(trip.name) \(trip.tripStatus)")
    }

    private struct Unusable: Error {
        let role: Role
        let problem: any Error
    }
}
