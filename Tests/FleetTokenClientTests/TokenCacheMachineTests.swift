// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Testing

@Suite struct TokenCacheMachineTests {
    // MARK: The way of a token

    @Test func `a token goes from none through fetching, fresh, stale and expiring back to none`() throws {
        var bench = try MachineBench()
        #expect(bench.phase == .none)
        bench.request()
        #expect(bench.phase == .fetching)
        bench.land(.seconds(3300))
        #expect(bench.phase == .fresh)
        bench.advance(.seconds(2699))
        #expect(bench.phase == .fresh)
        bench.advance(.seconds(300))
        #expect(bench.phase == .stale)
        bench.advance(.seconds(1))
        #expect(bench.phase == .expiring)
        bench.advance(.seconds(300))
        #expect(bench.phase == .none)
    }

    @Test func `callers share one fetch and all get its token`() throws {
        var bench = try MachineBench()
        let callers = (0..<50).map { _ in bench.request() }
        #expect(bench.started.count == 1)
        #expect(callers.allSatisfy(bench.isWaiting))
        let token = bench.land()
        #expect(callers.allSatisfy { bench.token(of: $0) == token && bench.outcomes[$0]?.count == 1 })
    }

    @Test func `a stale token is served at once while one fetch runs in the background`() throws {
        var bench = try MachineBench()
        bench.request()
        let old = bench.land()
        bench.advance(.seconds(2999))
        let first = bench.request()
        let second = bench.request()
        #expect(bench.token(of: first) == old)
        #expect(bench.token(of: second) == old)
        #expect(bench.started.count == 2)
        let new = bench.land()
        #expect(bench.tokenNow() == new)
    }

    @Test func `under five minutes callers wait for a newer token`() throws {
        var bench = try MachineBench()
        bench.request()
        bench.land()
        bench.advance(.seconds(3001))
        let caller = bench.request()
        #expect(bench.isWaiting(caller))
        #expect(bench.token(of: caller) == nil)
        let new = bench.land()
        #expect(bench.token(of: caller) == new)
    }

    @Test func `under five minutes the old token is served when the server fails, until its true end`() throws {
        var bench = try MachineBench()
        bench.request()
        let old = bench.land()
        bench.advance(.seconds(3001))
        let caller = bench.request()
        bench.fail(retryAfter: .seconds(600))
        #expect(bench.token(of: caller) == old)
        bench.advance(.seconds(298))
        #expect(bench.tokenNow() == old)
        bench.advance(.seconds(1))
        #expect(bench.errorNow()?.code == .unreachable)
    }

    @Test func `the life counts from the start of the request, not from its answer`() throws {
        var bench = try MachineBench()
        bench.request()
        bench.advance(.seconds(7))
        bench.land(.seconds(1000))
        bench.advance(.seconds(992))
        #expect(bench.phase == .expiring)
        bench.advance(.seconds(1))
        #expect(bench.phase == .none)
    }

    @Test func `a token that arrives after its end is an error and never handed out`() throws {
        var bench = try MachineBench()
        let caller = bench.request()
        bench.advance(.seconds(7))
        bench.land(.seconds(7))
        #expect(bench.error(of: caller)?.code == .expired)
        #expect(bench.phase == .none)
    }

    // MARK: When to refresh

    @Test(arguments: [2000, 60, 2999]) func `the server's refresh moment is kept`(seconds: Int) throws {
        var bench = try MachineBench()
        bench.request()
        bench.land(.seconds(3300), refreshAfter: .seconds(seconds))
        bench.advance(.seconds(seconds - 1))
        #expect(bench.phase == .fresh)
        bench.advance(.seconds(1))
        #expect(bench.phase == .stale)
    }

    @Test func `a refresh moment after the floor is brought back to it`() throws {
        var bench = try MachineBench()
        bench.request()
        bench.land(.seconds(3300), refreshAfter: .seconds(3600))
        bench.advance(.seconds(2999))
        #expect(bench.phase == .fresh)
        bench.advance(.seconds(1))
        #expect(bench.phase == .expiring)
    }

