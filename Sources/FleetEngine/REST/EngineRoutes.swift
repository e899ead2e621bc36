// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetOperation
import FleetTokens
import Foundation
import HTTPTypes
public import Hummingbird
import NIOCore

/// The engine's REST interface, to be added to a router beside anything else that a server offers.
public struct EngineRoutes: Sendable {
    /// The most bytes that a body may have, unless it is a batch of tasks.
    public static let maximumBodyBytes = 1024 * 1024
    /// The most bytes that a batch of tasks may have, over gRPC too: 500 tasks of 16 KiB each.
    public static let maximumBatchBytes = 8 * 1024 * 1024

    /// For how long a token that was examined counts as that, in seconds; a change waits longer for the disk.
    private static let examinedFor = 0.05

    private let engine: Engine
    private let origins: AllowedOrigins?

    /// Makes the routes of an engine.
    public init(engine: Engine) {
        self.init(engine: engine, origins: nil)
    }

    /// Makes the routes of an engine that web pages of other origins may call.
    init(engine: Engine, origins: AllowedOrigins?) {
        self.engine = engine
        self.origins = origins
    }

    /// Adds everything under `/v1/`, unknown paths included, which are answered in the API's error envelope.
    ///
    /// `/v1/openapi.json` describes the interface, to anyone.
    ///
    /// - Parameter router: The router or group to add to; it must stand at the root.
    public func add<Context: RequestContext>(to router: some RouterMethods<Context>) {
        router.getAndHead(RouterPath(EngineOpenAPI.path)) { _, _ in RESTAnswer.description }
        for verb in Self.verbs {
            for path: RouterPath in ["/v1", "/v1/**"] {
                router.on(path, method: verb) { request, _ in await self.respond(to: request) }
            }
        }
    }

    /// Makes a responder that answers calls without looking for their path in a router, which takes some of the time that a
    /// call does.
    ///
    /// - Parameter router: A router at the root that answers everything else; its middleware does not see the calls. What
    ///   ``add(to:)`` adds is added to it.
    /// - Returns: The responder, for an `Application`.
    public func responder<Context: RequestContext>(beside router: Router<Context>) -> EngineResponder<Context> {
        self.add(to: router)
        return EngineResponder(routes: self, others: router.buildResponder())
    }

    /// What web pages of other origins may do, where any may call: whatever a token permits, with the fields that the
    /// vendor's libraries send besides, and read for how long to wait and what was found to depart from the documentation.
    static let ofPages = AllowedOrigins.Permission(
        methods: HTTPRule.verbs.map(\.rawValue).sorted().joined(separator: ", "), fields: nil,
        exposed: "date, retry-after, \(CallRemarks.warningName), \(CallRemarks.chaosName)")

    /// The verbs that are answered in the API's own form.
    private static let verbs = HTTPRule.verbs + [.options]

    /// Whether a request is a call, right or wrong.
    func isCall(_ request: Request) -> Bool {
        let path = request.uri.path
        return path.utf8.starts(with: "/v1/providers/".utf8) && Self.verbs.contains(request.method)
    }

    func respond(to request: Request) async -> Response {
        guard let origins else { return await self.answer(to: request) }
        if let answer = origins.preflight(request) { return answer }
        var answer = await self.answer(to: request)
        origins.mark(&answer.headers, for: request.headers[.origin])
        return answer
    }

    private func answer(to request: Request) async -> Response {
        let remarks = self.engine.makeRemarks()
        var response: Response
        do throws(EngineError) {
            let match = try HTTPMatch(verb: Self.verb(of: request), path: request.uri.path)
            let token = try BearerToken.read(request.headers[values: .authorization])
            // A caller whose token is not good is refused before anything else it sent is read.
            let start = self.engine.now()
            let examined = try await self.engine.authenticate(token, for: match.rule.method, of: match.name)
            if match.rule.method == .batchCreateTasks, match.fault == nil {
                try await self.refuseBatch(under: match.name, token)
            }
            // What is ignored is not waited for.
            let isAllRead = !match.rule.takesBody && match.fault == nil
            let body = isAllRead ? [] : try await self.body(of: request, for: match, token: token)
            // While a body arrives, the token may end or be withdrawn: after a while it is looked at once more.
            let isRecent = (0..<Self.examinedFor).contains(self.engine.now().timeIntervalSince(start))
            let input = RESTBinding.Input(
                name: match.name, query: request.uri.query ?? "", fields: match.rule.query, body: body, token: token,
                examined: isRecent ? examined : nil, remarks: remarks)
            response = RESTAnswer.message(
                try await match.rule.binding.answer(self.engine, input), accepting: request.headers[.acceptEncoding])
        } catch {
            response = RESTAnswer.error(error, status: error.reason == EngineError.tooLarge ? .contentTooLarge : nil)
        }
        remarks?.add(to: &response.headers)
        return response
    }

    /// Refuses a batch of tasks whose caller may make none, before its body is read, which may be long.
    private func refuseBatch(under parent: String, _ token: String?) async throws(EngineError) {
        let start = ContinuousClock.now
        var request = BatchCreateTasks.Request()
        request.parent = parent
        guard let refusal = await self.engine.refusal(of: BatchCreateTasks.self, request, token: token) else { return }
        throw try await self.engine.unread(refusal, for: .batchCreateTasks, of: parent, token: token, since: start)
    }

    /// The verb that is meant: who cannot send each, as Google's clients for Java cannot PATCH, names it in a POST.
    ///
    /// - Throws: ``EngineError`` with `NOT_FOUND` when the header names no verb, or several.
    private static func verb(of request: Request) throws(EngineError) -> HTTPRequest.Method {
        guard request.method == .post, let name = HTTPField.Name(self.verbHeader), let word = request.headers[name]
        else { return request.method }
        guard let verb = HTTPRule.verbs.first(where: { $0.rawValue == word }) else {
            let verbs = HTTPRule.verbs.map(\.rawValue).joined(separator: ", ")
            throw EngineError(
                code: .notFound,
                reason: "ROUTE_UNKNOWN",
                message: "\(self.verbHeader) is \(word.prefix(16)), with which nothing is served; use one of \(verbs)."
            )
        }
        return verb
    }

    /// The header field that names the verb which a POST stands for.
    private static let verbHeader = "X-HTTP-Method-Override"

    /// The body of a call, which is counted where it cannot be read.
    private func body(
        of request: Request, for match: HTTPMatch, token: String?
    ) async throws(EngineError) -> [UInt8] {
        let start = ContinuousClock.now
        do throws(EngineError) {
            if let fault = match.fault { throw fault }
            return try await Self.body(of: request, for: match.rule)
        } catch {
            throw try await self.engine.unread(
                error, for: match.rule.method, of: match.name, token: token, since: start)
        }
    }

    /// The whole body as it was before it was compressed.
    private static func body(of request: Request, for rule: HTTPRule) async throws(EngineError) -> [UInt8] {
        let limit = rule.method.maximumRequestBytes
        let received: ByteBuffer
        do {
            received = try await request.body.collect(upTo: limit)
        } catch is NIOTooManyBytesError {
            throw .beyond(limit, "bytes")
        } catch {
            throw .invalidArgument("The body is not framed as HTTP asks, or ends early; send all of it.")
        }
        let body = try ContentCoding.decode(
            Array(buffer: received), coding: request.headers[.contentEncoding], upTo: limit)
        guard let body else { throw .beyond(limit, "bytes") }
        let fields = FieldCount.maximum
        guard !FieldCount.exceeds(fields, inJSON: body) else { throw .beyond(fields, "fields") }
        return body
    }
}
