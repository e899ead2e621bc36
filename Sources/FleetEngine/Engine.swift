// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetOperation
import FleetSigning
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
    /// Where its callers depart from the documentation.
    public let watch: DeviationWatch

    let store: any EngineStore
    private let health: StoreHealth
    let routes: any RouteEstimator
    private let router: (any RoadRouter)?
    private let views: TripViews?
    let now: @Sendable () -> Date
    private let verifier: any TokenVerifying
    private let recorder: CallRecorder?
    let faults: FaultInjector?
    private let metrics: EngineMetrics?
    let logger: Logger?
    private let failures: RecurringLog?

    init(
        store: any EngineStore,
        verifier: any TokenVerifying,
        activity: EngineActivity = EngineActivity(),
        routes: any RouteEstimator = StraightLineEstimator(),
        router: (any RoadRouter)? = nil,
        recorder: CallRecorder? = nil,
        watch: DeviationWatch = DeviationWatch(),
        faults: FaultInjector? = nil,
        metrics: EngineMetrics? = nil,
        logger: Logger? = nil,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.store = store
        self.health = StoreHealth(store, now: now)
        self.verifier = verifier
        self.activity = activity
        self.routes = routes
        self.router = router
        self.views = store.repeatsMessages ? TripViews() : nil
        self.recorder = recorder
        self.watch = watch
        self.faults = faults
        self.metrics = metrics
        self.logger = logger
        self.failures = logger.map {
            RecurringLog("A call failed for a reason of the engine's own", level: .error, logger: $0, now: now)
        }
        self.now = now
    }

    /// What a call may collect for its caller; `nil` where nothing could be.
    func makeRemarks() -> CallRemarks? {
        self.watch.profile == .strict || self.isDisturbed ? CallRemarks() : nil
    }

    /// Whether a script lets things go wrong.
    private var isDisturbed: Bool { self.faults?.isActive ?? false }

    /// What keeps the store from its work now, by check: `store`, and `clock` where machines share a database.
    package func storeProblems() async -> [String: String] { await self.health.problems() }

    /// Whether calls can be answered as they should be.
    package func isServing() async -> Bool { await self.storeProblems().isEmpty }

    /// Checks a token before anything else of a call is read, for adapters that have more to read.
    ///
    /// - Parameters:
    ///   - token: The bearer token; `nil` where the call carried none.
    ///   - method: The RPC it is for.
    ///   - name: The name of the resource or parent that it addresses.
    ///   - isUnread: Whether no more of the call is read, so that no script strikes it.
    /// - Returns: The token, verified; `nil` where a script may yet decide otherwise.
    /// - Throws: ``EngineError`` with `UNAUTHENTICATED`; with `UNAVAILABLE` where its account's keys cannot be fetched.
    @discardableResult
    func authenticate(
        _ token: String?, for method: FleetMethod, of name: String, isUnread: Bool = false
    ) async throws(EngineError) -> ExaminedToken? {
        // What goes wrong by script is decided once for each call, with all of it read.
        guard isUnread || !self.isDisturbed else { return nil }
        let now = self.now()
        let start = ContinuousClock.now
        do throws(TokenRefusal) {
            guard let token else { throw TokenRefusal.missing }
            return try await self.verified(token, at: now)
        } catch {
            let resource = try? ResourceName(checking: name)
            let request = resource.map { AccessRequest(method: method, resource: $0) }
            self.note(
                error, .init(method: method, text: token, request: request, unread: [.permission, .coverage]),
                nil, at: now)
            let answer = EngineError(error)
            self.metrics?.answered(method, answer, took: .now - start)
            throw answer
        }
    }

    /// Counts a call of which what it brings cannot be read.
    ///
    /// Who has no good token is told that and not what cannot be read, also while a script plays.
    ///
    /// - Parameters:
    ///   - fault: Why it cannot be read.
    ///   - method: The RPC.
    ///   - name: The name of the resource or parent that it addresses.
    ///   - token: The bearer token; `nil` where the call carried none.
    ///   - start: When it was begun to read.
    /// - Returns: What the caller is told.
    /// - Throws: ``EngineError`` with `UNAUTHENTICATED`.
    func unread(
        _ fault: EngineError, for method: FleetMethod, of name: String, token: String?,
        since start: ContinuousClock.Instant
    ) async throws(EngineError) -> EngineError {
        if fault.code != .unauthenticated {
            try await self.authenticate(token, for: method, of: name, isUnread: true)
        }
        self.metrics?.answered(method, fault, took: .now - start)
        return fault
    }

    /// Why a caller may not make a call, as far as that is certain before all of the request was read.
    ///
    /// - Parameters:
    ///   - call: The RPC.
    ///   - request: The request with its name or parent, and with whatever else was read.
    ///   - text: The bearer token; `nil` where the call carried none.
    /// - Returns: The refusal; `nil` where what was not read may decide.
    func refusal<Call: EngineCall>(
        of call: Call.Type, _ request: Call.Request, token text: String?
    ) async -> EngineError? {
        guard let text, let access = try? Call.accessWithoutIDs(request) else { return nil }
        let now = self.now()
        var token: ExaminedToken?
        do throws(TokenRefusal) {
            let examined = try await self.verified(text, at: now)
            token = examined
            _ = try Admission.dependsOnTrip(access, examined)
            return nil
        } catch {
            // Ids beside a parent may be what the claims are for.
            guard error.reason != .claimMismatch || Call.method.httpForm.hasID else { return nil }
            self.note(error, .init(method: Call.method, text: text, token: token, request: access), nil, at: now)
            return EngineError(error)
        }
    }

    /// Whether a token is good, without a word to anyone.
    func isGood(_ token: String) async -> Bool {
        (try? await self.verified(token, at: self.now())) != nil
    }

    /// Verifies a token with the clock and the keys that a script leaves to the verifier.
    private func verified(
        _ text: String, at now: Date, _ effect: FaultEffect?
    ) async throws(TokenRefusal) -> ExaminedToken {
        guard let effect else { return try await self.verified(text, at: now) }
        let now = now + effect.clockOffset
        do throws(TokenRefusal) {
            let token = try await self.verified(text, at: now)
            try effect.checkKey(of: token, text, at: now)
            return token
        } catch {
            throw effect.marking(error)
        }
    }

    /// Verifies a token; where its key is not known, or as another account's, once more after the key was asked for.
    private func verified(_ token: String, at now: Date) async throws(TokenRefusal) -> ExaminedToken {
        do throws(TokenRefusal) {
            return try self.verifier.verify(token, at: now)
        } catch {
            guard error.reason == .keyUnknown || error.reason == .issuerMismatch else { throw error }
            switch await self.verifier.learnKey(of: token) {
            case .found: return try self.verifier.verify(token, at: now)
            case .unknown: throw error
            case .unavailable:
                // What no key would mend is told as ever.
                throw TokenExaminer().explain(token, request: nil, keys: nil, now: now).refusal ?? .keysUnavailable
            }
        }
    }

    /// Answers a call; one that changes something, once the change is durable.
    ///
    /// - Parameters:
    ///   - call: The RPC.
    ///   - request: The request as it was received.
    ///   - token: The bearer token; `nil` where the call carried none.
    ///   - examined: The token, where ``authenticate(_:for:of:isUnread:)`` has verified it.
    ///   - remarks: Takes what the caller is to be told beside the answer.
    ///   - takesPagesOnly: Whether the caller takes no longer answers than ``Paging/maximumBytes``.
    /// - Returns: The response.
    /// - Throws: ``EngineError``.
    func perform<Call: EngineCall>(
        _ call: Call.Type, _ request: Call.Request, token: String?, examined: ExaminedToken? = nil,
        remarks: CallRemarks? = nil, takesPagesOnly: Bool = false
    ) async throws(EngineError) -> Call.Response {
        Call.response(
            of: try await self.answer(
                call, request, token: token, examined: examined, remarks: remarks, takesPagesOnly: takesPagesOnly))
    }

    /// Answers a call as ``perform(_:_:token:examined:remarks:takesPagesOnly:)`` does, with the parts of the response.
    func answer<Call: EngineCall>(
        _ call: Call.Type, _ request: Call.Request, token: String?, examined: ExaminedToken? = nil,
        remarks: CallRemarks? = nil, takesPagesOnly: Bool = false
    ) async throws(EngineError) -> Call.Answer {
        let start = ContinuousClock.now
        var request = request
        do throws(EngineError) {
            let admission = try await self.admit(call, &request, (token, examined), remarks, takesPagesOnly)
            let answer: Call.Answer
            do {
                answer = try await Call.run(request, admission, on: self)
            } catch {
                throw self.failure(of: admission, error)
            }
            if admission.dependsOnTrip { self.noteAdmitted(admission) }
            self.watch.keepReport(of: request, admission.access, at: admission.context.now)
            self.metrics?.answered(Call.method, nil, took: .now - start)
            self.recorder?.record(Call.method, request, .success(Call.response(of: answer)), at: self.now())
            return answer
        } catch {
            self.metrics?.answered(Call.method, error, took: .now - start)
            // The service logs no strangers either, who could fill the disk; who a script strikes need not be one.
            if !error.isOfStranger || remarks?.tellOfChaos == true {
                let failure = Result<Call.Response, EngineError>.failure(error)
                self.recorder?.record(Call.method, request, failure, at: self.now())
            }
            throw error
        }
    }
}