    @Test func `the server's refresh moment counts from the start of the fetch`() throws {
        var bench = try MachineBench()
        bench.request()
        bench.advance(.seconds(5))
        bench.land(.seconds(3300), refreshAfter: .seconds(1000))
        bench.advance(.milliseconds(994_900))
        #expect(bench.phase == .fresh)
        bench.advance(.milliseconds(100))
        #expect(bench.phase == .stale)
    }

    @Test func `a token near its last minutes is kept for half of what is left until then`() throws {
        var bench = try MachineBench()
        bench.request()
        bench.land(.seconds(340), refreshAfter: .zero)
        bench.advance(.milliseconds(19_900))
        #expect(bench.phase == .fresh)
        bench.advance(.milliseconds(100))
        #expect(bench.phase == .stale)
    }

    @Test func `a short wait that the server asks for does not shorten the pause after many failures`() throws {
        var waits: [Duration] = []
        for seed in UInt64(0)..<20 {
            var bench = try MachineBench(seed: seed)
            bench.request()
            for _ in 1...7 {
                bench.fail()
                _ = bench.waitForNextFetch()
            }
            bench.fail(retryAfter: .seconds(1))
            waits.append(bench.waitForNextFetch())
        }
        #expect(waits.allSatisfy { $0 >= .seconds(1) })
        #expect(waits.contains { $0 > .seconds(10) })
    }

    @Test func `a refresh moment of zero does not make every call a fetch`() throws {
        var bench = try MachineBench()
        bench.request()
        for _ in 0..<60 {
            bench.land(.seconds(3300), refreshAfter: .zero)
            bench.request()
            bench.advance(.seconds(1))
        }
        #expect(bench.started.count <= 2)
    }

    @Test func `refreshes of many phones spread over the window and never pass the floor`() throws {
        var moments: Set<Int> = []
        for seed in 0..<200 as Range<UInt64> {
            var bench = try MachineBench(seed: seed)
            bench.request()
            bench.land(.seconds(3300))
            bench.advance(.seconds(2700))
            var second = 2700
            while bench.phase == .fresh {
                bench.advance(.seconds(1))
                second += 1
            }
            #expect(bench.phase == .stale)
            moments.insert((second - 1) / 30)
        }
        #expect(moments.count == 8, "240 s of spread are 8 slices of 30 s")
        #expect(moments.min() == 90 && moments.max() == 97)
    }

    @Test func `short tokens are used to their end and not fetched in a loop`() throws {
        var bench = try MachineBench()
        var served = 0
        for _ in 0..<3600 {
            let caller = bench.request()
            if bench.isWaiting(caller) { bench.land(.seconds(120)) }
            if bench.token(of: caller) != nil { served += 1 }
            bench.advance(.seconds(1))
        }
        #expect(served == 3600)
        #expect((30...400).contains(bench.started.count), "\(bench.started.count)")
    }

    // MARK: Failures

    @Test func `after a failure callers get the error at once and the server is left alone`() throws {
        var bench = try MachineBench()
        bench.request()
        bench.fail(.refused, retryAfter: .seconds(30))
        for _ in 0..<29 {
            bench.advance(.seconds(1))
            #expect(bench.errorNow()?.code == .refused)
        }
        #expect(bench.started.count == 1)
        bench.advance(.seconds(1))
        let caller = bench.request()
        #expect(bench.isWaiting(caller) && bench.started.count == 2)
        let token = bench.land()
        #expect(bench.token(of: caller) == token)
    }

    @Test func `the wait is random below a bound that doubles up to its cap`() throws {
        var waits: [Int: [Duration]] = [:]
        for seed in 0..<60 as Range<UInt64> {
            var bench = try MachineBench(seed: seed)
            bench.request()
            for failure in 1...8 {
                bench.fail()
                waits[failure, default: []].append(bench.waitForNextFetch())
            }
        }
        for (failure, bound) in [1: 1.0, 2: 2, 3: 4, 4: 8, 5: 16, 6: 32, 7: 60, 8: 60] {
            let all = try #require(waits[failure])
            #expect(try #require(all.max()) <= .seconds(bound + 0.1))
            #expect(try #require(all.max()) > .seconds(bound * 0.8))
            #expect(try #require(all.min()) < .seconds(bound * 0.2))
        }
    }

