// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens

extension CallRecording {
    /// What must be there for a call to be replayed: a recording starts in the middle of things.
    ///
    /// - Parameter provider: Whose resources they are.
    /// - Returns: By the index of the call that they precede: first of all, creations of the resources that the recording
    ///   does not create, as their first answers show them, with the least of what these do not tell; then what only an
    ///   update sets, such as the end of a trip, and the stops of delivery vehicles. Stops with tasks that the recording
    ///   creates are set before the vehicle is first used.
    public func presumed(for provider: ProviderID) -> [Int: [ReplayedCall]] {
        var resources = PresumedResources()
        var presumed: [Int: [ReplayedCall]] = [:]
        var plans: [ReplayedCall] = []
        for (index, call) in self.calls.enumerated() {
            guard resources.add(usedBy: call), let whole = call.plan(for: provider, without: []) else { continue }
            if resources.created.isDisjoint(with: call.response?.stopTasks ?? []) {
                plans.append(whole)
            } else {
                plans += [call.plan(for: provider, without: resources.created)].compactMap(\.self)
                presumed[index] = [whole]
            }
        }
        // What is used tells more of itself than its name.
        for (index, call) in self.calls.enumerated() {
            resources.add(namedBy: call)
            let trips = resources.addTrips(shownBy: call)
            guard !trips.isEmpty else { continue }
            presumed[index, default: []] +=
                trips.map { $0.creation(for: provider) } + trips.compactMap { $0.update(for: provider) }
        }
        resources.addShipments()
        let start =
            resources.inOrder.map { $0.creation(for: provider) }
            + resources.inOrder.compactMap { $0.update(for: provider) } + plans
        presumed[0, default: []].insert(contentsOf: start, at: 0)
        return presumed
    }
}

/// What a recording finds there, as it does not create it.
private struct PresumedResources {
    private var resources: [PresumedResource] = []
    /// Where each of these resources is, by `collection/id`.
    private var indices: [String: Int] = [:]
    /// These resources and those that the recording creates, as `collection/id`.
    private var known: Set<String> = []
    /// The ids of the tasks that the recording has created so far.
    private(set) var created: Set<String> = []
    /// Their tracking ids, and those that ``shipments`` has.
    private var tracked: Set<String> = []
    /// The tasks that stood at stops so far; those that are closed then were closed meanwhile.
    private var planned: Set<String> = []
    /// The tracking ids that were asked for of other tasks, each once, with the first answer.
    private var shipments: [(trackingID: String, answer: JSONObject)] = []

    /// The resources in an order in which they can be created: a trip may be assigned to a vehicle.
    var inOrder: [PresumedResource] {
        ["vehicles", "deliveryVehicles", "tasks", "trips"].flatMap { name in
            self.resources.filter { $0.collection == name }
        }
    }

    /// Adds the resource that a call is about, if it must have been there.
    ///
    /// - Parameter call: The next call; one that was refused needs nothing.
    /// - Returns: Whether it was added.
    mutating func add(usedBy call: LoggedCall) -> Bool {
        guard let answer = call.response else { return false }
        defer { self.planned.formUnion([call.resource, answer].compactMap(\.self).flatMap(\.stopTasks)) }
        for (id, task) in call.createdTasks {
            self.known.insert("tasks/\(id)")
            self.created.insert(id)
            if let tracking = task["trackingId"]?.string { self.tracked.insert(tracking) }
        }
        guard let collection = call.collection, let id = call.resourceID else { return false }
        switch call.method {
        case .createVehicle, .createTrip, .createDeliveryVehicle, .createTask:
            self.known.insert("\(collection)/\(id)")
            return false
        case .getTaskTrackingInfo:
            if self.tracked.insert(id).inserted { self.shipments.append((trackingID: id, answer: answer)) }
            return false
        default:
            var set = call.maskedFields
            if collection == "tasks", self.planned.contains(id) { set.insert("state") }
            return self.add(PresumedResource(collection: collection, id: id, answer: answer, set: set))
        }
    }

    /// Adds what a call names beside the resource that it is about: tasks and trips at stops, and vehicles of trips.
    ///
    /// - Parameter call: A call; one that was refused may name what there is not.
    mutating func add(namedBy call: LoggedCall) {
        guard let answer = call.response else { return }
        let objects = [call.resource, answer].compactMap(\.self)
        for id in objects.flatMap(\.stopTasks) { self.add(PresumedResource(collection: "tasks", id: id)) }
        guard call.collection == "trips" else { return }
        for id in objects.compactMap({ $0["vehicleId"]?.string }) where !id.isEmpty {
            self.add(PresumedResource(collection: "vehicles", id: id))
        }
    }