extension Engine {
    /// Runs the body of a call that only looks.
    func look<Response: Sendable>(
        _ admission: Admission, _ body: @escaping @Sendable (any EngineReader, CallContext) throws -> Response
    ) async throws -> Response {
        let context = admission.context
        guard let router else { return try await self.look(admission, context, body) }
        // Once more where the router learned of roads that were lacking the first time.
        let survey = RouteSurvey(router)
        let onRoads = context.estimating(by: survey)
        let response = try await self.look(admission, onRoads, body)
        let unknown = survey.unknown
        guard !unknown.isEmpty, await router.learn(unknown) else { return response }
        return try await self.look(admission, onRoads, body)
    }

    private func look<Response: Sendable>(
        _ admission: Admission, _ context: CallContext,
        _ body: @escaping @Sendable (any EngineReader, CallContext) throws -> Response
    ) async throws -> Response {
        try await self.store.read { store in
            try admission.confirm(in: store)
            return try body(store, context)
        }
    }

    /// Runs the body of a call that changes something, and returns once the change is durable.
    func change<Response: Sendable>(
        _ admission: Admission, _ body: @escaping @Sendable (any EngineTransaction, CallContext) throws -> Response
    ) async throws -> Response {
        let survey = self.router.map(RouteSurvey.init)
        let context = survey.map(admission.context.estimating) ?? admission.context
        // Nobody's write waits for a router; its answers serve whoever looks next.
        defer { if let survey, let router { router.prepare(survey.unknown) } }
        return try await self.store.write { store in
            try admission.confirm(in: store)
            return try body(store, context)
        }
    }