    @Test func `a success resets the wait`() throws {
        var bench = try MachineBench()
        bench.request()
        for _ in 1...8 {
            bench.fail()
            _ = bench.waitForNextFetch()
        }
        let token = bench.land()
        bench.feed(.invalidated(bench.subject, token))
        bench.request()
        bench.fail()
        #expect(bench.waitForNextFetch() <= .seconds(1.1))
    }

    @Test func `a server that always refuses is asked about twice a minute`() throws {
        var bench = try MachineBench()
        for _ in 0..<8640 {
            if bench.mustWaitNow() { bench.fail(.refused) }
            bench.advance(.seconds(10))
        }
        #expect((1440...3600).contains(bench.started.count), "\(bench.started.count)")
    }

    @Test func `a wait that the server asks for is bounded`() throws {
        var bench = try MachineBench()
        bench.request()
        bench.fail(.rateLimited, retryAfter: .seconds(1_000_000))
        bench.advance(.seconds(599))
        bench.request()
        #expect(bench.started.count == 1)
        bench.advance(.seconds(1))
        bench.request()
        #expect(bench.started.count == 2)
    }

    @Test func `callers are told what is left of the wait that the server asked for, within its bound`() throws {
        var bench = try MachineBench()
        let caller = bench.request()
        bench.fail(retryAfter: .seconds(Int64.max))
        #expect(bench.error(of: caller)?.retryAfter == .seconds(600))
        bench.advance(.seconds(590))
        #expect(bench.errorNow()?.retryAfter == .seconds(10))
        bench.advance(.seconds(10))
        let next = bench.request()
        bench.fail()
        #expect(bench.error(of: next)?.code == .unreachable)
        #expect(bench.error(of: next)?.retryAfter == nil)
    }

    @Test(arguments: [nil, Duration.seconds(600)])
    func `an app that knows better ends the pause, and the next one goes on growing`(asked: Duration?) throws {
        var bench = try MachineBench(seed: 7)
        bench.request()
        for _ in 1...8 {
            bench.fail(.refused)
            _ = bench.waitForNextFetch()
        }
        let fetches = bench.started.count
        bench.fail(.refused, retryAfter: asked)
        bench.feed(.pausesLifted)
        #expect(bench.started.count == fetches)
        let caller = bench.request()
        #expect(bench.isWaiting(caller) && bench.started.count == fetches + 1)
        bench.fail(.refused)
        #expect(bench.error(of: caller)?.code == .refused)
        let entry = try #require(bench.machine.entries[bench.subject])
        #expect(entry.backOff?.failures == 10)
        bench.feed(.pausesLifted)
        let next = bench.request()
        let token = bench.land()
        #expect(bench.token(of: next) == token)
    }

    @Test func `when a fetch fails that was under way when the app knew better, the pauses begin anew`() throws {
        var bench = try MachineBench(seed: 7)
        bench.request()
        for _ in 1...8 {
            bench.fail()
            _ = bench.waitForNextFetch()
        }
        bench.feed(.pausesLifted)
        bench.fail()
        #expect(try #require(bench.machine.entries[bench.subject]).backOff?.failures == 1)
        let pause = bench.waitForNextFetch()
        #expect(pause <= .seconds(1))
    }

    @Test func `an app that knows better loses no token, and disturbs no fetch`() throws {
        var bench = try MachineBench()
        let waiting = bench.request()
        bench.feed(.pausesLifted)
        #expect(bench.isWaiting(waiting) && bench.stopped.isEmpty)
        let token = bench.land()
        bench.advance(.seconds(3001))
        bench.request()
        bench.fail(retryAfter: .seconds(600))
        bench.feed(.pausesLifted)
        #expect(bench.tokenNow() == token)
        #expect(bench.started.count == 3)
        let new = bench.land()
        #expect(bench.tokenNow() == new)
    }

    @Test func `a fetch that never answers ends at its deadline, and its late answer is ignored`() throws {
        var bench = try MachineBench()
        let caller = bench.request()
        let flight = try #require(bench.flight)
        bench.advance(.seconds(8))
        bench.feed(.deadlinePassed(flight, awaiting: .server))
        #expect(bench.error(of: caller)?.code == .timedOut)
        #expect(bench.stopped == [flight])
        bench.land()
        #expect(bench.phase == .none)
        #expect(bench.outcomes[caller]?.count == 1)
    }

