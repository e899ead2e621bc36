// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CFleetTokenClient
import FleetTokenClient

/// The callbacks of one provider, and the context that lives as long as any of them may run.
///
/// Unchecked because C's pointers are not `Sendable`: nothing here changes after `init`, so no lock is needed, and the
/// header asks for callbacks and a context that any thread may use.
final class Callbacks: @unchecked Sendable {
    private let options: fp_options

    /// Takes the callbacks and the context from the options, and nothing else.
    init(_ options: fp_options) {
        self.options = options
    }

    deinit {
        self.options.release_context?(self.options.context)
    }

    /// Asks for the header fields that say who the user is; none where nobody can be asked.
    func credentials() async throws -> [(name: String, value: String)] {
        guard let callback = self.options.credentials else { return [] }
        let reply = CredentialsReply()
        withExtendedLifetime(self) { callback(self.options.context, reply.given()) }
        return try await reply.answer.value()
    }

    /// What sends the requests, or `nil` where that is the library.
    var transport: (any HTTPTransport)? {
        self.options.http == nil ? nil : CallbackTransport(callbacks: self)
    }

    /// Has the app send a request.
    func send(_ exchange: HTTPExchange) {
        withExtendedLifetime(self) { self.options.http?(self.options.context, exchange.given()) }
    }

    /// Reports what happens to tokens until the provider is gone, which the events must not keep alive.
    func report(_ events: @autoclosure () -> AsyncStream<TokenEvent>) {
        guard self.options.on_event != nil else { return }
        let events = events()
        Task {
            for await event in events {
                withExtendedLifetime(self) { self.options.on_event?(self.options.context, event.given()) }
            }
        }
    }
}

/// Sends requests through the app.
private struct CallbackTransport: HTTPTransport {
    let callbacks: Callbacks

    func send(_ request: HTTPTransportRequest) async throws -> HTTPTransportResponse {
        let exchange = HTTPExchange(request)
        self.callbacks.send(exchange)
        return try await exchange.answer.value()
    }
}
