// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import Logging
import SwiftProtobuf

/// The service behind the Fleet Engine API: checks the token of every call, applies it, keeps what it changed.
///
/// gRPC and REST adapters bring requests here and turn ``EngineError`` into their status.
public struct Engine: Sendable {
    /// What the engine remembers of its callers.
    public let activity: EngineActivity

    let store: any EngineStore
    let routes: any RouteEstimator
    let now: @Sendable () -> Date
    private let verifier: any TokenVerifying
    private let recorder: CallRecorder?
    private let logger: Logger?

    init(
        store: any EngineStore,
        verifier: any TokenVerifying,
        activity: EngineActivity = EngineActivity(),
        routes: any RouteEstimator = StraightLineEstimator(),
        recorder: CallRecorder? = nil,
        logger: Logger? = nil,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.store = store
        self.verifier = verifier
        self.activity = activity
        self.routes = routes
        self.recorder = recorder
        self.logger = logger
        self.now = now
    }

    /// Whether the store answers now.
    func isServing() async -> Bool {
        (try? await self.store.read { _ in true }) ?? false
    }

    /// Checks a token before anything else of a call is read, for adapters that have more to read.
    ///
    /// - Parameters:
    ///   - token: The bearer token; `nil` where the call carried none.
    ///   - method: The RPC it is for.
    ///   - name: The name of the resource or parent that it addresses.
    /// - Throws: ``EngineError`` with `UNAUTHENTICATED`.
    func authenticate(_ token: String?, for method: FleetMethod, of name: String) async throws(EngineError) {
        let now = self.now()
        do throws(TokenRefusal) {
            guard let token else { throw TokenRefusal.missing }
            _ = try await self.verified(token, at: now)
        } catch {
            let resource = try? ResourceName(checking: name)
            let request = resource.map { AccessRequest(method: method, resource: $0) }
            self.note(error, .init(method: method, text: token, request: request), at: now)
            throw EngineError(error)
        }
    }

    /// Verifies a token; where its key is not known, once more after the key was asked for.
    private func verified(_ token: String, at now: Date) async throws(TokenRefusal) -> ExaminedToken {
        do throws(TokenRefusal) {
            return try self.verifier.verify(token, at: now)
        } catch {
            guard error.reason == .keyUnknown, await self.verifier.learnKey(of: token) else { throw error }
            return try self.verifier.verify(token, at: now)
        }
    }

    /// Answers a call that only looks.
    ///
    /// - Parameters:
    ///   - call: The RPC.
    ///   - request: The request as it was received.
    ///   - token: The bearer token; `nil` where the call carried none.
    /// - Returns: The response.
    /// - Throws: ``EngineError``.
    func perform<Call: ReadingCall>(
        _ call: Call.Type, _ request: Call.Request, token: String?
    ) async throws(EngineError) -> Call.Response {
        try await self.recording(Call.method, request) { () throws(EngineError) in
            let admission = try await self.admit(call, request, token)
            return try await self.reporting(admission) {
                try await self.store.read { store in
                    try admission.confirm(in: store)
                    return try Call.run(request, access: admission.access, in: store, context: admission.context)
                }
            }
        }
    }

    /// Answers a call that changes something, once the change is durable.
    ///
    /// - Parameters:
    ///   - call: The RPC.
    ///   - request: The request as it was received.
    ///   - token: The bearer token; `nil` where the call carried none.
    /// - Returns: The response.
    /// - Throws: ``EngineError``.
    func perform<Call: WritingCall>(
        _ call: Call.Type, _ request: Call.Request, token: String?
    ) async throws(EngineError) -> Call.Response {
        try await self.recording(Call.method, request) { () throws(EngineError) in
            let admission = try await self.admit(call, request, token)
            return try await self.reporting(admission) {
                try await self.store.write { store in
                    try admission.confirm(in: store)
                    return try Call.run(request, access: admission.access, in: store, context: admission.context)
                }
            }
        }
    }
}

extension Engine {
    /// Hands a call and its answer to the recorder, where there is one.
    private func recording<Response: Message>(
        _ method: FleetMethod, _ request: some Message, _ body: () async throws(EngineError) -> Response
    ) async throws(EngineError) -> Response {
        guard let recorder else { return try await body() }
        do throws(EngineError) {
            let response = try await body()
            recorder.record(method, request, .success(response), at: self.now())
            return response
        } catch {
            recorder.record(method, request, Result<Response, EngineError>.failure(error), at: self.now())
            throw error
        }
    }

    /// Checks the token, then the address, then the right to it; all that can be refused without looking is.
    private func admit<Call: EngineCall>(
        _ call: Call.Type, _ request: Call.Request, _ text: String?
    ) async throws(EngineError) -> Admission {
        let now = self.now()
        var token: ExaminedToken?
        do {
            guard let text else { throw TokenRefusal.missing }
            let examined = try await self.verified(text, at: now)
            token = examined
            let access = try Call.access(request)
            let admission = Admission(
                access: access, token: examined, text: text,
                context: self.context(for: examined, calling: access, at: now),
                dependsOnTrip: try Admission.dependsOnTrip(access, examined)
            )
            if !admission.dependsOnTrip { self.activity.admit(examined, text, to: Call.method, at: now) }
            return admission
        } catch let refusal as TokenRefusal {
            self.note(
                refusal, .init(method: Call.method, text: text, token: token, request: try? Call.access(request)),
                at: now)
            throw EngineError(refusal)
        } catch let error as EngineError {
            throw error
        } catch {
            throw self.unexpected(error, in: Call.method)
        }
    }

    private func note(_ refusal: TokenRefusal, _ call: EngineActivity.RefusedCall, at now: Date) {
        self.activity.refuse(refusal, call, at: now) { text in
            self.verifier.explain(text, request: call.request, at: now)
        }
    }

    private func context(for token: ExaminedToken, calling access: AccessRequest, at now: Date) -> CallContext {
        let listing = AccessRequest(method: .listVehicles, provider: access.provider)
        return CallContext(
            now: now,
            routes: self.routes,
            seesEveryVehicle: access.method == .searchVehicles && (try? listing.authorize(token)) != nil
        )
    }

    /// Runs a transaction, and turns whatever it throws into an answer.
    private func reporting<Response>(
        _ admission: Admission, _ transaction: () async throws -> Response
    ) async throws(EngineError) -> Response {
        let (token, text, method) = (admission.token, admission.text, admission.access.method)
        let now = admission.context.now
        do {
            let response = try await transaction()
            if admission.dependsOnTrip { self.activity.admit(token, text, to: method, at: now) }
            return response
        } catch let refusal as TokenRefusal {
            self.note(
                refusal, .init(method: method, text: text, token: token, request: admission.access), at: now)
            throw EngineError(refusal)
        } catch let error as EngineError {
            if admission.dependsOnTrip { self.activity.admit(token, text, to: method, at: now) }
            throw error
        } catch is CancellationError {
            throw EngineError(code: .unavailable, reason: "CANCELLED", message: "The call was cancelled; call again.")
        } catch {
            throw self.unexpected(error, in: method)
        }
    }

    private func unexpected(_ error: any Error, in method: FleetMethod) -> EngineError {
        self.logger?.error(
            "A call failed for a reason of the engine's own",
            metadata: ["method": "\(method.name)", "error": "\(error)"]
        )
        return .unexpected
    }
}
