// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient

// What is made of an answer.

extension Defect {
    static let statusUnread = Self(.statusIgnored) { lab in
        for status in [403, 404, 500] {
            let world = lab.world([.status(status)])
            let error = await world.fetch(try world.makeFetcher(), FetcherContext("veh-3")).error
            if error?.httpStatus != status { return "status \(status) is reported as something else" }
        }
        return nil
    }

    static let bodyUnchecked = Self(.bodyTakenForAnObject) { lab in
        for step in [ChaosStep.emptyBody, .jsonArray, .html] {
            let world = lab.world([step])
            let result = await world.fetch(try world.makeFetcher(), FetcherContext("veh-3"))
            if !result.isFailure { return "\(step) is not an error" }
        }
        return nil
    }

    static let tokenUnchecked = Self([[.tokenTakenForAString, .tokenNotRead]]) { lab in
        for step in [ChaosStep.missingToken, .numericToken] {
            let world = lab.world([step])
            let result = await world.fetch(try world.makeFetcher(), FetcherContext("veh-3"))
            if !result.isFailure { return "\(step) ends with \(result)" }
        }
        return nil
    }

    static let causeLost = Self(.networkErrorHidden) { lab in
        for step in [ChaosStep.dropConnection, .tornBody] {
            let world = lab.world([step])
            let error = await world.fetch(try world.makeFetcher(), FetcherContext("trip-7")).error
            if error?.code != .unreachable { return "\(step) is reported as something else" }
        }
        return nil
    }

    static let refusedTokenKept = Self([[.noWayToDropToken], [.tokenNotRead]]) { lab in
        let world = lab.world()
        let fetcher = try world.makeFetcher()
        guard let refused = await world.fetch(fetcher, FetcherContext("veh-3")).token else { return "no token came" }
        fetcher.dropToken(refused, for: FetcherContext("veh-3"))
        guard let next = await world.fetch(fetcher, FetcherContext("veh-3")).token, next != refused else {
            return "a refused token is handed out again"
        }
        let boasting = lab.world(.always(.overstatedLife(.seconds(36_000))))
        let another = try boasting.makeFetcher()
        let first = await boasting.fetch(another, FetcherContext("veh-3")).token
        boasting.clock.advance(by: .seconds(3700))
        let second = await boasting.fetch(another, FetcherContext("veh-3")).token
        return second != nil && second != first ? nil : "the token's own end is not respected"
    }
}
