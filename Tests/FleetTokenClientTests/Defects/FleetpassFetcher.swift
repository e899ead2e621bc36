// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import FleetTokens
import Foundation

/// `FleetTokenProvider` in the SDKs' shape, with nothing added but the translation.
final class FleetpassFetcher: FetcherUnderTest {
    private let provider: FleetTokenProvider
    private let surroundings: FetcherSurroundings

    init(_ surroundings: FetcherSurroundings) throws {
        guard let url = URL(string: surroundings.address) else {
            throw TokenClientError(code: .invalidConfiguration, message: "The address is not a URL.")
        }
        self.surroundings = surroundings
        self.provider = try FleetTokenProvider(
            endpoint: surroundings.contract.endpoint(url), transport: surroundings.makeTransport(),
            clock: surroundings.clock
        ) { surroundings.credentials }
        let events = self.provider.events()
        Task { for await event in events { surroundings.log("\(event)") } }
    }

    func fetchToken(for context: FetcherContext?, completion: @escaping Completion) {
        do {
            let subject = try TokenSubject(context, service: self.surroundings.service)
            self.provider.fetchToken(for: subject, clock: self.surroundings.clock) { result in
                switch result {
                case .success(let token): completion(token.compactSerialization, nil)
                case .failure(let error): completion(nil, error)
                }
            }
        } catch {
            Task { completion(nil, error) }
        }
    }

    func dropToken(_ token: String, for context: FetcherContext) {
        guard let subject = try? TokenSubject(context, service: self.surroundings.service) else { return }
        self.provider.invalidate(FleetToken(token), for: subject)
    }
}

extension TokenSubject {
    /// Reads what an SDK hands over.
    init(_ context: FetcherContext?, service: FetcherService) throws(TokenError) {
        let id = context?.id ?? ""
        switch service {
        case .driver: self = .driver(try VehicleID(checking: id))
        case .consumer: self = .consumer(try TripID(checking: id))
        case .deliveryDriver:
            guard let task = context?.taskID else {
                self = .deliveryDriver(try DeliveryVehicleID(checking: id))
                return
            }
            self = .deliveryDriver(try DeliveryVehicleID(checking: id), task: try TaskID(checking: task))
        }
    }
}