    /// Checks the token, then the address, then the right to it; all that can be refused without looking is.
    ///
    /// The request loses the fields that the API does not have.
    private func admit<Call: EngineCall>(
        _ call: Call.Type, _ request: inout Call.Request, _ credential: (text: String?, examined: ExaminedToken?),
        _ remarks: CallRemarks?, _ takesPagesOnly: Bool
    ) async throws(EngineError) -> Admission {
        do throws(EngineError) {
            // Nothing else of it is looked at before.
            try UnusableValues.refuseOrDrop(in: &request)
        } catch {
            throw await self.refusal(error, ofCallWith: credential.text)
        }
        let effect = try await self.faults?.strike(Call.method, try? Call.access(request), remarks: remarks)
        let now = self.now()
        let text = credential.text
        var token: ExaminedToken?
        do {
            try effect?.checkToken()
            guard let text else { throw TokenRefusal.missing }
            let known = effect == nil ? credential.examined : nil
            let examined = if let known { known } else { try await self.verified(text, at: now, effect) }
            token = examined
            let access = try Call.access(request, for: examined)
            let admission = Admission(
                access: access, token: examined, text: text,
                context: self.context(for: examined, calling: access, takesPagesOnly, at: now),
                dependsOnTrip: try Admission.dependsOnTrip(access, examined)
            )
            if !admission.dependsOnTrip { self.noteAdmitted(admission) }
            let deviations = self.watch.observe(request, access, token: (examined, text), at: now)
            if !deviations.isEmpty, self.watch.profile == .strict {
                remarks?.warn(of: deviations)
                if let error = EngineError(refusing: deviations) { throw error }
            }
            return admission
        } catch let refusal as TokenRefusal {
            let whole = try? Call.access(request)
            self.note(
                refusal,
                .init(
                    method: Call.method, text: text, token: token,
                    request: whole ?? (try? Call.accessWithoutIDs(request)), unread: whole == nil ? [.coverage] : []),
                effect, at: now)
            throw EngineError(refusal)
        } catch let error as EngineError {
            throw error
        } catch {
            throw self.unexpected(error, in: Call.method)
        }
    }

