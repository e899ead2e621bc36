// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import Foundation

/// A provider behind `SDKAuthorization`, as the files in `Integrations/` put it before the SDKs; nothing is added.
final class FleetpassFetcher: FetcherUnderTest {
    private let authorization: SDKAuthorization
    private let service: FetcherService

    init(_ surroundings: FetcherSurroundings) throws {
        guard let url = URL(string: surroundings.address) else {
            throw TokenClientError(code: .invalidConfiguration, message: "The address is not a URL.")
        }
        let provider = try FleetTokenProvider(
            endpoint: surroundings.contract.endpoint(url), transport: surroundings.makeTransport(),
            clock: surroundings.clock
        ) { surroundings.credentials }
        let events = provider.events()
        Task { for await event in events { surroundings.log("\(event)") } }
        self.authorization = SDKAuthorization(provider, clock: surroundings.clock)
        self.service = surroundings.service
    }

    func fetchToken(for context: FetcherContext?, completion: @escaping Completion) {
        switch self.service {
        case .driver:
            self.authorization.fetchDriverToken(
                vehicleID: context?.id, taskID: context?.taskID, completion: completion)
        case .deliveryDriver:
            self.authorization.fetchDriverToken(
                vehicleID: context?.id, taskID: context?.taskID, service: .scheduledTasks, completion: completion)
        case .consumer:
            self.authorization.fetchConsumerToken(tripID: context?.id, completion: completion)
        }
    }

    func dropToken(_: String, for context: FetcherContext) {
        guard let id = context.id else { return }
        switch self.service {
        case .driver, .deliveryDriver: self.authorization.lastTokenWasRefused(vehicleID: id)
        case .consumer: self.authorization.lastTokenWasRefused(tripID: id)
        }
    }
}
