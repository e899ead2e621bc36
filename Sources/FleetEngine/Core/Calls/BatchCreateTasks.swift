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
        for item in request.requests { access.tasks.append(try Self.id(item.taskID, field: "requests.task_id")) }
        return access
    }

    static func run(
        _ request: Request, access: AccessRequest,
        in store: any EngineTransaction, context: CallContext
    ) throws -> Response {
        try Self.check(request, access)
        let now = Google_Protobuf_Timestamp(stamping: context.now)
        var tasks: [DeliveryTask] = []
        for (item, id) in zip(request.requests, access.tasks) {
            guard item.hasTask else {
                throw EngineError.invalidArgument("requests.task is required.", field: "requests")
            }
            tasks.append(try TaskRules.create(item.task, name: .task(access.provider, id)))
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
        func require(_ holds: Bool, _ problem: String) throws(EngineError) {
            guard holds else { throw .invalidArgument("requests \(problem).", field: "requests") }
        }
        try require(!request.requests.isEmpty, "is empty; list the tasks to create")
        try require(
            request.requests.count <= Self.maximumCount,
            "holds \(request.requests.count) tasks; at most \(Self.maximumCount) are created at once"
        )
        try require(
            request.requests.allSatisfy { $0.parent.isEmpty || $0.parent == request.parent },
            "holds one whose parent is another"
        )
        // Without a header of the batch, each may have its own.
        try require(
            request.header == .init() || request.requests.allSatisfy { [.init(), request.header].contains($0.header) },
            "holds one whose header is another"
        )
        try require(Set(access.tasks).count == access.tasks.count, "holds a task_id twice")
    }
}
