// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation

/// What the SDKs hand to a fetcher.
struct FetcherContext: Hashable, Sendable {
    /// The vehicle or the trip.
    var id: String?
    var taskID: String?

    init(_ id: String?, task: String? = nil) {
        self.id = id
        self.taskID = task
    }
}

/// A token fetcher in the shape of the SDKs' protocols, whoever wrote it.
protocol FetcherUnderTest: AnyObject, Sendable {
    /// Gets exactly one of a token and an error.
    typealias Completion = @Sendable (String?, (any Error)?) -> Void

    func fetchToken(for context: FetcherContext?, completion: @escaping Completion)

    /// What the app calls after Fleet Engine refused a token.
    func dropToken(_ token: String, for context: FetcherContext)
}

/// Which SDK a fetcher serves.
enum FetcherService: Sendable {
    case driver, consumer, deliveryDriver
}

/// Which contract the token server keeps to.
enum ServerContract: CaseIterable, Sendable {
    /// Milliseconds since 1970, in one key or the other.
    case onDemand, scheduled
    /// Seconds from now.
    case fleetpass

    func endpoint(_ server: URL) throws(TokenClientError) -> TokenEndpoint {
        switch self {
        case .onDemand: try .onDemand(server)
        case .scheduled: try .scheduled(server)
        case .fleetpass: try .fleetpass(server)
        }
    }
}

/// Everything outside a fetcher, so that a test decides it.
struct FetcherSurroundings: Sendable {
    let service: FetcherService
    let contract: ServerContract
    /// The token server's address as the app was configured with it.
    let address: String
    let clock: ManualClock
    /// The phone's date in Unix seconds, which its user may set.
    let phoneDate: @Sendable () -> Double
    /// Opens a session.
    let makeTransport: @Sendable () -> any HTTPTransport
    let credentials: [(name: String, value: String)]
    /// Writes a line to the app's log.
    let log: @Sendable (String) -> Void
    /// Stands for a crash, which no test could survive.
    let crash: @Sendable (String) -> Void
    /// Another thread's turn, in the middle of what no lock protects.
    let interruption: @Sendable () async -> Void
}

extension TokenSubject {
    /// Whose token an SDK asks for with a context.
    init(_ context: FetcherContext, service: FetcherService) throws(TokenError) {
        let id = context.id ?? ""
        switch service {
        case .driver: self = .driver(try VehicleID(checking: id))
        case .consumer: self = .consumer(try TripID(checking: id))
        case .deliveryDriver:
            guard let task = context.taskID else {
                self = .deliveryDriver(try DeliveryVehicleID(checking: id))
                return
            }
            self = .deliveryDriver(try DeliveryVehicleID(checking: id), task: try TaskID(checking: task))
        }
    }
}