    @Test(
        arguments: [
            ([:], "8.0 seconds"),
            ([.store: .milliseconds(1), .credentials: .milliseconds(799)], "8.0 seconds"),
            (
                [.store: .seconds(1), .credentials: .nanoseconds(6_123_456_789)],
                "the 0.877 seconds left of 8.0 seconds, of which the app's credentials closure took 6.123 seconds"
            ),
            (
                [.credentials: .seconds(9)],
                "the 0.0 seconds left of 8.0 seconds, of which the app's credentials closure took 9.0 seconds"
            ),
        ] as [([TokenCacheMachine.FetchStep: Duration], String)])
    func `a step that had less than nine tenths of a fetch's time is told with what it had`(
        others: [TokenCacheMachine.FetchStep: Duration], time: String
    ) throws {
        var bench = try MachineBench()
        let caller = bench.request()
        let flight = try #require(bench.flight)
        bench.feed(.deadlinePassed(flight, awaiting: .server, after: others))
        #expect(bench.error(of: caller)?.message == "The token server did not answer within \(time).")
    }

    @Test func `a wake-up after the answer does nothing`() throws {
        var bench = try MachineBench()
        bench.request()
        let flight = try #require(bench.flight)
        bench.land()
        bench.feed(.deadlinePassed(flight, awaiting: .server))
        #expect(bench.phase == .fresh)
        #expect(bench.stopped.isEmpty)
    }

    @Test func `a device that slept past a fetch's deadline begins again for everybody`() throws {
        var bench = try MachineBench()
        let before = bench.request()
        let flight = bench.flight
        bench.advance(.seconds(3600))
        let after = bench.request()
        #expect(bench.started.count == 2 && bench.stopped == [flight])
        let token = bench.land()
        #expect(bench.token(of: before) == token && bench.token(of: after) == token)
    }

    // MARK: Cancellation

    @Test func `a cancelled caller leaves at once and hurts nobody`() throws {
        var bench = try MachineBench()
        let first = bench.request()
        let second = bench.request()
        bench.feed(.cancelled(bench.subject, .init(first)))
        guard case .cancelled = bench.outcomes[first]?.first else { Issue.record("the caller is still there"); return }
        #expect(bench.stopped.isEmpty)
        let token = bench.land()
        #expect(bench.token(of: second) == token)
        #expect(bench.outcomes[first]?.count == 1)
    }

    @Test func `the fetch goes on for the cache when every caller has left`() throws {
        var bench = try MachineBench()
        let caller = bench.request()
        bench.feed(.cancelled(bench.subject, .init(caller)))
        let token = bench.land()
        #expect(bench.tokenNow() == token)
        bench.feed(.cancelled(bench.subject, .init(caller)))
        #expect(bench.outcomes[caller]?.count == 1)
    }

    // MARK: Refusals by the service

    @Test func `a refused token is dropped and the next call fetches`() throws {
        var bench = try MachineBench()
        bench.request()
        let old = bench.land()
        bench.feed(.invalidated(bench.subject, old))
        #expect(bench.phase == .none)
        let caller = bench.request()
        let new = bench.land()
        #expect(bench.token(of: caller) == new && new != old)
    }

    @Test func `a late refusal of an older token keeps the newer one`() throws {
        var bench = try MachineBench()
        bench.request()
        let old = bench.land()
        bench.feed(.invalidated(bench.subject, old))
        bench.request()
        let new = bench.land()
        bench.feed(.invalidated(bench.subject, old))
        #expect(bench.tokenNow() == new)
    }

    @Test func `a refusal of a token whose life is over is none`() throws {
        var bench = try MachineBench()
        bench.request()
        let token = bench.land(.seconds(3300))
        bench.advance(.seconds(3300))
        let told = bench.events.count
        bench.feed(.invalidated(bench.subject, token))
        #expect(bench.events.count == told)
        let caller = bench.request()
        let new = bench.land()
        #expect(bench.token(of: caller) == new)
    }