    /// Gives the trips that a vehicle shows at its stops for the first time; before that, they were not on it.
    ///
    /// No call is about them, and the vehicle was there before the recording.
    ///
    /// - Parameter call: The next call.
    /// - Returns: The trips, with their places at the stops.
    mutating func addTrips(shownBy call: LoggedCall) -> [PresumedResource] {
        guard call.collection == "vehicles", let vehicle = call.resourceID,
            let stops = call.response?["waypoints"]?.array?.compactMap(\.object),
            self.indices["vehicles/\(vehicle)"] != nil
        else { return [] }
        var shown: [String] = []
        for id in stops.compactMap({ $0["tripId"]?.string }) where !id.isEmpty && !shown.contains(id) {
            shown.append(id)
        }
        return shown.filter { self.known.insert("trips/\($0)").inserted }.map { id in
            PresumedResource(
                trip: id, of: vehicle, stops: stops.filter { $0["tripId"] == .string(id) }, isAlone: shown.count == 1)
        }
    }

    /// Adds a task for each tracking id that was asked for and that no task has.
    mutating func addShipments() {
        let shown = Set(self.resources.compactMap(\.trackingID))
        for (id, answer) in self.shipments where !shown.contains(id) {
            var shipment = PresumedResource(collection: "tasks", id: id, answer: answer)
            shipment.body["trackingId"] = .string(id)
            // Often the task has the tracking id for its own, too, and may be known by name already.
            if let index = self.indices["tasks/\(id)"], self.resources[index].body.isEmpty {
                self.resources[index] = shipment
            } else {
                self.add(shipment)
            }
        }
    }

    @discardableResult
    private mutating func add(_ resource: PresumedResource) -> Bool {
        let name = "\(resource.collection)/\(resource.id)"
        guard self.known.insert(name).inserted else { return false }
        self.indices[name] = self.resources.count
        self.resources.append(resource)
        return true
    }
}

/// A resource that a recording finds there.
private struct PresumedResource {
    /// Such as `vehicles`.
    let collection: String
    let id: String
    /// What an answer tells of it that a creation takes; empty where it is known by its name only.
    var body: JSONObject
    /// What an answer tells of it that only an update sets.
    private var later: JSONObject

    /// Keeps what an answer tells.
    ///
    /// - Parameters:
    ///   - collection: Such as `vehicles`.
    ///   - id: The id.
    ///   - answer: The first answer that shows the resource.
    ///   - set: The fields that this call or an earlier one has set, of which nothing is known before.
    init(collection: String, id: String, answer: JSONObject = JSONObject(), set: Set<String> = []) {
        self.collection = collection
        self.id = id
        self.body = answer
        self.later = Self.later(in: answer, of: collection, but: set)
        switch collection {
        // It may have stops behind it that a new trip has ahead, or have those of other trips, which come later.
        case "trips": self.body["vehicleWaypoints"] = nil
        case "deliveryVehicles": self.body = answer.only(["type", "attributes"])
        case "tasks":
            self.body = answer.only([
                "type", "attributes", "trackingId", "plannedLocation", "taskDuration", "targetTimeWindow",
            ])
        default: break
        }
    }

    /// Keeps what the stops of a vehicle tell of a trip.
    ///
    /// - Parameters:
    ///   - id: The trip's id.
    ///   - vehicle: The vehicle's id.
    ///   - stops: The stops that the trip has left.
    ///   - isAlone: Whether the vehicle has no other trip, in whose company a trip must be a shared one.
    init(trip id: String, of vehicle: String, stops: [JSONObject], isAlone: Bool) {
        func places(_ kind: String) -> [JSONValue] {
            stops.filter { $0["waypointType"] == .string("\(kind)_WAYPOINT_TYPE") }.compactMap { $0["location"] }
        }
        let (pickup, dropoff) = (places("PICKUP").first, places("DROP_OFF").first)
        let destinations = places("INTERMEDIATE_DESTINATION")
        self.collection = "trips"
        self.id = id
        self.body = [
            "vehicleId": .string(vehicle), "pickupPoint": pickup, "dropoffPoint": dropoff,
            "tripType": .string(isAlone || !destinations.isEmpty ? "EXCLUSIVE" : "SHARED"),
            "intermediateDestinations": destinations.isEmpty ? nil : .array(destinations),
        ]
        self.later =
            switch (pickup, destinations.first, dropoff) {
            case (nil, _?, _):
                [
                    "tripStatus": .string("ENROUTE_TO_INTERMEDIATE_DESTINATION"),
                    "intermediateDestinationIndex": .integer(0),
                ]
            case (nil, nil, _?): ["tripStatus": .string("ENROUTE_TO_DROPOFF")]
            default: [:]
            }
    }

