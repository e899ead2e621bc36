// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// One of the sample apps' routes: `/token/KIND/ID`.
///
/// There is no route for a server token: a backend that needs one holds its own credentials.
enum TokenRoute: String, CaseIterable {
    case driver
    case consumer
    case deliveryDriver = "delivery_driver"
    case deliveryConsumer = "delivery_consumer"
    case fleetReader = "fleet_reader"

    /// The keys of the answer.
    var answerShape: TokenAnswer.Shape {
        switch self {
        case .driver, .consumer: .onDemand
        case .deliveryDriver, .deliveryConsumer, .fleetReader: .scheduled
        }
    }

    /// The token that a caller gets in place of another that it may not have.
    ///
    /// The path tells no device from another: who may have trusted drivers' tokens alone gets one for its vehicle.
    ///
    /// - Parameter type: What was asked for.
    /// - Returns: The other token, with the same claims; `nil` where there is none.
    static func alternative(to type: TokenType) -> TokenType? {
        if case .deliveryUntrustedDriver(let vehicle) = type { .deliveryTrustedDriver(vehicle, task: nil) } else { nil }
    }

    /// Reads a request.
    ///
    /// - Parameters:
    ///   - path: The path, still percent-encoded.
    ///   - query: The query, as it was sent. Its `task` is what a delivery driver's token is to reach as well, which only a
    ///     trusted driver's can.
    /// - Returns: The route, and the token that it is asked for.
    /// - Throws: ``RouteError``.
    static func tokenType(
        ofPath path: String, query: String? = nil
    ) throws(RouteError) -> (route: TokenRoute, type: TokenType) {
        // Split first, decode then: an encoded slash stays part of the id, where it is refused.
        var segments = PathSegments(path[...])
        // What is before the first slash, and `token`.
        (_, _) = (segments.next(), segments.next())
        let kind = segments.next().map(String.init) ?? ""
        guard let route = TokenRoute(rawValue: kind.lowercased()) else {
            throw .notFound(
                "There is no token route \"\(kind.prefix(64))\"; use "
                    + "\(TokenRoute.allCases.map(\.rawValue).joined(separator: ", "))."
            )
        }
        let ids = Array(IteratorSequence(segments))
        guard route != .fleetReader else {
            guard ids.isEmpty else { throw .badRequest("The route fleet_reader takes no id.") }
            return (route, .deliveryFleetReader)
        }
        guard ids.count == 1, let encoded = ids.first else {
            throw .badRequest("The route \(route.rawValue) takes one id: /token/\(route.rawValue)/ID.")
        }
        guard let id = PercentCoding.decode(encoded) else {
            throw .badRequest("The id is not percent-encoded UTF-8.")
        }
        let task = try route == .deliveryDriver ? Self.task(inQuery: query ?? "") : nil
        do throws(TokenError) {
            switch route {
            case .driver: return (route, .driver(try VehicleID(checking: id)))
            case .consumer: return (route, .consumer(try TripID(checking: id)))
            case .deliveryDriver:
                let vehicle = try DeliveryVehicleID(checking: id)
                guard let task else { return (route, .deliveryUntrustedDriver(vehicle)) }
                return (route, .deliveryTrustedDriver(vehicle, task: try TaskID(checking: task)))
            case .deliveryConsumer, .fleetReader:
                return (route, .deliveryConsumer(try TrackingID(checking: id)))
            }
        } catch {
            throw .badRequest(error.message)
        }
    }

    /// The task that a query names, if any.
    private static func task(inQuery query: String) throws(RouteError) -> String? {
        let tasks = QueryParameter.all(in: query).filter { $0.name == "task" }
        guard let first = tasks.first else { return nil }
        guard tasks.count == 1 else { throw .badRequest("The parameter task stands twice.") }
        guard let task = first.value else { throw .badRequest("The task is not percent-encoded UTF-8.") }
        return task
    }
}
