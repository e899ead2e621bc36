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

    /// Makes out how a method is called.
    static func binding(for method: FleetMethod) -> RESTBinding {
        switch method {
        case .createVehicle: RESTBinding(CreateVehicle.self, name: \.parent, body: .field(\.vehicle))
        case .getVehicle: RESTBinding(GetVehicle.self, name: \.name)
        case .updateVehicle: RESTBinding(UpdateVehicle.self, name: \.name, body: .field(\.vehicle))
        case .updateVehicleAttributes: RESTBinding(UpdateVehicleAttributes.self, name: \.name, body: .everything)
        case .deleteVehicle: RESTBinding(DeleteVehicle.self, name: \.name)
        case .listVehicles: RESTBinding(ListVehicles.self, name: \.parent)
        case .searchVehicles: RESTBinding(SearchVehicles.self, name: \.parent, body: .everything)
        case .createTrip: RESTBinding(CreateTrip.self, name: \.parent, body: .field(\.trip))
        case .getTrip: RESTBinding(GetTrip.self, name: \.name)
        case .updateTrip: RESTBinding(UpdateTrip.self, name: \.name, body: .field(\.trip))
        case .deleteTrip: RESTBinding(DeleteTrip.self, name: \.name)
        case .searchTrips: RESTBinding(SearchTrips.self, name: \.parent, body: .everything)
        case .reportBillableTrip: RESTBinding(ReportBillableTrip.self, name: \.name, body: .everything)
        case .createDeliveryVehicle:
            RESTBinding(CreateDeliveryVehicle.self, name: \.parent, body: .field(\.deliveryVehicle))
        case .getDeliveryVehicle: RESTBinding(GetDeliveryVehicle.self, name: \.name)
        case .updateDeliveryVehicle:
            RESTBinding(UpdateDeliveryVehicle.self, name: \.deliveryVehicle.name, body: .field(\.deliveryVehicle))
        case .deleteDeliveryVehicle: RESTBinding(DeleteDeliveryVehicle.self, name: \.name)
        case .listDeliveryVehicles: RESTBinding(ListDeliveryVehicles.self, name: \.parent)
        case .createTask: RESTBinding(CreateTask.self, name: \.parent, body: .field(\.task))
        case .batchCreateTasks: RESTBinding(BatchCreateTasks.self, name: \.parent, body: .everything)
        case .getTask: RESTBinding(GetTask.self, name: \.name)
        case .updateTask: RESTBinding(UpdateTask.self, name: \.task.name, body: .field(\.task))
        case .deleteTask: RESTBinding(DeleteTask.self, name: \.name)
        case .listTasks: RESTBinding(ListTasks.self, name: \.parent)
        case .getTaskTrackingInfo: RESTBinding(GetTaskTrackingInfo.self, name: \.name)
        }
    }

    private init<Call: EngineCall>(
        _ call: Call.Type, name: any WritableKeyPath<Call.Request, String> & Sendable,
        body: RESTBody<Call.Request> = .none
    ) {
        self.read = { Self.read($0, as: call) }
        let queries = BoundQueries<Call.Request>()
        self.answer = { (engine, input) throws(EngineError) in
            let query = try queries.bind(input.query, allowed: input.fields)
            var request = query.request
            try body.read(input.body, &request)
            request[keyPath: name] = input.name
            let response = try await engine.perform(
                call, request, token: input.token, examined: input.examined, remarks: input.remarks)
            return try Self.json(response, withEnumNumbers: query.wantsEnumNumbers)
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

    private static func json(
        _ message: some Message, withEnumNumbers: Bool
    ) throws(EngineError) -> [UInt8] {
        var options = JSONEncodingOptions()
        options.alwaysPrintEnumsAsInts = withEnumNumbers
        do {
            return try message.jsonUTF8Bytes(options: options)
        } catch {
            // Only a time or duration beyond what JSON can spell comes here.
            throw EngineError(
                code: .internalError, reason: "INTERNAL", message: "The answer cannot be written as JSON; use gRPC.")
        }
    }
}
