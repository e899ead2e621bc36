// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Testing

/// Calls that want the token in hand to live for a while.
@Suite struct TokenCacheLifeTests {
    @Test func `a token that lives long enough is not replaced`() throws {
        var bench = try MachineBench()
        bench.request()
        bench.land(.seconds(3300))
        bench.advance(.seconds(600))
        let caller = bench.ensure(.seconds(2700))
        #expect(bench.life(of: caller) == .seconds(2700))
        #expect(bench.started.count == 1)
    }

    @Test func `a token that lives too short is replaced now, while others get the one in hand`() throws {
        var bench = try MachineBench()
        bench.request()
        let old = bench.land(.seconds(3300))
        bench.advance(.seconds(601))
        let caller = bench.ensure(.seconds(2700))
        #expect(bench.isWaiting(caller) && bench.started.count == 2)
        #expect(bench.phase == .fresh)
        #expect(bench.tokenNow() == old)
        bench.advance(.seconds(2))
        let new = bench.land(.seconds(3300))
        #expect(bench.life(of: caller) == .seconds(3298))
        #expect(bench.tokenNow() == new)
        #expect(bench.started.count == 2)
    }

    @Test func `without a token it fetches the first, together with other callers`() throws {
        var bench = try MachineBench()
        let first = bench.request()
        let second = bench.ensure(.seconds(3000))
        #expect(bench.started.count == 1)
        let token = bench.land(.seconds(3300))
        #expect(bench.token(of: first) == token && bench.life(of: second) == .seconds(3300))
        #expect(bench.outcomes.values.allSatisfy { $0.count == 1 })
    }

    @Test func `a refresh under way is joined`() throws {
        var bench = try MachineBench()
        bench.request()
        bench.land(.seconds(3300))
        bench.advance(.seconds(2999))
        bench.request()
        #expect(bench.started.count == 2)
        let caller = bench.ensure(.seconds(2400))
        #expect(bench.isWaiting(caller) && bench.started.count == 2)
        bench.land(.seconds(3300))
        #expect(bench.life(of: caller) == .seconds(3300))
    }

    @Test func `more than an hour is refused without a fetch`() throws {
        var bench = try MachineBench()
        let caller = bench.ensure(.seconds(3601))
        #expect(bench.error(of: caller)?.code == .lifeUnavailable)
        #expect(bench.started.isEmpty)
    }

    @Test func `more than the server gives is refused with the life it gave, and not asked for in a loop`() throws {
        var bench = try MachineBench()
        let caller = bench.ensure(.seconds(3500))
        let token = bench.land(.seconds(3300))
        let error = try #require(bench.error(of: caller))
        #expect(error.code == .lifeUnavailable && error.message.contains("3300.0 seconds"))
        #expect(bench.tokenNow() == token, "what came is kept for everybody else")
        for _ in 0..<299 {
            bench.advance(.seconds(1))
            let again = bench.ensure(.seconds(3500))
            #expect(bench.error(of: again)?.code == .lifeUnavailable)
        }
        #expect(bench.started.count == 1)
        bench.advance(.seconds(1))
        let later = bench.ensure(.seconds(3500))
        #expect(bench.isWaiting(later) && bench.started.count == 2, "the server may have been mended")
    }

    @Test func `a new token that ends sooner does not replace the one in hand`() throws {
        var bench = try MachineBench()
        bench.request()
        let old = bench.land(.seconds(3300))
        bench.advance(.seconds(600))
        let caller = bench.ensure(.seconds(2800))
        bench.land(.seconds(2000))
        #expect(bench.error(of: caller)?.code == .lifeUnavailable)
        #expect(bench.tokenNow() == old)
        #expect(bench.saved[bench.subject]?.token == old)
        guard case .failed(_, let error) = bench.events.last else { Issue.record("nothing was told"); return }
        #expect(error.code == .expired && error.message.contains("kept"))
        let again = bench.ensure(.seconds(1900))
        #expect(bench.life(of: again) == .seconds(2700))
    }

    @Test func `the same token again does not live longer than was known`() throws {
        var bench = try MachineBench()
        bench.request()
        let token = bench.land(.seconds(3300))
        bench.advance(.seconds(600))
        let caller = bench.ensure(.seconds(2800))
        bench.land(token, life: .seconds(3300))
        #expect(bench.error(of: caller)?.code == .lifeUnavailable)
        bench.advance(.seconds(2700))
        #expect(bench.phase == .none)
    }

    @Test func `a pause after a failure holds, and the valid token stays`() throws {
        var bench = try MachineBench()
        bench.request()
        let token = bench.land(.seconds(3300))
        bench.advance(.seconds(600))
        let first = bench.ensure(.seconds(3000))
        bench.fail(.rateLimited, retryAfter: .seconds(100))
        #expect(bench.error(of: first)?.code == .rateLimited)
        bench.advance(.seconds(99))
        let second = bench.ensure(.seconds(3000))
        #expect(bench.error(of: second)?.code == .rateLimited)
        #expect(bench.tokenNow() == token)
        #expect(bench.started.count == 2)
        bench.advance(.seconds(1))
        let third = bench.ensure(.seconds(3000))
        #expect(bench.isWaiting(third) && bench.started.count == 3)
    }

