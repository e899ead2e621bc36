// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// The private claims of a Fleet Engine token: which resources it reaches.
///
/// They travel in the payload's `authorization` object under the lower-case keys `vehicleid`, `tripid`,
/// `deliveryvehicleid`, `taskid`, `taskids` and `trackingid`. The combination rules of the JWT guide are checked on
/// construction: `taskids` stands alone; a `trackingid` for one shipment is not combined with the other claims of the
/// scheduled-tasks service (a reader's token that holds only wildcards is the one exception, because the service's
/// own library mints it).
public struct AuthorizationClaims: Hashable, Sendable {
    /// The vehicle of an on-demand driver; `vehicleid`.
    public let vehicle: Scope<VehicleID>?
    /// The trip of an on-demand consumer; `tripid`.
    public let trip: Scope<TripID>?
    /// The vehicle of a delivery driver; `deliveryvehicleid`.
    public let deliveryVehicle: Scope<DeliveryVehicleID>?
    /// One scheduled task; `taskid`.
    public let task: Scope<TaskID>?
    /// The tasks a batch creation may name; `taskids`.
    public let taskList: TaskListScope?
    /// The shipment of a delivery consumer; `trackingid`.
    public let tracking: Scope<TrackingID>?
    /// Further claims of a custom token, which the engine ignores.
    public let additional: [String: String]
    /// The names of unknown claims in a token whose values are no strings, in order.
    private var namesOfOtherValues: [String] = []

    /// Combines claims.
    ///
    /// - Throws: ``TokenError`` with ``TokenError/Code/invalidClaims`` when the combination is not allowed.
    public init(
        vehicle: Scope<VehicleID>? = nil,
        trip: Scope<TripID>? = nil,
        deliveryVehicle: Scope<DeliveryVehicleID>? = nil,
        task: Scope<TaskID>? = nil,
        taskList: TaskListScope? = nil,
        tracking: Scope<TrackingID>? = nil,
        additional: [String: String] = [:]
    ) throws(TokenError) {
        func invalid(_ message: String) -> TokenError { TokenError(code: .invalidClaims, message: message) }
        if let taskList {
            guard deliveryVehicle == nil, task == nil, tracking == nil, vehicle == nil, trip == nil else {
                throw invalid("taskids stands alone; remove the other claims or mint a second token.")
            }
            if case .only(let ids) = taskList, ids.isEmpty {
                throw invalid("taskids is empty; list every task of the batch, or the wildcard alone.")
            }
        }
        if case .only = tracking, deliveryVehicle != nil || task != nil {
            throw invalid("trackingid is not combined with deliveryvehicleid or taskid; mint a token for each.")
        }
        if tracking == .any, ![nil, .any].contains(deliveryVehicle) || ![nil, .any].contains(task) {
            throw invalid("A wildcard trackingid is combined with wildcards only.")
        }
        for key in additional.keys where Key(rawValue: key) != nil {
            throw invalid("\"\(key)\" is a claim of its own; set it by its name, not as an additional claim.")
        }
        self.vehicle = vehicle
        self.trip = trip
        self.deliveryVehicle = deliveryVehicle
        self.task = task
        self.taskList = taskList
        self.tracking = tracking
        self.additional = additional
    }

    /// Whether nothing is claimed that counts; ``additional`` claims do not, as the engine ignores them.
    public var isEmpty: Bool {
        self.vehicle == nil && self.trip == nil && self.deliveryVehicle == nil && self.task == nil
            && self.taskList == nil && self.tracking == nil
    }

    /// Whether there are claims that the engine ignores.
    var hasIgnored: Bool { !self.additional.isEmpty || !self.namesOfOtherValues.isEmpty }

    /// The names of all claims that the engine ignores, in order; nothing is granted by them.
    package var ignoredNames: [String] { (self.additional.keys + self.namesOfOtherValues).sorted() }

