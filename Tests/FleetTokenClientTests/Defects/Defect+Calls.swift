// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient

// Who is answered, when and how often.

extension Defect {
    static let synchronousCompletion = Self(.synchronousCompletion) { lab in
        let world = lab.world()
        let fetcher = try world.makeFetcher()
        _ = await world.fetch(fetcher, FetcherContext("veh-3"))
        for context in [FetcherContext("veh-3"), FetcherContext(""), FetcherContext(nil), nil] {
            let call = world.begin(fetcher, context)
            _ = await call.result
            if call.isSynchronous { return "the completion ran inside the call for \(context?.id ?? "no id")" }
        }
        return nil
    }

    static let releasedFetcher = Self(.droppedWhenReleased) { lab in
        try await Self.lostCompletion(lab)
    }

    static let releasedVariables = Self(.ownerUsedAfterRelease) { lab in
        try await Self.lostCompletion(lab)
    }

    static let noContext = Self(.silentWithoutID) { lab in
        let world = lab.world()
        let fetcher = try world.makeFetcher()
        for context in [nil, FetcherContext(nil)] {
            let result = await world.fetch(fetcher, context)
            if !result.isFailure { return "a call without an id ends with \(result)" }
        }
        return nil
    }

    static let noTrip = Self(.missingIDClearsCache) { lab in
        let world = lab.world(service: .consumer)
        let fetcher = try world.makeFetcher()
        let token = await world.fetch(fetcher, FetcherContext("trip-7")).token
        for context in [nil, FetcherContext(nil)] {
            if !(await world.fetch(fetcher, context)).isFailure { return "a call without a trip is no error" }
        }
        let again = await world.fetch(fetcher, FetcherContext("trip-7")).token
        guard token != nil, again == token else { return "a call without a trip empties the cache" }
        return world.server.requests.count == 1 ? nil : "a call without a trip fetches a token for nobody"
    }

    static let emptyID = Self(.emptyIDAccepted) { lab in
        let world = lab.world()
        let fetcher = try world.makeFetcher()
        for context in [FetcherContext(""), nil] {
            if !(await world.fetch(fetcher, context)).isFailure { return "an empty id is no error" }
        }
        return world.server.requests.isEmpty ? nil : "a token for an empty id is asked for"
    }

    static let stuckServer = Self([[.sixtySecondTimeout, .noDeadline]]) { lab in
        let world = lab.world([.hang])
        let call = world.begin(try world.makeFetcher(), FetcherContext("veh-3"))
        await world.server.waitForRequests(1)
        world.clock.advance(by: .seconds(9.9))
        return await call.result.isFailure ? nil : "a report waits for longer than the reporting interval"
    }

    static let noLimit = Self(.noDeadline) { lab in
        try await Self.endlessWait(lab)
    }

    static let noBackOff = Self(.noBackOff) { lab in
        let world = lab.world(.always(.status(500)))
        let fetcher = try world.makeFetcher()
        for _ in 0..<10 {
            if !(await world.fetch(fetcher, FetcherContext("veh-3"))).isFailure { return "a failure is no error" }
        }
        let count = world.server.requests.count
        return count == 1 ? nil : "a failing server was asked \(count) times at once"
    }

    /// Whether a network that forgets a request holds up the reports.
    static func endlessWait(_ lab: FetcherLab) async throws -> String? {
        let world = lab.world(contract: .onDemand)
        world.hold("veh-3")
        let call = world.begin(try world.makeFetcher(), FetcherContext("veh-3"))
        await world.server.waitForRequests(1)
        world.clock.advance(by: .seconds(9.9))
        return await call.result.isFailure ? nil : "a report waits for ever"
    }

    /// Whether a call ends when the fetcher is released before its answer came.
    private static func lostCompletion(_ lab: FetcherLab) async throws -> String? {
        let world = lab.world()
        world.hold("veh-3")
        let call = try {
            let fetcher = try world.makeFetcher()
            return world.begin(fetcher, FetcherContext("veh-3"))
        }()
        await world.server.waitForRequests(1)
        world.release("veh-3")
        let result = await call.result
        return result.token != nil || result.isFailure ? nil : "the call ends with \(result)"
    }
}