    @Test func `a cancelled caller leaves at once and the fetch goes on`() throws {
        var bench = try MachineBench()
        let caller = bench.ensure(.seconds(3000))
        bench.feed(.cancelled(bench.subject, .init(caller)))
        guard case .cancelled = bench.outcomes[caller]?.first else { Issue.record("the caller is still there"); return }
        let token = bench.land()
        #expect(bench.tokenNow() == token)
        #expect(bench.outcomes[caller]?.count == 1)
    }

    @Test func `a device that slept past the deadline begins again for everybody`() throws {
        var bench = try MachineBench()
        let caller = bench.ensure(.seconds(3000))
        let flight = try #require(bench.flight)
        bench.advance(.seconds(100))
        bench.request()
        #expect(bench.stopped == [flight] && bench.started.count == 2)
        bench.land(.seconds(3300))
        #expect(bench.life(of: caller) == .seconds(3300))
    }

    @Test func `it says how long the token still lives, down to nothing asked`() throws {
        var bench = try MachineBench()
        bench.request()
        bench.land(.seconds(3300))
        bench.advance(.seconds(3299))
        let none = bench.ensure(.zero)
        let negative = bench.ensure(.seconds(-5))
        #expect(bench.life(of: none) == .seconds(1) && bench.life(of: negative) == .seconds(1))
        #expect(bench.started.count == 1)
    }

    // MARK: Tokens from an earlier run

    @Test func `a stored token answers callers and ends the fetch`() throws {
        var bench = try MachineBench()
        let caller = bench.request()
        let flight = try #require(bench.flight)
        let token = bench.newToken()
        bench.feed(.restored(flight, TokenGrant(token: token, life: .seconds(1500))))
        #expect(bench.token(of: caller) == token)
        #expect(bench.stopped == [flight] && bench.phase == .fresh)
        bench.land()
        #expect(bench.tokenNow() == token, "the fetch is over")
        guard case .restored(_, _, let life) = bench.events.last else { Issue.record("nothing was told"); return }
        #expect(life == .seconds(1500))
    }

    @Test func `a stored token in its last minutes waits for the server, and is used when the server fails`() throws {
        var bench = try MachineBench()
        let caller = bench.request()
        let token = bench.newToken()
        bench.feed(.restored(try #require(bench.flight), TokenGrant(token: token, life: .seconds(200))))
        #expect(bench.isWaiting(caller) && bench.stopped.isEmpty)
        bench.fail()
        #expect(bench.token(of: caller) == token)
    }

    @Test func `a stored token that is too short for one caller serves the others while the fetch goes on`() throws {
        var bench = try MachineBench()
        let ordinary = bench.request()
        let demanding = bench.ensure(.seconds(3000))
        let token = bench.newToken()
        bench.feed(.restored(try #require(bench.flight), TokenGrant(token: token, life: .seconds(1500))))
        #expect(bench.token(of: ordinary) == token && bench.isWaiting(demanding))
        bench.land(.seconds(3300))
        #expect(bench.life(of: demanding) == .seconds(3300))
        #expect(bench.started.count == 1 && bench.stopped.isEmpty)
    }

    @Test func `a stored token that was refused, or that comes too late, is not used`() throws {
        var bench = try MachineBench()
        bench.request()
        let refused = bench.land()
        bench.feed(.invalidated(bench.subject, refused))
        #expect(bench.saved[bench.subject] == nil)
        let caller = bench.request()
        let flight = try #require(bench.flight)
        bench.feed(.restored(flight, TokenGrant(token: refused, life: .seconds(1500))))
        #expect(bench.isWaiting(caller))
        let new = bench.land()
        bench.feed(.restored(flight, TokenGrant(token: bench.newToken(), life: .seconds(3600))))
        #expect(bench.tokenNow() == new)
        #expect(bench.saved[bench.subject]?.token == new)
    }

    @Test func `the life of a stored token counts from the start of the fetch that asked for it`() throws {
        var bench = try MachineBench()
        let caller = bench.request()
        bench.advance(.seconds(2))
        let flight = try #require(bench.flight)
        bench.feed(.restored(flight, TokenGrant(token: bench.newToken(), life: .seconds(1500))))
        #expect(bench.life(of: caller) == .seconds(1498))
    }

    @Test func `a stored token in its last minutes ends no fetch, though nobody waits any more`() throws {
        var bench = try MachineBench()
        let caller = bench.ensure(.seconds(100))
        let flight = try #require(bench.flight)
        bench.feed(.restored(flight, TokenGrant(token: bench.newToken(), life: .seconds(200))))
        #expect(bench.life(of: caller) == .seconds(200))
        #expect(bench.stopped.isEmpty)
        let new = bench.land()
        #expect(bench.tokenNow() == new)
    }

    @Test func `more than an hour is refused also where the last token lived longer`() throws {
        var bench = try MachineBench()
        bench.request()
        bench.land(.seconds(7200))
        bench.advance(.seconds(250))
        let caller = bench.ensure(.seconds(7000))
        #expect(bench.error(of: caller)?.code == .lifeUnavailable && bench.started.count == 1)
    }
}
