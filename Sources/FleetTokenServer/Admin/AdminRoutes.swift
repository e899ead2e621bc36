// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetOperation
import FleetPostgreSQL
import FleetTokens
public import Foundation
import HTTPTypes
public import Hummingbird
public import Logging
import NIOCore

/// `/admin` for operators: who holds what, what was decided, what the keys are good for, and how to withdraw tokens.
///
/// The page itself holds nothing; each request of its script to `/admin/api` carries the administrator's credential.
public struct AdminRoutes: Sendable {
    /// What the routes show and change.
    public struct Records: Sendable {
        let assignments: StoredAssignments
        let audit: AuditReader
        let revocations: RevocationStore
        let administration: Administration
        let keys: SigningKeys?
        let signers: ConfiguredSigners?

        /// Names the records.
        ///
        /// - Parameters:
        ///   - store: Holds assignments, audit and revocations.
        ///   - keys: The key folder, where there is one.
        ///   - signers: The signers that may have key files of their own, where there are any.
        public init(store: TokenServerStore, keys: SigningKeys?, signers: ConfiguredSigners? = nil) {
            self.assignments = StoredAssignments(store: store)
            self.audit = AuditReader(store: store)
            self.revocations = RevocationStore(store: store)
            self.administration = Administration(store: store)
            self.keys = keys
            self.signers = signers
        }
    }

    /// What every handler is given.
    struct Call {
        let request: Request
        let actor: AuditChange.Actor
        let time: Date
    }

    private typealias Handler = @Sendable (Call) async throws -> Response

    let records: Records
    private let administrators: Administrators
    private let limiter: RequestLimiter?
    private let failedLogins: FailedLoginLimiter?
    private let now: @Sendable () -> Date
    private let logger: Logger

    /// Makes the routes.
    ///
    /// - Parameters:
    ///   - administrators: Who may use them.
    ///   - records: What they show and change.
    ///   - limiter: Admits each administrator's requests within limits; one of its own, so that callers who use up theirs
    ///     keep no administrator from withdrawing tokens.
    ///   - failedLogins: Turns addresses away that send wrong credentials.
    ///   - now: The clock.
    ///   - logger: Hears of every change and who made it.
    public init(
        administrators: Administrators, records: Records, limiter: RequestLimiter? = nil,
        failedLogins: FailedLoginLimiter? = nil, now: @escaping @Sendable () -> Date = { Date() }, logger: Logger
    ) {
        self.limiter = limiter
        self.failedLogins = failedLogins
        self.administrators = administrators
        self.records = records
        self.now = now
        self.logger = logger
    }

    /// Adds the routes to a router.
    public func add<Context: RequestContext>(to router: some RouterMethods<Context>) {
        let handlers: [(path: RouterPath, handlers: [HTTPRequest.Method: Handler])] = [
            ("/admin/api/assignments", [.get: self.listAssignments, .post: self.addAssignment]),
            ("/admin/api/assignments/end", [.post: self.endAssignment]),
            ("/admin/api/decisions", [.get: self.listDecisions]),
            ("/admin/api/keys", [.get: self.listKeys]),
            ("/admin/api/revocations", [.get: self.listRevocations, .post: self.revoke]),
        ]
        for (path, handlers) in handlers {
            router.resource(
                path, handlers.mapValues { handler in { try await self.answer($0, $1, by: handler) } })
        }
        AdminPage.add(to: router)
    }

    private func answer(
        _ request: Request, _ context: some RequestContext, by handler: Handler
    ) async throws -> Response {
        let sender = CallerRequest(request, context)
        let actor = AuditChange.Actor(try await self.administrator(sending: sender), address: sender.clientAddress)
        do {
            // A change counts for all machines that share the store, so it is made by a time that they share.
            let time =
                try await request.method == .post
                ? self.records.administration.time(by: self.now) : self.now()
            return try await handler(Call(request: request, actor: actor, time: time))
        } catch let error as Problem {
            throw error
        } catch let error as TokenServerError where error.code == .wrongClock {
            self.logger.error("admin request refused", metadata: ["error": "\(error.message)"])
            throw Problem(.unavailable, error.message, retryAfter: Problem.unavailable.retryAfter)
        } catch let error as CancellationError {
            throw error
        } catch {
            self.logger.error(
                "admin request failed", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
            throw Self.problem(error, isChange: request.method == .post)
        }
    }

    /// What is answered where the store failed.
    private static func problem(_ error: any Error, isChange: Bool) -> Problem {
        guard isChange else { return .unavailable.saying("The store cannot be read now; try again.") }
        guard (error as? PostgreSQLError)?.leavesOutcomeOpen == true else {
            return .unavailable.saying("Nothing was changed, as the store cannot be used now; try again.")
        }
        return Problem(
            .outcomeUnknown,
            "The store was lost before it answered, so it is not known whether the change was made; look before you make "
                + "it again.")
    }

    /// Lets an administrator in, within limits.
    private func administrator(sending request: CallerRequest) async throws -> Caller {
        do {
            try self.failedLogins?.admit(request.clientAddress)
            let administrator = try await self.administrators.administrator(of: request)
            try self.limiter?.admit(administrator.id)
            return administrator
        } catch let excess as RateLimitExceeded {
            throw Problem(excess)
        } catch let problem as Problem where [.unauthenticated, .permissionDenied].contains(problem.kind) {
            // Who sends no credential guesses none.
            if request.bearer != nil { self.failedLogins?.noteFailure(of: request.clientAddress) }
            throw problem
        }
    }

    /// Tells the log what an administrator changed.
    func note(_ change: String, _ call: Call, _ metadata: Logger.Metadata) {
        let who: Logger.Metadata = ["administrator": "\(call.actor.id)"]
        self.logger.notice("\(change)", metadata: who.merging(metadata) { first, _ in first })
    }
}
