// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens

/// A network that holds every request until a simulation says what becomes of it.
final class HeldTransport: HTTPTransport {
    typealias Answer = Result<HTTPTransportResponse, TokenClientError>

    private struct State: Sendable {
        var held:
            [Int: (request: HTTPTransportRequest, continuation: CheckedContinuation<HTTPTransportResponse, any Error>)] =
                [:]
        var unseen: [(number: Int, request: HTTPTransportRequest)] = []
        var lastNumber = 0
    }

    private let state = Locked(State())

    /// How many requests have neither an answer nor been given up.
    var count: Int { self.state.withLock(\.held.count) }

    /// The requests that came since this was last asked, in their order.
    func takeArrivals() -> [(number: Int, request: HTTPTransportRequest)] {
        self.state.withLock { state in
            defer { state.unseen = [] }
            return state.unseen
        }
    }

    /// Ends a request; one that was given up is past answering.
    func answer(_ number: Int, _ answer: Answer) {
        let held = self.state.withLock { $0.held.removeValue(forKey: number) }
        held?.continuation.resume(with: answer.mapError { $0 })
    }

    func isHeld(_ number: Int) -> Bool {
        self.state.withLock { $0.held[number] != nil }
    }

    func send(_ request: HTTPTransportRequest) async throws -> HTTPTransportResponse {
        let number = self.state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.state.withLock { state in
                    state.held[number] = (request, continuation)
                    state.unseen.append((number, request))
                }
                if Task.isCancelled { self.giveUp(number) }
            }
        } onCancel: {
            self.giveUp(number)
        }
    }

    private func giveUp(_ number: Int) {
        let held = self.state.withLock { $0.held.removeValue(forKey: number) }
        held?.continuation.resume(throwing: CancellationError())
    }
}