    /// The tracking id of a task that has one.
    var trackingID: String? { self.collection == "tasks" ? self.body["trackingId"]?.string : nil }

    /// The call that makes it.
    func creation(for provider: ProviderID) -> ReplayedCall {
        let idField = String(self.collection.dropLast()) + "Id"
        return ReplayedCall(
            "POST", ["v1", "providers", provider.value, self.collection], query: [(name: idField, value: self.id)],
            body: LeastCreation.filled(self.body, of: self.collection),
            isDelivery: ["deliveryVehicles", "tasks"].contains(self.collection))
    }

    /// The call that sets what its creation does not take; `nil` where that is nothing.
    func update(for provider: ProviderID) -> ReplayedCall? {
        guard !self.later.isEmpty else { return nil }
        let isDelivery = self.collection == "tasks"
        return ReplayedCall(
            isDelivery ? "PATCH" : "PUT", ["v1", "providers", provider.value, self.collection, self.id],
            query: [(name: "updateMask", value: self.later.keys.sorted().joined(separator: ","))], body: self.later,
            isDelivery: isDelivery)
    }

    private static func later(in answer: JSONObject, of collection: String, but set: Set<String>) -> JSONObject {
        switch collection {
        case "trips":
            let isNew = ["NEW", "UNKNOWN_TRIP_STATUS", nil].contains(answer["tripStatus"]?.string)
            guard !isNew, !set.contains("tripStatus") else { return JSONObject() }
            return answer.only(["tripStatus", "intermediateDestinationIndex"])
        case "tasks":
            var fields: Set<String> = []
            if answer["state"] == .string("CLOSED"), !set.contains("state") { fields.insert("state") }
            if let outcome = answer["taskOutcome"]?.string, outcome != "TASK_OUTCOME_UNSPECIFIED",
                !set.contains("taskOutcome")
            {
                fields.formUnion(["taskOutcome", "taskOutcomeTime", "taskOutcomeLocation"])
            }
            return answer.only(fields)
        default:
            return JSONObject()
        }
    }
}

extension LoggedCall {
    /// The fields that only an update may set, of a delivery vehicle that is on its way.
    ///
    /// The end of the route is among them, so that one that the log does not tell is none.
    private static let plan = [
        "remainingVehicleJourneySegments", "currentRouteSegment", "currentRouteSegmentEndPoint",
        "remainingDistanceMeters",
    ]

    /// Sets the stops of a delivery vehicle, as the answer shows them.
    ///
    /// - Parameters:
    ///   - provider: Whose vehicle it is.
    ///   - tasks: The tasks that are not there yet; stops with none but these are left out.
    /// - Returns: The call that does it; `nil` where this one is about something else.
    fileprivate func plan(for provider: ProviderID, without tasks: Set<String>) -> ReplayedCall? {
        guard let collection, collection == "deliveryVehicles", let id = self.resourceID else { return nil }
        return ReplayedCall(
            "PATCH", ["v1", "providers", provider.value, collection, id],
            query: [(name: "updateMask", value: Self.plan.joined(separator: ","))],
            body: self.response?.only(Set(Self.plan)).without(tasks: tasks), isDelivery: true)
    }

    /// The tasks that the call creates, with their ids.
    fileprivate var createdTasks: [(id: String, task: JSONObject)] {
        switch self.method {
        case .createTask:
            guard let id = self.resourceID else { return [] }
            return [(id: id, task: self.resource ?? JSONObject())]
        case .batchCreateTasks:
            let requests = self.request["requests"]?.array?.compactMap(\.object) ?? []
            return requests.compactMap { request in
                guard let id = request["taskId"]?.string else { return nil }
                return (id: id, task: request["task"]?.object ?? JSONObject())
            }
        default:
            return []
        }
    }
}

extension JSONObject {
    /// A delivery vehicle without some tasks, and without the stops that have none but these.
    fileprivate func without(tasks: Set<String>) -> JSONObject {
        guard !tasks.isEmpty, let segments = self["remainingVehicleJourneySegments"]?.array else { return self }
        var vehicle = self
        vehicle["remainingVehicleJourneySegments"] = .array(
            segments.compactMap { segment in
                guard var changed = segment.object, var stop = changed["stop"]?.object,
                    let named = stop["tasks"]?.array, !named.isEmpty
                else { return segment }
                let left = named.filter { task in
                    (task.object?["taskId"]?.string).map { !tasks.contains($0) } ?? true
                }
                guard !left.isEmpty else { return nil }
                stop["tasks"] = .array(left)
                changed["stop"] = .object(stop)
                return .object(changed)
            })
        return vehicle
    }
}
