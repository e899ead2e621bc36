// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens

// What is asked for, and how.

extension Defect {
    static let unscopedRequest = Self(.requestWithoutID) { lab in
        for (service, subject) in [
            (FetcherService.driver, try TokenSubject(FetcherContext("veh-3"), service: .driver)),
            (.consumer, try TokenSubject(FetcherContext("trip-7"), service: .consumer)),
        ] {
            let world = lab.world(service: service)
            _ = await world.fetch(try world.makeFetcher(), FetcherContext(subject.id))
            if world.server.requests.first?.subject != subject { return "the server is not told whose token to mint" }
        }
        return nil
    }

    static let uncheckedAddress = Self(.addressNotChecked) { lab in
        for address in ["", "tokens.example.com", "/token"]
        where (try? lab.world().makeFetcher(address: address)) != nil {
            return "the address \"\(address)\" is found wanting only when a token is needed"
        }
        return nil
    }

    static let openServer = Self([[.noCredentials], [.plainHTTPAccepted], [.answersMayBeCached]]) { lab in
        let world = lab.world()
        _ = await world.fetch(try world.makeFetcher(), FetcherContext("veh-3"))
        let names = world.server.requests.first?.headerNames ?? []
        guard names.contains("authorization") else { return "anyone may fetch this token" }
        guard names.contains("cache-control") else { return "a cache on the way may answer" }
        let isPlain = (try? lab.world().makeFetcher(address: "http://tokens.example.com")) != nil
        return isPlain ? "the token travels in the clear" : nil
    }

    static let lostTask = Self(.taskIgnored) { lab in
        let world = lab.world(service: .deliveryDriver)
        let context = FetcherContext("dv-12", task: "task-21")
        let token = await world.fetch(try world.makeFetcher(), context).token
        let wanted = try TokenSubject(context, service: .deliveryDriver)
        guard world.server.requests.first?.subject == wanted else { return "the server is not told the task" }
        return FetcherWorld.claims(of: token)?.authorization == (try wanted.tokenType.claims)
            ? nil : "the token does not claim the task"
    }

    static let rawID = Self(.idNotEscaped) { lab in
        for id in ["50%41", "Bus 7 & 8", "é+%20"] {
            let world = lab.world(contract: .onDemand)
            let token = await world.fetch(try world.makeFetcher(), FetcherContext(id)).token
            let wanted = try TokenSubject(FetcherContext(id), service: .driver)
            if world.server.requests.first?.subject != wanted || token == nil { return "\(id) arrives as another id" }
        }
        return nil
    }

    static let sessions = Self(.sessionPerFetch) { lab in
        let world = lab.world()
        let fetcher = try world.makeFetcher()
        for number in 0..<5 { _ = await world.fetch(fetcher, FetcherContext("veh-\(number)")) }
        return world.sessions > 1 ? "5 fetches opened \(world.sessions) sessions" : nil
    }

    static let secretInLog = Self([[.tokenLogged], [.noCache], [.noDeadline]]) { lab in
        let world = lab.world(service: .deliveryDriver, contract: .scheduled)
        let fetcher = try world.makeFetcher()
        var tokens: [String] = []
        for _ in 0..<3 {
            tokens.append(await world.fetch(fetcher, FetcherContext("dv-12")).token ?? "none")
            world.clock.advance(by: .seconds(10))
        }
        guard !world.lines.contains(where: { line in tokens.contains { line.contains($0) } }) else {
            return "the token stands in the log"
        }
        guard world.server.requests.count == 1 else { return "each report costs a request" }
        return try await Self.endlessWait(lab)
    }
}
