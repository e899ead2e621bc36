// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokenClient
import FleetTokens
public import Foundation

extension ChaosTokenServer {
    /// Whose token an address of the form `…/KIND/ID?task=TASK` asks for, which all three known contracts use.
    ///
    /// - Parameter url: The address that a client called.
    /// - Returns: The subject, or `nil` for any other address.
    public static func subject(at url: URL) -> TokenSubject? {
        let segments = url.path(percentEncoded: true).split(separator: "/")
            .map { $0.removingPercentEncoding ?? String($0) }
        if segments.last == TokenSubject.fleetReader.kind { return .fleetReader }
        guard let id = segments.last, let kind = segments.dropLast().last else { return nil }
        let query = URLComponents(url: url, resolvingAgainstBaseURL: true)?.queryItems
        let task = query?.first { $0.name == "task" }?.value
        do throws(TokenError) {
            switch kind {
            case "driver": return .driver(try VehicleID(checking: id))
            case "consumer": return .consumer(try TripID(checking: id))
            case "delivery_consumer": return .deliveryConsumer(try TrackingID(checking: id))
            case "delivery_driver":
                guard let task else { return .deliveryDriver(try DeliveryVehicleID(checking: id)) }
                return .deliveryDriver(try DeliveryVehicleID(checking: id), task: try TaskID(checking: task))
            default: return nil
            }
        } catch {
            return nil
        }
    }
}