    /// What a caller is told of a request that is at fault: who has no good token is told that.
    private func refusal(_ fault: EngineError, ofCallWith token: String?) async -> EngineError {
        do throws(TokenRefusal) {
            guard let token else { throw TokenRefusal.missing }
            _ = try await self.verified(token, at: self.now())
            return fault
        } catch {
            return EngineError(error)
        }
    }

    private func note(
        _ refusal: TokenRefusal, _ call: EngineActivity.RefusedCall, _ effect: FaultEffect?, at now: Date
    ) {
        // Nothing was found out about such a token.
        guard refusal.status != .unavailable else { return }
        self.activity.refuse(refusal, call, at: now) { text in
            self.verifier.explain(text, request: call.request, at: now + (effect?.clockOffset ?? 0))
                .leavingOut(call.unread, why: "the call was refused before all of it was read")
        }
    }

    private func context(
        for token: ExaminedToken, calling access: AccessRequest, _ takesPagesOnly: Bool, at now: Date
    ) -> CallContext {
        var context = CallContext(
            now: now,
            routes: self.routes,
            seesEveryVehicle: false,
            takesPagesOnly: takesPagesOnly,
            views: self.views
        )
        switch access.method {
        case .searchVehicles:
            let listing = AccessRequest(method: .listVehicles, provider: access.provider)
            context.seesEveryVehicle = (try? listing.authorize(token)) != nil
        case .createTrip, .updateTrip:
            // Which vehicle it will be, the transaction tells.
            context.mayRead = { [provider = access.provider] vehicle in
                let reading = AccessRequest(method: .getVehicle, provider: provider, vehicle: vehicle)
                return (try? reading.authorize(token)) != nil
            }
        default: break
        }
        return context
    }

    /// What is answered where a call that was admitted failed.
    private func failure(of admission: Admission, _ error: any Error) -> EngineError {
        switch error {
        case let refusal as TokenRefusal:
            self.note(
                refusal,
                .init(
                    method: admission.access.method, text: admission.text, token: admission.token,
                    request: admission.access),
                nil, at: admission.context.now)
            return EngineError(refusal)
        case let error as EngineError:
            if admission.dependsOnTrip { self.noteAdmitted(admission) }
            return error
        case is CancellationError:
            return EngineError(code: .unavailable, reason: "CANCELLED", message: "The call was cancelled; call again.")
        default: return self.unexpected(error, in: admission.access.method)
        }
    }

    private func noteAdmitted(_ admission: Admission) {
        self.activity.admit(
            admission.token, admission.text, to: admission.access.method, at: admission.context.now)
    }

    private func unexpected(_ error: any Error, in method: FleetMethod) -> EngineError {
        self.failures?.note("\(method.name) \(error)", ["method": "\(method.name)", "error": "\(error)"])
        return .unexpected
    }
}