    @Test func `a refused token that the server sends again is not handed out`() throws {
        var bench = try MachineBench()
        bench.request()
        let token = bench.land()
        bench.feed(.invalidated(bench.subject, token))
        let caller = bench.request()
        bench.land(token)
        #expect(bench.error(of: caller)?.code == .invalidAnswer)
    }

    @Test func `a storm of refusals causes a bounded number of fetches`() throws {
        var bench = try MachineBench()
        var refused: TokenClientError?
        for _ in 0..<590 {
            let caller = bench.request()
            if bench.isWaiting(caller) { bench.land() }
            if let token = bench.token(of: caller) { bench.feed(.invalidated(bench.subject, token)) }
            refused = bench.error(of: caller) ?? refused
            bench.advance(.milliseconds(100))
        }
        #expect(bench.started.count == 6, "the first fetch and five replacements")
        #expect(refused?.code == .excessiveRefresh)
        bench.feed(.pausesLifted)
        #expect(bench.errorNow()?.code == .excessiveRefresh)
        bench.advance(.seconds(2))
        let caller = bench.request()
        let token = bench.land()
        #expect(bench.token(of: caller) == token)
    }

    // MARK: The end

    @Test func `the end of the session ends every call, and nothing comes after it`() throws {
        var bench = try MachineBench()
        let caller = bench.request()
        let ensured = bench.ensure(.seconds(2000))
        let flight = try #require(bench.flight)
        bench.feed(.closed)
        #expect(bench.error(of: caller)?.code == .refused && bench.error(of: ensured)?.code == .refused)
        #expect(bench.stopped == [flight])
        bench.land()
        #expect(bench.phase == .none && bench.saved.isEmpty)
        #expect(bench.errorNow()?.code == .refused && bench.started.count == 1)
        #expect(bench.outcomes.values.allSatisfy { $0.count == 1 })
    }

    @Test func `the end of the session forgets the token in hand`() throws {
        var bench = try MachineBench()
        bench.request()
        let token = bench.land()
        bench.feed(.closed)
        #expect(bench.machine.freshToken(for: bench.subject, at: bench.now) == nil)
        bench.feed(.invalidated(bench.subject, token))
        #expect(bench.errorNow()?.code == .refused && bench.machine.count == 0)
    }

    // MARK: Bounds

    @Test func `the least recently used subject is dropped, and a hit counts as a use`() throws {
        var bench = try MachineBench(TokenCacheConfiguration(capacity: 2))
        let others = try (2...3).map { TokenSubject.driver(try VehicleID(checking: "veh-\($0)")) }
        bench.request()
        bench.land()
        bench.advance(.seconds(1))
        bench.request(others[0])
        bench.land()
        _ = bench.machine.freshToken(for: bench.subject, at: bench.now)
        bench.request(others[1])
        #expect(bench.machine.count == 2)
        #expect(bench.phase == .fresh)
        #expect(bench.machine.phase(of: others[0], at: bench.now) == .none)
    }

    @Test func `a subject with waiting callers is never dropped`() throws {
        var bench = try MachineBench(TokenCacheConfiguration(capacity: 1))
        let waiting = bench.request()
        let other = bench.request(.driver(try VehicleID(checking: "veh-2")))
        #expect(bench.error(of: other)?.code == .rateLimited)
        let token = bench.land()
        #expect(bench.token(of: waiting) == token)
    }

    @Test func `dropping a subject stops its fetch in the background`() throws {
        var bench = try MachineBench(TokenCacheConfiguration(capacity: 1))
        let caller = bench.request()
        let flight = try #require(bench.flight)
        bench.feed(.cancelled(bench.subject, .init(caller)))
        bench.request(.driver(try VehicleID(checking: "veh-2")))
        #expect(bench.stopped == [flight])
        #expect(bench.phase == .none)
    }

    @Test func `events name fingerprints and lives`() throws {
        var bench = try MachineBench()
        bench.request()
        let token = bench.land(.seconds(3300))
        guard case .fetched(let subject, let fingerprint, let life) = bench.events.last else {
            Issue.record("no event")
            return
        }
        #expect(subject == bench.subject && fingerprint == token.fingerprint && life == .seconds(3300))
    }
}
