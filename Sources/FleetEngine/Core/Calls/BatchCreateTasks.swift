// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import SwiftProtobuf

/// Creates tasks all together or, when one of them cannot be, none.
enum BatchCreateTasks: WritingCall {
    typealias Request = Maps_Fleetengine_Delivery_V1_BatchCreateTasksRequest
    typealias Response = Maps_Fleetengine_Delivery_V1_BatchCreateTasksResponse

    static let method = FleetMethod.batchCreateTasks
    private static let maximumCount = 500

    static func accessWithoutIDs(_ request: Request) throws(EngineError) -> AccessRequest {
        try Self.access(parent: request.parent)
    }

    static func access(_ request: Request) throws(EngineError) -> AccessRequest {
        var access = try Self.accessWithoutIDs(request)
        for (index, item) in request.requests.enumerated() {
            access.tasks.append(try Self.id(item.taskID, field: "requests[\(index)].task_id"))
        }
        return access
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        try Self.check(request, access)
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        var tasks: [DeliveryTask] = []
        for (index, (item, id)) in zip(request.requests, access.tasks).enumerated() {
            guard item.hasTask else { throw Self.invalid("requests[\(index)].task", "is required") }
            do throws(EngineError) {
                tasks.append(try TaskRules.create(item.task, name: .task(access.provider, id)))
            } catch {
                let field = "requests[\(index)].task" + (error.metadata["field"].map { ".\($0)" } ?? "")
                throw EngineError.invalidArgument(
                    "requests[\(index)], the task \"\(id)\": \(error.message)", field: field)
            }
        }
        if context.takesPagesOnly { try Self.checkAnswer(of: tasks) }
        try store.prefetch(access.tasks, of: access.provider, as: DeliveryTask.self)
        for id in access.tasks where try store.task(id, of: access.provider) != nil {
            throw EngineError.alreadyExists(.task(access.provider, id))
        }
        for (task, id) in zip(tasks, access.tasks) { try store.put(task, id, of: access.provider, at: now) }
        return .with { $0.tasks = tasks }
    }

    /// Refuses tasks whose client would refuse the answer, and not know that they were created.
    private static func checkAnswer(of tasks: [DeliveryTask]) throws(EngineError) {
        let count = Paging.count(thatFit: tasks)
        guard count < tasks.count else { return }
        throw EngineError(
            code: .resourceExhausted, reason: EngineError.tooLarge,
            message: "The answer, which repeats every task, would be longer than \(Paging.maximumBytes) bytes; create "
                + "fewer tasks at once, such as the first \(count).")
    }

    private static func check(_ request: Request, _ access: AccessRequest) throws(EngineError) {
        guard !request.requests.isEmpty else { throw self.invalid("requests", "is empty; list the tasks to create") }
        guard request.requests.count <= self.maximumCount else {
            throw self.invalid(
                "requests",
                "holds \(request.requests.count) tasks; at most \(self.maximumCount) are created at once")
        }
        var places: [TaskID: Int] = [:]
        for (index, (item, id)) in zip(request.requests, access.tasks).enumerated() {
            guard item.parent.isEmpty || item.parent == request.parent else {
                throw self.invalid("requests[\(index)].parent", "is another than the batch's; leave it out")
            }
            // Without a header of the batch, each may have its own.
            guard request.header == .init() || [.init(), request.header].contains(item.header) else {
                throw self.invalid("requests[\(index)].header", "is another than the batch's; leave it out")
            }
            if let former = places.updateValue(index, forKey: id) {
                throw self.invalid("requests[\(index)].task_id", "is \"\(id)\", as in requests[\(former)]")
            }
        }
    }

    private static func invalid(_ field: String, _ problem: String) -> EngineError {
        .invalidArgument("\(field) \(problem).", field: field)
    }
}
