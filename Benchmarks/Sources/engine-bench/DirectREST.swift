// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// The engine's REST interface as a function: no socket, no HTTP and no client, which cost more than the engine does.
struct DirectREST: Sendable {
    /// The context of a request that came over no channel.
    private struct Context: RequestContext {
        struct Source: RequestContextSource {
            let logger: Logger
        }

        var coreContext: CoreRequestContextStorage

        init(source: Source) { self.coreContext = CoreRequestContextStorage(source: source) }
    }

    private let responder: RouterResponder<Context>
    private let context: Context
    private let authorization: String

    init(engine: Engine, token: String, logger: Logger) {
        let router = Router(context: Context.self)
        EngineRoutes(engine: engine).add(to: router)
        self.responder = router.buildResponder()
        self.context = Context(source: .init(logger: logger))
        self.authorization = "Bearer \(token)"
    }

    func put(_ path: String, _ json: ByteBuffer) async throws {
        let head = HTTPRequest(
            method: .put, scheme: "http", authority: "localhost", path: path,
            headerFields: [.authorization: self.authorization, .contentType: "application/json"])
        let response = try await self.responder.respond(
            to: Request(head: head, body: RequestBody(buffer: json)), context: self.context)
        guard response.status == .ok else { fatalError("The answer was \(response.status).") }
    }
}
