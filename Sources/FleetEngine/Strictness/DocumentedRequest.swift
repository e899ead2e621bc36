// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens

/// A request that tells what in it departs from the documentation.
protocol DocumentedRequest: Sendable {
    /// What departs from the documentation, whatever the token.
    var deviations: DeviationSet { get }
    /// The kind of program that says it sent the request; `nil` where it says nothing.
    var sender: RequestSender? { get }
    /// What the request says of a vehicle's place, where that is what it is about.
    var report: LocationReport? { get }
}

extension DocumentedRequest {
    var deviations: DeviationSet { [] }
    var sender: RequestSender? { nil }
    var report: LocationReport? { nil }
}

/// What an update says of a vehicle's place.
struct LocationReport: Sendable {
    /// Whether it brings a location.
    var isLocated = false
    /// Whether that is the device's own, rather than one from elsewhere.
    var isOfDevice = false
    /// Whether the vehicle stops reporting with it.
    var isLast = false
}

/// What a request's header says of the program that sent it.
struct RequestSender: Sendable {
    /// The SDKs that say who they are.
    enum SDK: Sendable {
        case consumer, driver
        /// The JavaScript library, for customers and for operators.
        case javaScript
    }

    /// The SDK; `nil` for any other program.
    let sdk: SDK?
    /// Whether a region is given, which the contract requires.
    let namesRegion: Bool

    /// What departs from the documentation with a token of an account.
    func deviations(under account: TrustedAccount?) -> DeviationSet {
        var found: DeviationSet = self.namesRegion ? [] : [.headerWithoutRegion]
        guard let account, account.role != nil, let sdk else { return found }
        let foreseen: Set<Role> =
            switch sdk {
            case .driver: [.driver, .deliveryUntrustedDriver, .deliveryTrustedDriver]
            case .consumer: [.consumer, .deliveryConsumer]
            case .javaScript: [.consumer, .deliveryConsumer, .fleetReader, .deliveryFleetReader]
            }
        if account.roles.isDisjoint(with: foreseen) { found.insert(.backendTokenInSDK) }
        return found
    }
}

/// A request with the header of its service.
protocol HeaderedRequest: DocumentedRequest {
    associatedtype Header: SenderHeader
    var header: Header { get }
    var hasHeader: Bool { get }
}

extension HeaderedRequest {
    var sender: RequestSender? { self.hasHeader ? self.header.sender : nil }
}

/// The header of either service.
protocol SenderHeader {
    var regionCode: String { get }
    var sdk: RequestSender.SDK? { get }
}

extension SenderHeader {
    fileprivate var sender: RequestSender { RequestSender(sdk: self.sdk, namesRegion: !self.regionCode.isEmpty) }
}

extension Maps_Fleetengine_V1_RequestHeader: SenderHeader {
    var sdk: RequestSender.SDK? {
        switch self.sdkType {
        case .consumer: .consumer
        case .driver: .driver
        case .javascript: .javaScript
        case .unspecified, .UNRECOGNIZED: nil
        }
    }
}

extension Maps_Fleetengine_Delivery_V1_DeliveryRequestHeader: SenderHeader {
    var sdk: RequestSender.SDK? {
        switch self.sdkType {
        case .consumer: .consumer
        case .driver: .driver
        case .javascript: .javaScript
        case .unspecified, .UNRECOGNIZED: nil
        }
    }
}