    /// The keys of the `authorization` object.
    enum Key: String, CaseIterable {
        case vehicleid, tripid, deliveryvehicleid, taskid, taskids, trackingid
    }
}

// MARK: - JSON

extension AuthorizationClaims {
    /// The `authorization` object.
    package var json: JSONValue {
        var object = JSONObject(self.additional.mapValues { .string($0) })
        func put<Kind>(_ scope: Scope<FleetID<Kind>>?, _ key: Key) {
            switch scope {
            case .only(let id): object[key.rawValue] = .string(id.value)
            case .any: object[key.rawValue] = .string("*")
            case nil: break
            }
        }
        put(self.vehicle, .vehicleid)
        put(self.trip, .tripid)
        put(self.deliveryVehicle, .deliveryvehicleid)
        put(self.task, .taskid)
        put(self.tracking, .trackingid)
        switch self.taskList {
        case .only(let ids): object[Key.taskids.rawValue] = .array(ids.map { .string($0.value) })
        case .any: object[Key.taskids.rawValue] = .array([.string("*")])
        case nil: break
        }
        return .object(object)
    }

    /// Reads the `authorization` object of a token.
    ///
    /// Unknown claims with a string value are kept in ``additional``; of others the names are, as nothing depends on
    /// their values.
    ///
    /// - Throws: ``TokenError`` with ``TokenError/Code/invalidClaims`` or ``TokenError/Code/invalidIdentifier``.
    package init(json object: JSONObject) throws(TokenError) {
        func wrongType(_ key: String, _ wanted: String) -> TokenError {
            TokenError(code: .invalidClaims, message: "The claim \(key) is not \(wanted).")
        }
        func scope<Kind>(_ value: JSONValue, _ key: String) throws(TokenError) -> Scope<FleetID<Kind>> {
            guard case .string(let text) = value else { throw wrongType(key, "a string") }
            return text == "*" ? .any : .only(try FleetID<Kind>(checking: text))
        }
        func list(_ value: JSONValue) throws(TokenError) -> TaskListScope {
            guard case .array(let items) = value else { throw wrongType("taskids", "an array of strings") }
            if items == [.string("*")] { return .any }
            guard !items.contains(.string("*")) else {
                throw TokenError(
                    code: .invalidClaims,
                    message: "The claim taskids holds \"*\" beside others; the wildcard must be its only element.")
            }
            var ids: [TaskID] = []
            for item in items {
                guard case .string(let text) = item else { throw wrongType("taskids", "an array of strings") }
                ids.append(try TaskID(checking: text))
            }
            return .only(ids)
        }
        var vehicle: Scope<VehicleID>?
        var trip: Scope<TripID>?
        var deliveryVehicle: Scope<DeliveryVehicleID>?
        var task: Scope<TaskID>?
        var taskList: TaskListScope?
        var tracking: Scope<TrackingID>?
        var additional: [String: String] = [:]
        var namesOfOtherValues: [String] = []
        for (key, value) in object {
            switch Key(rawValue: key) {
            case .vehicleid: vehicle = try scope(value, key)
            case .tripid: trip = try scope(value, key)
            case .deliveryvehicleid: deliveryVehicle = try scope(value, key)
            case .taskid: task = try scope(value, key)
            case .taskids: taskList = try list(value)
            case .trackingid: tracking = try scope(value, key)
            case nil:
                if case .string(let text) = value { additional[key] = text } else { namesOfOtherValues.append(key) }
            }
        }
        try self.init(
            vehicle: vehicle, trip: trip, deliveryVehicle: deliveryVehicle, task: task, taskList: taskList,
            tracking: tracking, additional: additional
        )
        self.namesOfOtherValues = namesOfOtherValues.sorted()
    }
}

// MARK: - Words

extension AuthorizationClaims {
    /// The claims as one line of JSON, for logs and explanations.
    public var summary: String {
        String(decoding: self.json.serialized, as: UTF8.self)
    }
}
