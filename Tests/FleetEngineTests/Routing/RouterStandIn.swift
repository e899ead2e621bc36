// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation

/// A server of OSRM's that answers as it is told, and not before it may.
final class RouterStandIn: UpstreamTransport {
    /// A way of 2,500 m and 300 s by two bends.
    static let way =
        #"{"code":"Ok","routes":[{"distance":2500.4,"duration":300.5,"geometry":"_p~iF~ps|U_ulLnnqC_mqNvxq`@"}]}"#

    private struct State {
        var status = 200
        var failure = UpstreamError.Code.unreachable
        var body = RouterStandIn.way
        var urls: [String] = []
        var isHeld = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Locked(State())

    /// The requests so far, in the order in which they came.
    var urls: [String] { self.state.withLock(\.urls) }

    func answer(_ status: Int = 200, _ body: String = RouterStandIn.way) {
        self.state.withLock { state in
            state.status = status
            state.body = body
        }
    }

    /// Answers nothing from now on.
    func fail(_ failure: UpstreamError.Code) {
        self.state.withLock { state in
            state.status = 0
            state.failure = failure
        }
    }

    /// Keeps answers back until ``release()``.
    func hold() { self.state.withLock { $0.isHeld = true } }

    /// Answers whoever comes from now on, and goes on keeping back the answers of before.
    func passBy() { self.state.withLock { $0.isHeld = false } }

    func release() {
        let waiting = self.state.withLock { state in
            state.isHeld = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func send(_ request: UpstreamRequest) async throws -> UpstreamResponse {
        await withCheckedContinuation { continuation in
            let goesOn = self.state.withLock { state in
                state.urls.append(request.url)
                if state.isHeld { state.waiting.append(continuation) }
                return !state.isHeld
            }
            if goesOn { continuation.resume() }
        }
        let (status, body, failure) = self.state.withLock { ($0.status, $0.body, $0.failure) }
        guard status != 0 else { throw UpstreamError(failure) }
        return UpstreamResponse(status: status, body: Array(body.utf8))
    }
}
