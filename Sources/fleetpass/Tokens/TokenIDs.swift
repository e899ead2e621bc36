// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FleetTokens

/// The ids that a token is minted for.
struct TokenIDs: ParsableArguments {
    @Option(help: "The vehicle's id.", transform: checkedID)
    var vehicle: VehicleID?

    @Option(help: "The trip's id.", transform: checkedID)
    var trip: TripID?

    @Option(help: "The task's id.", transform: checkedID)
    var task: TaskID?

    @Option(name: .customLong("delivery-vehicle"), help: "The delivery vehicle's id.", transform: checkedID)
    var deliveryVehicle: DeliveryVehicleID?

    @Option(
        name: [.customLong("tracking"), .customLong("tracking-id")], help: "The tracking id.", transform: checkedID)
    var tracking: TrackingID?

    @Option(
        name: .customLong("batch-task"), help: "A task of the batch to create; repeat it for each.",
        transform: checkedID)
    var batchTasks: [TaskID] = []

    private var isEmpty: Bool {
        self.vehicle == nil && self.trip == nil && self.task == nil && self.deliveryVehicle == nil
            && self.tracking == nil && self.batchTasks.isEmpty
    }

    /// The claims for a role's token, or `nil` for an admin's without ids, which has none.
    func claims(for role: Role) throws -> AuthorizationClaims? {
        func missing(_ option: String) -> CommandFailure {
            CommandFailure(status: .usage, message: "a token of the role \(role) needs \(option).")
        }
        do {
            switch role {
            case .onDemandAdmin, .deliveryAdmin:
                return self.isEmpty ? nil : try self.given
            case .server: return self.isEmpty ? try TokenType.server.claims : try self.given
            case .fleetReader: return self.isEmpty ? try TokenType.fleetReader.claims : try self.given
            case .deliveryFleetReader:
                return self.isEmpty ? try TokenType.deliveryFleetReader.claims : try self.given
            case .deliveryServer: return self.isEmpty ? try TokenType.deliveryServer.claims : try self.given
            case .consumer:
                guard self.trip != nil else { throw missing("--trip") }
            case .driver:
                guard self.vehicle != nil else { throw missing("--vehicle") }
            case .deliveryConsumer:
                guard self.tracking != nil || self.task != nil else { throw missing("--tracking") }
            case .deliveryUntrustedDriver, .deliveryTrustedDriver:
                guard self.deliveryVehicle != nil || !self.batchTasks.isEmpty else {
                    throw missing("--delivery-vehicle")
                }
            default:
                throw CommandFailure(
                    status: .usage,
                    message: "there is no role \(role); use "
                        + "\(Role.known.map(\.rawValue).joined(separator: ", "))."
                )
            }
            return try self.given
        } catch let error as TokenError {
            throw CommandFailure(status: .usage, message: error.message)
        }
    }

    private var given: AuthorizationClaims {
        get throws {
            try AuthorizationClaims(
                vehicle: self.vehicle.map { .only($0) },
                trip: self.trip.map { .only($0) },
                deliveryVehicle: self.deliveryVehicle.map { .only($0) },
                task: self.task.map { .only($0) },
                taskList: self.batchTasks.isEmpty ? nil : .only(self.batchTasks),
                tracking: self.tracking.map { .only($0) }
            )
        }
    }
}

/// Reads an id from the command line; the error says what is wrong with it.
func checkedID<Kind>(_ text: String) throws -> FleetID<Kind> {
    do throws(TokenError) {
        return try FleetID<Kind>(checking: text)
    } catch {
        throw ValidationError(error.message)
    }
}
