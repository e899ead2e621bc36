// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Testing

/// Tries every order of events up to a depth: no order may lead into a state that a good answer does not lead out of.
@Suite struct TokenCacheOrderTests {
    private enum Step: String, CaseIterable {
        case request, ensure, cancel, restore, succeed, succeedShortly, fail, losePatience, timeOut, refuse, passMinute,
            passHour
    }

    private static func take(_ step: Step, on bench: inout MachineBench, lastCaller: inout UInt64) {
        switch step {
        case .request: lastCaller = bench.request()
        case .ensure: lastCaller = bench.ensure(.seconds(2000))
        case .restore:
            guard let flight = bench.flight else { return }
            bench.feed(.restored(flight, TokenGrant(token: bench.newToken(), life: .seconds(1000))))
        case .cancel: bench.feed(.cancelled(bench.subject, .init(lastCaller)))
        case .succeed: bench.land()
        case .succeedShortly: bench.land(.seconds(90))
        case .fail: bench.fail(.refused, retryAfter: .seconds(90))
        case .losePatience: if let flight = bench.flight { bench.feed(.patienceEnded(flight)) }
        case .timeOut: if let flight = bench.flight { bench.feed(.deadlinePassed(flight, awaiting: .server)) }
        case .refuse: if let token = bench.token(of: lastCaller) { bench.feed(.invalidated(bench.subject, token)) }
        case .passMinute: bench.advance(.seconds(60))
        case .passHour: bench.advance(.seconds(3600))
        }
    }

    private static func explore(
        _ bench: MachineBench, lastCaller: UInt64, depth: Int, path: [Step], check: (MachineBench, [Step]) -> Void
    ) {
        check(bench, path)
        guard depth > 0 else { return }
        for step in Step.allCases {
            var next = bench
            var caller = lastCaller
            Self.take(step, on: &next, lastCaller: &caller)
            Self.explore(next, lastCaller: caller, depth: depth - 1, path: path + [step], check: check)
        }
    }

    @Test func `from every state a good answer leads to a fresh token in one step`() throws {
        var visited = 0
        Self.explore(try MachineBench(), lastCaller: 0, depth: 5, path: []) { bench, path in
            visited += 1
            var bench = bench
            bench.advance(.seconds(601))
            let caller = bench.request()
            let token = bench.isWaiting(caller) ? bench.land() : bench.token(of: caller)
            let isGood = token != nil && bench.token(of: caller) == token && bench.phase != .none
            if !isGood { Issue.record("stuck after \(path.map(\.rawValue))") }
            let answeredTwice = bench.outcomes.values.contains { $0.count != 1 }
            if answeredTwice { Issue.record("a caller was answered twice after \(path.map(\.rawValue))") }
        }
        #expect(visited > 170_000)
    }
}
