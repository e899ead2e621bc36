// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import SwiftProtobuf

/// Carries an HTTP request to one of the engine's calls and its answer back.
struct RESTBinding: Sendable {
    /// An HTTP request, taken apart.
    struct Input: Sendable {
        /// The name of the resource or of its parent, from the path.
        let name: String
        /// The query as it was sent.
        let query: String
        /// The fields that the query may bind.
        let fields: [String: QueryField]
        /// The body.
        let body: [UInt8]
        /// The token; `nil` when the request carries none.
        let token: String?
        /// The token, where it is verified.
        let examined: ExaminedToken?
        /// Takes what the caller is to be told beside the answer.
        let remarks: CallRemarks?
    }

    /// Runs the call and gives its answer as JSON.
    let answer: @Sendable (Engine, Input) async throws(EngineError) -> [UInt8]
    /// Reads a request's JSON and what it addresses; `nil` where either cannot be read.
    let read: @Sendable (JSONObject) -> (any DocumentedRequest, AccessRequest)?

    /// Who reads a vehicle and who changes it are answered with the same stops.
    private static let vehicles = WrittenVehicles()

    /// Makes out how a method is called.
    static func binding(for method: FleetMethod) -> RESTBinding {
        switch method {
        case .createVehicle: RESTBinding(CreateVehicle.self, name: { $0.parent = $1 }, body: .field { $0.vehicle = $1 })
        case .getVehicle: RESTBinding(GetVehicle.self, name: { $0.name = $1 }, write: Self.vehicles.json)
        case .updateVehicle:
            RESTBinding(
                UpdateVehicle.self, name: { $0.name = $1 }, mask: { $0.updateMask.paths = $1 },
                body: .field { $0.vehicle = $1 }, write: Self.vehicles.json)
        case .updateVehicleAttributes:
            RESTBinding(UpdateVehicleAttributes.self, name: { $0.name = $1 }, body: .everything)
        case .deleteVehicle: RESTBinding(DeleteVehicle.self, name: { $0.name = $1 })
        case .listVehicles: RESTBinding(ListVehicles.self, name: { $0.parent = $1 })
        case .searchVehicles: RESTBinding(SearchVehicles.self, name: { $0.parent = $1 }, body: .everything)
        case .createTrip: RESTBinding(CreateTrip.self, name: { $0.parent = $1 }, body: .field { $0.trip = $1 })
        case .getTrip:
            RESTBinding(GetTrip.self, name: { $0.name = $1 }, write: WrittenTrips().json)
        case .updateTrip:
            RESTBinding(
                UpdateTrip.self, name: { $0.name = $1 }, mask: { $0.updateMask.paths = $1 },
                body: .field { $0.trip = $1 })
        case .deleteTrip: RESTBinding(DeleteTrip.self, name: { $0.name = $1 })
        case .searchTrips: RESTBinding(SearchTrips.self, name: { $0.parent = $1 }, body: .everything)
        case .reportBillableTrip: RESTBinding(ReportBillableTrip.self, name: { $0.name = $1 }, body: .everything)
        case .createDeliveryVehicle:
            RESTBinding(CreateDeliveryVehicle.self, name: { $0.parent = $1 }, body: .field { $0.deliveryVehicle = $1 })
        case .getDeliveryVehicle: RESTBinding(GetDeliveryVehicle.self, name: { $0.name = $1 })
        case .updateDeliveryVehicle:
            RESTBinding(
                UpdateDeliveryVehicle.self, name: { $0.deliveryVehicle.name = $1 },
                mask: { $0.updateMask.paths = $1 }, body: .field { $0.deliveryVehicle = $1 })
        case .deleteDeliveryVehicle: RESTBinding(DeleteDeliveryVehicle.self, name: { $0.name = $1 })
        case .listDeliveryVehicles: RESTBinding(ListDeliveryVehicles.self, name: { $0.parent = $1 })
        case .createTask: RESTBinding(CreateTask.self, name: { $0.parent = $1 }, body: .field { $0.task = $1 })
        case .batchCreateTasks: RESTBinding(BatchCreateTasks.self, name: { $0.parent = $1 }, body: .everything)
        case .getTask: RESTBinding(GetTask.self, name: { $0.name = $1 })
        case .updateTask:
            RESTBinding(
                UpdateTask.self, name: { $0.task.name = $1 }, mask: { $0.updateMask.paths = $1 },
                body: .field { $0.task = $1 })
        case .deleteTask: RESTBinding(DeleteTask.self, name: { $0.name = $1 })
        case .listTasks: RESTBinding(ListTasks.self, name: { $0.parent = $1 })
        case .getTaskTrackingInfo: RESTBinding(GetTaskTrackingInfo.self, name: { $0.name = $1 })
        }
    }

    private init<Call: EngineCall>(
        _ call: Call.Type, name setName: @escaping @Sendable (inout Call.Request, String) -> Void,
        mask setMask: @escaping @Sendable (inout Call.Request, [String]) -> Void = { _, _ in },
        body: RESTBody<Call.Request> = .none,
        write: @escaping @Sendable (Call.Answer, _ hasEnumNumbers: Bool) throws(EngineError) -> [UInt8] = {
            (answer, hasEnumNumbers) throws(EngineError) in
            try MessageJSON.write(Call.response(of: answer), withEnumNumbers: hasEnumNumbers)
        }
    ) {
        self.read = { Self.read($0, as: call) }
        let queries = BoundQueries<Call.Request>(mask: setMask)
        self.answer = { (engine, input) throws(EngineError) in
            let start = ContinuousClock.now
            var request = Call.Request()
            let wantsEnumNumbers: Bool
            do throws(EngineError) {
                let query = try queries.bind(input.query, allowed: input.fields)
                request = query.request
                wantsEnumNumbers = query.wantsEnumNumbers
                try body.read(input.body, &request)
                setName(&request, input.name)
            } catch {
                setName(&request, input.name)
                // Who may not make the call at all is told so, and not how to write it.
                let fault = await engine.refusal(of: call, request, token: input.token) ?? error
                throw try await engine.unread(
                    fault, for: Call.method, of: input.name, token: input.token, since: start)
            }
            let answer = try await engine.answer(
                call, request, token: input.token, examined: input.examined, remarks: input.remarks)
            return try write(answer, wantsEnumNumbers)
        }
    }

    private static func read<Call: EngineCall>(
        _ object: JSONObject, as call: Call.Type
    ) -> (any DocumentedRequest, AccessRequest)? {
        let json = JSONValue.object(object).serialized
        guard let request: Call.Request = try? MessageJSON.read(json, at: "The request"),
            let access = try? Call.access(request)
        else { return nil }
        return (request, access)
    }
}
