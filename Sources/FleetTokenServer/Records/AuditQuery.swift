// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

public import FleetTokens
public import Foundation

/// What to look for in the audit; every part that is given must hold.
public struct AuditQuery: Sendable {
    /// What a token's holder could read, or what was changed.
    public var resource: AssignedResource?
    /// The vehicle that the trip was assigned to, where it is known.
    public var vehicleOfTrip: VehicleID?
    /// When a token could be used.
    public var time: Date?
    /// Nothing that was decided before.
    public var from: Date?
    /// Nothing that was decided at that time or after.
    public var until: Date?
    /// The caller's name, or the administrator's.
    public var caller: String?
    /// The caller's subject, whichever authenticator vouched for it; of a change, also whom it was about.
    public var subject: String?
    /// A token's fingerprint.
    public var fingerprint: String?
    /// What became of the request.
    public var decision: AuditRecord.Decision?
    /// Only events of this kind.
    public var kind: AuditEvent.Kind?
    /// Nothing up to this place in the chain.
    var after: AuditHead?
    /// A text that a record must hold somewhere, so that few are read; no condition by itself.
    var mentioned: String?

    /// Looks for everything; narrow it by its properties.
    public init() {}
}

/// An event that a query found.
public struct AuditMatch: Sendable {
    /// The event with its place.
    public let entry: AuditEntry
    /// The event.
    public let event: AuditEvent
    /// The token reaches the trip only while it is assigned to this vehicle; `nil` where the claims alone reach it.
    public let onlyWhileAssignedTo: VehicleID?
}

extension AuditQuery {
    /// What the database can decide, so that few records are read.
    var sql: (condition: String, values: [StoreValue]) {
        var conditions = ["1 = 1"]
        var values: [StoreValue] = []
        func require(_ condition: String, _ value: StoreValue) {
            conditions.append(condition)
            values.append(value)
        }
        func milliseconds(_ date: Date) -> StoreValue {
            .integer(Int64((date.timeIntervalSince1970 * 1000).rounded(.down)))
        }
        if let time {
            // No token lives longer than an hour from the moment it was given.
            require("time_ms > ?", milliseconds(time.addingTimeInterval(-3600)))
            require("time_ms <= ?", milliseconds(time))
        }
        if let from { require("time_ms >= ?", milliseconds(from)) }
        if let until { require("time_ms < ?", milliseconds(until)) }
        if let fingerprint { require("fingerprint = ?", .text(fingerprint)) }
        if let after { require("sequence > ?", .integer(after.sequence)) }
        if let mentioned {
            // As it is spelt in the record's JSON, with the pattern's own signs for themselves.
            let spelt = String(decoding: JSONValue.string(mentioned).serialized.dropFirst().dropLast(), as: UTF8.self)
            // By scalars: a sign with an accent is a character of its own to Swift, and not to the database.
            var pattern = String.UnicodeScalarView("%".unicodeScalars)
            for scalar in spelt.unicodeScalars {
                if "|%_".unicodeScalars.contains(scalar) { pattern.append("|") }
                pattern.append(scalar)
            }
            require("content LIKE ? ESCAPE '|'", .text(String(pattern) + "%"))
        }
        return (conditions.joined(separator: " AND "), values)
    }

    /// Decides what the database does not.
    func match(_ entry: AuditEntry) -> AuditMatch? {
        guard let event = entry.event, self.kind.map({ $0 == event.kind }) ?? true else { return nil }
        switch event {
        case .decision(let record): return self.match(entry, record)
        case .change(let change):
            return self.finds(change) ? AuditMatch(entry: entry, event: event, onlyWhileAssignedTo: nil) : nil
        }
    }

    /// Whether a change is looked for.
    ///
    /// What asks about tokens alone, such as when one could be used, finds no changes.
    private func finds(_ change: AuditChange) -> Bool {
        self.time == nil && self.decision == nil && (self.caller.map { $0 == change.actor.name } ?? true)
            && (self.subject.map(change.concerns(subject:)) ?? true) && (self.resource.map(change.concerns) ?? true)
    }

    private func match(_ entry: AuditEntry, _ record: AuditRecord) -> AuditMatch? {
        let event = AuditEvent.decision(record)
        guard self.caller.map({ $0 == record.caller }) ?? true,
            self.subject.map({ $0 == record.callerID.subject }) ?? true,
            self.decision.map({ $0 == record.decision }) ?? true
        else { return nil }
        if let time {
            guard let token = record.token, time.timeIntervalSince1970 < TimeInterval(token.expiresAt) else {
                return nil
            }
        }
        guard let resource else { return AuditMatch(entry: entry, event: event, onlyWhileAssignedTo: nil) }
        // A refused request gave nobody anything to read with.
        guard record.decision == .granted, var call = resource.read else { return nil }
        call.vehicleOfTrip = self.vehicleOfTrip
        if record.reaches(call) { return AuditMatch(entry: entry, event: event, onlyWhileAssignedTo: nil) }
        guard self.vehicleOfTrip == nil, case .trip = resource, case .only(let vehicle) = record.claims.vehicle else {
            return nil
        }
        call.vehicleOfTrip = vehicle
        return record.reaches(call)
            ? AuditMatch(entry: entry, event: event, onlyWhileAssignedTo: vehicle) : nil
    }
}

extension AuditRecord {
    /// Whether the engine lets a token of this role and these claims make a call of its own provider.
    fileprivate func reaches(_ call: AccessRequest) -> Bool {
        do throws(TokenRefusal) {
            try call.checkPermission(of: self.role)
            try call.checkCoverage(of: self.claims, role: self.role)
            return true
        } catch {
            return false
        }
    }
}

extension AuthorizationClaims {
    /// Whether the claims name a resource by its id; a wildcard names none.
    func names(_ resource: AssignedResource) -> Bool {
        switch resource {
        case .trip(let id): self.trip == .only(id)
        case .vehicle(let id): self.vehicle == .only(id)
        case .deliveryVehicle(let id): self.deliveryVehicle == .only(id)
        case .task(let id): self.task == .only(id)
        case .tracking(let id): self.tracking == .only(id)
        }
    }
}

extension AssignedResource {
    /// The call by which the resource is read.
    fileprivate var read: AccessRequest? {
        // Access within one provider does not depend on which it is.
        guard let provider = ProviderID("any") else { return nil }
        return switch self {
        case .trip(let id): AccessRequest(method: .getTrip, provider: provider, trip: id)
        case .vehicle(let id): AccessRequest(method: .getVehicle, provider: provider, vehicle: id)
        case .deliveryVehicle(let id):
            AccessRequest(method: .getDeliveryVehicle, provider: provider, deliveryVehicle: id)
        case .task(let id): AccessRequest(method: .getTask, provider: provider, tasks: [id])
        case .tracking(let id): AccessRequest(method: .getTaskTrackingInfo, provider: provider, tracking: id)
        }
    }
}
