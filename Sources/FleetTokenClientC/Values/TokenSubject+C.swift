// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import CFleetTokenClient
import FleetTokenClient
import FleetTokens

extension TokenSubject {
    /// Reads a subject from C.
    init(_ pointer: UnsafePointer<fp_subject>?) throws(CFailure) {
        guard let subject = pointer?.pointee else { throw .invalidArgument("subject is NULL.") }
        let id = try CArgument.optionalText(subject.id, "subject.id")
        let task = try CArgument.optionalText(subject.task_id, "subject.task_id")
        do {
            self = try Self.checked(kind: subject.kind, id: id, task: task)
        } catch {
            throw CFailure(error)
        }
    }

    /// Reads the subject of an SDK's question, which may be incomplete.
    init(ofSDK pointer: UnsafePointer<fp_subject>?) throws {
        guard let subject = pointer?.pointee else { throw CFailure.invalidArgument("subject is NULL.") }
        let id = try CArgument.optionalText(subject.id, "subject.id")
        let task = try CArgument.optionalText(subject.task_id, "subject.task_id")
        switch Int(subject.kind) {
        case FP_SUBJECT_DRIVER:
            self = try SDKAuthorization.driverSubject(vehicleID: id, taskID: task, service: .onDemandTrips)
        case FP_SUBJECT_DELIVERY_DRIVER:
            self = try SDKAuthorization.driverSubject(vehicleID: id, taskID: task, service: .scheduledTasks)
        case FP_SUBJECT_CONSUMER:
            self = try SDKAuthorization.consumerSubject(tripID: id)
        default:
            throw CFailure.invalidArgument("subject.kind is \(subject.kind), which no SDK asks for.")
        }
    }

    /// Whether another subject has the same resource, for whatever task.
    func hasResource(of other: Self) -> Bool {
        self.kind == other.kind && self.id == other.id
    }

    private static func checked(kind: fp_subject_kind, id: String?, task: String?) throws -> Self {
        guard task == nil || Int(kind) == FP_SUBJECT_DELIVERY_DRIVER else {
            throw CFailure.invalidArgument("subject.task_id is set, but only a delivery driver's token has a task.")
        }
        switch Int(kind) {
        case FP_SUBJECT_DRIVER: return .driver(try VehicleID(checking: id ?? ""))
        case FP_SUBJECT_CONSUMER: return .consumer(try TripID(checking: id ?? ""))
        case FP_SUBJECT_DELIVERY_DRIVER:
            return .deliveryDriver(
                try DeliveryVehicleID(checking: id ?? ""), task: try task.map { try TaskID(checking: $0) })
        case FP_SUBJECT_DELIVERY_CONSUMER: return .deliveryConsumer(try TrackingID(checking: id ?? ""))
        case FP_SUBJECT_FLEET_READER:
            guard id == nil else { throw CFailure.invalidArgument("subject.id is set, but a fleet reader has none.") }
            return .fleetReader
        default:
            throw CFailure.invalidArgument("subject.kind is \(kind), which names no kind of token.")
        }
    }

    /// The subject for C, with its texts in the memory.
    func value(in memory: CMemory) -> fp_subject {
        let (kind, id, task): (Int, String?, String?) =
            switch self {
            case .driver(let id): (FP_SUBJECT_DRIVER, id.value, nil)
            case .consumer(let id): (FP_SUBJECT_CONSUMER, id.value, nil)
            case .deliveryDriver(let id, let task): (FP_SUBJECT_DELIVERY_DRIVER, id.value, task?.value)
            case .deliveryConsumer(let id): (FP_SUBJECT_DELIVERY_CONSUMER, id.value, nil)
            case .fleetReader: (FP_SUBJECT_FLEET_READER, nil, nil)
            }
        return fp_subject(
            kind: fp_subject_kind(kind), id: id.flatMap { memory.text($0) }, task_id: task.flatMap { memory.text($0) })
    }
}
