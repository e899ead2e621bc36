// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens

// How long a token is taken to live.

extension Defect {
    static let expiryReference = Self([
        [.expiryTakenAsAbsolute, .tokenNotRead], [.expiryTakenAsRelative, .tokenNotRead],
    ]) { lab in
        for contract in ServerContract.allCases {
            if let finding = try await Self.misjudgedLife(lab, contract) { return finding }
        }
        return nil
    }

    static let expiryUnit = Self([[.millisecondsTakenAsSeconds, .tokenNotRead]]) { lab in
        for contract in [ServerContract.onDemand, .scheduled] {
            if let finding = try await Self.misjudgedLife(lab, contract) { return finding }
        }
        return nil
    }

    static let dateAddedToNow = Self([
        [.expiryTakenAsRelative, .millisecondsTakenAsSeconds, .tokenNotRead]
    ]) { lab in
        try await Self.misjudgedLife(lab, .onDemand)
    }

    static let millisecondsFromNow = Self([[.lifeThousandfold, .tokenNotRead]]) { lab in
        try await Self.misjudgedLife(lab, .scheduled)
    }

    static let margin = Self(.noMargin) { lab in
        let world = lab.world()
        let fetcher = try world.makeFetcher()
        _ = await world.fetch(fetcher, FetcherContext("veh-3"))
        world.clock.advance(by: .seconds(3600 - 60))
        let token = await world.fetch(fetcher, FetcherContext("veh-3")).token
        guard let claims = FetcherWorld.claims(of: token) else { return "no token came" }
        let left = claims.expiresAt - world.server.unixSeconds
        return left >= 300 ? nil : "a token with \(left) s left was handed out while the server had a better one"
    }

    static let phoneDate = Self([[.phoneDateTrusted], [.phoneDateTrusted, .tokenNotRead]]) { lab in
        var findings: [String] = []
        let ahead = lab.world(contract: .onDemand)
        ahead.setPhoneDate(off: .seconds(7200))
        let fetcher = try ahead.makeFetcher()
        for _ in 0..<3 where await ahead.fetch(fetcher, FetcherContext("veh-3")).token == nil {
            findings.append("a phone that is ahead takes a new token for an old one")
        }
        if ahead.server.requests.count > 1 { findings.append("a phone that is ahead caches nothing") }

        let setBack = lab.world(contract: .onDemand)
        let another = try setBack.makeFetcher()
        let old = await setBack.fetch(another, FetcherContext("veh-3")).token
        setBack.setPhoneDate(off: .seconds(-7200))
        setBack.clock.advance(by: .seconds(3700))
        let new = await setBack.fetch(another, FetcherContext("veh-3")).token
        if new == nil || new == old { findings.append("a phone that was set back keeps an expired token") }
        return findings.isEmpty ? nil : findings.joined(separator: "; ")
    }

    static let endOfLife = Self([[.endIncluded], [.completionOnMainQueue], [.completionOnSessionQueue]]) { lab in
        let world = lab.world([.good, .status(500)])
        let fetcher = try world.makeFetcher()
        var ends: [String: PendingFetch] = [:]
        for end in ["a fetched token", "a cached token"] {
            let call = world.begin(fetcher, FetcherContext("veh-3"))
            ends[end] = call
            if await call.result.token == nil { return "no token came" }
        }
        world.clock.advance(by: .seconds(3600))
        let late = world.begin(fetcher, FetcherContext("veh-3"))
        ends["a failure"] = late
        if !(await late.result.isFailure) { return "a token was handed out at the very moment of its end" }
        let nobodys = world.begin(fetcher, nil)
        ends["a call without an id"] = nobodys
        _ = await nobodys.result
        // The two samples differ in where they complete, so an app can rely on neither.
        let elsewhere = ends.filter { $0.value.place != .task }
        return elsewhere.isEmpty ? nil : "\(elsewhere.keys.sorted()) end outside of a task"
    }

    static let expiryMissing = Self(.missingExpiryIgnored) { lab in
        let world = lab.world(.always(.missingExpiry))
        let fetcher = try world.makeFetcher()
        var tokens = 0
        for _ in 0..<4 {
            if await world.fetch(fetcher, FetcherContext("veh-3")).token != nil { tokens += 1 }
            world.clock.advance(by: .seconds(10))
        }
        let isSilent = tokens == 4 && world.server.requests.count == 4
        return isSilent ? "every report costs a request and nobody is told" : nil
    }

    static let expiryAsText = Self(.stringExpiryRefused) { lab in
        for contract in ServerContract.allCases {
            let world = lab.world(.always(.stringExpiry), service: Self.service(of: contract), contract: contract)
            let fetcher = try world.makeFetcher()
            for _ in 0..<2 {
                let token = await world.fetch(fetcher, FetcherContext("7")).token
                if token == nil { return "an expiry written as text makes the answer worthless" }
            }
            if world.server.requests.count > 1 { return "an expiry written as text is not understood" }
        }
        return nil
    }

    private static func service(of contract: ServerContract) -> FetcherService {
        contract == .scheduled ? .deliveryDriver : .driver
    }

    /// Whether a token is fetched anew too soon, or used for longer than it lives.
    private static func misjudgedLife(_ lab: FetcherLab, _ contract: ServerContract) async throws -> String? {
        let world = lab.world(service: self.service(of: contract), contract: contract)
        let fetcher = try world.makeFetcher()
        let first = await world.fetch(fetcher, FetcherContext("7")).token
        guard first != nil else { return "\(contract): no token came" }
        world.clock.advance(by: .seconds(60))
        let second = await world.fetch(fetcher, FetcherContext("7")).token
        guard second == first else { return "\(contract): a token with 59 minutes left was not used again" }
        world.clock.advance(by: .seconds(7200))
        let third = await world.fetch(fetcher, FetcherContext("7")).token
        return third != nil && third != first ? nil : "\(contract): a token was used an hour after its end"
    }
}
