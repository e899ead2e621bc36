// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens

// Several calls at once.

extension Defect {
    static let noLock = Self(.tornWrites) { lab in
        let world = lab.world()
        let fetcher = try world.makeFetcher()
        _ = await world.fetch(fetcher, FetcherContext("veh-0"))
        let isTorn = Locked(false)
        world.interrupt(with: {
            let token = await world.fetch(fetcher, FetcherContext("veh-1")).token
            if !Self.isToken(token, for: "veh-1") { isTorn.withLock { $0 = true } }
        })
        _ = await world.fetch(fetcher, FetcherContext("veh-1"))
        if isTorn.withLock({ $0 }) { return "a token was handed out under another vehicle's name" }

        // What no interruption shows, a crowd may, and so does the thread sanitizer.
        let isWrong = await withTaskGroup(of: Bool.self) { group in
            for caller in 0..<4 {
                group.addTask {
                    for turn in 0..<100 {
                        let id = "veh-\((caller + turn) % 2)"
                        let token = await world.fetch(fetcher, FetcherContext(id)).token
                        if !Self.isToken(token, for: id) { return true }
                    }
                    return false
                }
            }
            return await group.contains(true)
        }
        return isWrong ? "a token was handed out under another vehicle's name" : nil
    }

    static let parallelFetches = Self(.noSingleFlight) { lab in
        let world = lab.world()
        let fetcher = try world.makeFetcher()
        world.hold("veh-3")
        let calls = (0..<50).map { _ in world.begin(fetcher, FetcherContext("veh-3")) }
        await world.server.waitForRequests(1)
        world.release("veh-3")
        for call in calls where await call.result.token == nil { return "a call brought no token" }
        let count = world.server.requests.count
        return count == 1 ? nil : "50 calls at once caused \(count) requests"
    }

    static let lateAnswerKept = Self(.slotNamedByLastCall) { lab in
        let (world, fetcher) = try await Self.switchedVehicle(lab)
        let token = await world.fetch(fetcher, FetcherContext("veh-b")).token
        return Self.isToken(token, for: "veh-b") ? nil : "the old vehicle's token is kept for the new one"
    }

    static let lateAnswerEvicts = Self(.oneSlot) { lab in
        let (world, fetcher) = try await Self.switchedVehicle(lab)
        _ = await world.fetch(fetcher, FetcherContext("veh-b"))
        let count = world.server.requests.count
        return count == 2 ? nil : "the old vehicle's late answer cost the new one its token"
    }

    static let sharedFlight = Self([[.oneFlightForAll, .tokenNotRead]]) { lab in
        let world = lab.world()
        let fetcher = try world.makeFetcher()
        world.hold("veh-a")
        let old = world.begin(fetcher, FetcherContext("veh-a"))
        await world.server.waitForRequests(1)
        let new = world.begin(fetcher, FetcherContext("veh-b"))
        world.release("veh-a")
        let tokens = (await old.result.token, await new.result.token)
        return Self.isToken(tokens.0, for: "veh-a") && Self.isToken(tokens.1, for: "veh-b")
            ? nil : "the new vehicle got the answer that was on its way for the old one"
    }

    /// A switch from one vehicle to another whose answer overtakes the first one's.
    private static func switchedVehicle(_ lab: FetcherLab) async throws -> (FetcherWorld, any FetcherUnderTest) {
        let world = lab.world()
        let fetcher = try world.makeFetcher()
        world.hold("veh-a")
        let old = world.begin(fetcher, FetcherContext("veh-a"))
        await world.server.waitForRequests(1)
        _ = await world.fetch(fetcher, FetcherContext("veh-b"))
        world.release("veh-a")
        _ = await old.result
        return (world, fetcher)
    }

    private static func isToken(_ token: String?, for vehicle: String) -> Bool {
        guard let subject = try? TokenSubject(FetcherContext(vehicle), service: .driver),
            let wanted = try? subject.tokenType.claims
        else { return false }
        return FetcherWorld.claims(of: token)?.authorization == wanted
    }
}
