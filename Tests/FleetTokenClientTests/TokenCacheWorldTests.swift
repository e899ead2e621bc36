// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@Suite struct TokenCacheWorldTests {
    private static let worldsPerBatch: UInt64 = 100

    private static func endpoints() throws -> [TokenEndpoint] {
        let server = try #require(URL(string: "https://tokens.example.com"))
        return [try .fleetpass(server), try .onDemand(server)]
    }

    private static func subjects() throws -> [TokenSubject] {
        var subjects: [TokenSubject] = []
        for number in 1...3 { subjects.append(.driver(try VehicleID(checking: "veh-\(number)"))) }
        return subjects + [.consumer(try TripID(checking: "trip-1"))]
    }

    @Test(arguments: 0..<UInt64(10)) func `every promise holds in seeded worlds`(batch: UInt64) async throws {
        let endpoints = try Self.endpoints()
        let subjects = try Self.subjects()
        var (handedOut, failures, fetches, ensured) = (0, 0, 0, 0)
        for index in 0..<Self.worldsPerBatch {
            let seed = batch * Self.worldsPerBatch + index
            var world = TokenCacheWorld(seed: seed, endpoint: endpoints[Int(seed % 2)], subjects: subjects)
            world.run()
            await Task.yield()
            #expect(world.violations.isEmpty, "\(world.violations.joined(separator: "\n"))")
            handedOut += world.handedOut
            failures += world.failures
            fetches += world.fetches
            ensured += world.ensured
        }
        // A world in which little happens proves little.
        #expect(handedOut > 20_000 && failures > 500 && fetches > 2000, "\(handedOut) \(failures) \(fetches)")
        #expect(ensured > 1000, "\(ensured)")
    }

    @Test func `equal seeds give equal worlds`() throws {
        let endpoint = try Self.endpoints()[0]
        let counts = try (0..<2).map { _ in
            var world = TokenCacheWorld(seed: 42, endpoint: endpoint, subjects: try Self.subjects())
            world.run()
            return [world.handedOut, world.failures, world.fetches]
        }
        #expect(counts[0] == counts[1])
        #expect(counts[0][0] > 100)
    }
}
