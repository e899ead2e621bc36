// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens

/// Answers the questions for tokens that Google's Driver and Consumer SDKs ask.
///
/// The SDKs ask with ids as text, and want text or an `NSError` back, later and exactly once. The sources in
/// `Integrations/`, which an app compiles next to the SDKs, make this an object of their protocols.
public struct SDKAuthorization: Sendable {
    /// The service that a driver app works for; the SDK's question does not tell.
    public enum DriverService: Sendable {
        /// On-demand trips: the vehicle's own driver token.
        case onDemandTrips
        /// Scheduled tasks: a delivery driver's token, for the task that the SDK names, if it names one.
        case scheduledTasks
    }

    /// Gets the token or the error, and never both; called on any thread.
    public typealias Completion = @Sendable (String?, (any Error)?) -> Void

    private let tokens: any TokenProvider
    private let limit: Duration
    private let clock: any Clock<Duration>
    private let handedOut = Locked(HandedOutTokens())

    /// Makes answers from a provider's tokens.
    ///
    /// - Parameters:
    ///   - tokens: Where tokens come from.
    ///   - limit: The longest wait for one; the default lies below the drivers' reporting interval of 10 s.
    ///   - clock: What the limit is measured with.
    public init(
        _ tokens: any TokenProvider,
        within limit: Duration = .seconds(9),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.tokens = tokens
        self.limit = limit
        self.clock = clock
    }

    /// Answers the Driver SDK.
    ///
    /// - Parameters:
    ///   - vehicleID: The context's vehicle; `nil` when there was no context.
    ///   - taskID: The context's task, if any.
    ///   - service: What the driver works for.
    ///   - completion: Called once, on any thread, and never on this call's own stack.
    public func fetchDriverToken(
        vehicleID: String?,
        taskID: String?,
        service: DriverService = .onDemandTrips,
        completion: @escaping Completion
    ) {
        self.fetch(completion) { () throws(SDKAuthorizationError) in
            try Self.driverSubject(vehicleID: vehicleID, taskID: taskID, service: service)
        }
    }

    /// Answers the Consumer SDK.
    ///
    /// - Parameters:
    ///   - tripID: The context's trip; `nil` when there was no context.
    ///   - completion: Called once, on any thread, and never on this call's own stack.
    public func fetchConsumerToken(tripID: String?, completion: @escaping Completion) {
        self.fetch(completion) { () throws(SDKAuthorizationError) in
            try Self.consumerSubject(tripID: tripID)
        }
    }

    private func fetch(
        _ completion: @escaping Completion,
        for subject: () throws(SDKAuthorizationError) -> TokenSubject
    ) {
        do throws(SDKAuthorizationError) {
            let asked = try subject()
            self.tokens.fetchToken(for: asked, within: self.limit, clock: self.clock) { [handedOut] result in
                switch result {
                case .success(let token):
                    handedOut.withLock { $0.note(token, for: asked) }
                    completion(token.compactSerialization, nil)
                case .failure(let error): completion(nil, SDKAuthorizationError(error).nsError)
                }
            }
        } catch {
            let error = error.nsError
            Task { completion(nil, error) }
        }
    }

    // MARK: - Refusals

    /// Says that Fleet Engine refused the token that a vehicle got last, so that the next question gets another.
    ///
    /// The Driver SDK does not say so: call this when an update fails with gRPC's 16. A 7 means the token only where it
    /// is new; otherwise it is about the update. Without such a token this does nothing; a question that failed since
    /// leaves it the last one.
    ///
    /// - Parameter vehicleID: The vehicle, whatever the task was.
    public func lastTokenWasRefused(vehicleID: String) {
        self.invalidateNewest { subject, _ in
            switch subject {
            case .driver(let vehicle): vehicle.value == vehicleID
            case .deliveryDriver(let vehicle, _): vehicle.value == vehicleID
            case .consumer, .deliveryConsumer, .fleetReader: false
            }
        }
    }

    /// Says that Fleet Engine refused the token that a trip got last, so that the next question gets another.
    ///
    /// The Consumer SDK does not say so: call this when a question about the trip fails with gRPC's 16. A 7 means the
    /// token only where it is new. Without such a token this does nothing; a question that failed since leaves it the
    /// last one.
    ///
    /// - Parameter tripID: The trip.
    public func lastTokenWasRefused(tripID: String) {
        self.invalidateNewest { subject, _ in
            if case .consumer(let trip) = subject { trip.value == tripID } else { false }
        }
    }

    /// Says that Fleet Engine refused a token; one that was not handed out lately is left alone.
    ///
    /// - Parameter token: The token, as it was handed out.
    public func tokenWasRefused(_ token: String) {
        let refused = FleetToken(token)
        self.invalidateNewest { $1 == refused }
    }

    private func invalidateNewest(where isMeant: (TokenSubject, FleetToken) -> Bool) {
        guard let refused = self.handedOut.withLock({ $0.takeNewest(where: isMeant) }) else { return }
        self.tokens.invalidate(refused.token, for: refused.subject)
    }

    // MARK: - Subjects

    /// Whose token the Driver SDK asks for.
    ///
    /// - Parameters:
    ///   - vehicleID: The context's vehicle; `nil` when there was no context.
    ///   - taskID: The context's task; an empty one is none.
    ///   - service: What the driver works for.
    /// - Returns: The subject.
    /// - Throws: ``SDKAuthorizationError`` when the question cannot be answered.
    package static func driverSubject(
        vehicleID: String?, taskID: String?, service: DriverService
    ) throws(SDKAuthorizationError) -> TokenSubject {
        let vehicle = try Self.given(vehicleID, of: "vehicle")
        let task = taskID.flatMap { $0.isEmpty ? nil : $0 }
        switch (service, task) {
        case (.onDemandTrips, nil):
            return .driver(try Self.checked(vehicle))
        case (.onDemandTrips, _?):
            throw SDKAuthorizationError(
                code: .unexpectedTask,
                message: "The SDK asked for a task's token, but on-demand trips have no tasks; "
                    + "make the authorization for scheduled tasks."
            )
        case (.scheduledTasks, nil):
            return .deliveryDriver(try Self.checked(vehicle))
        case (.scheduledTasks, let task?):
            return .deliveryDriver(try Self.checked(vehicle), task: try Self.checked(task))
        }
    }

    /// Whose token the Consumer SDK asks for.
    ///
    /// - Parameter tripID: The context's trip; `nil` when there was no context.
    /// - Returns: The subject.
    /// - Throws: ``SDKAuthorizationError`` when the question cannot be answered.
    package static func consumerSubject(tripID: String?) throws(SDKAuthorizationError) -> TokenSubject {
        .consumer(try Self.checked(try Self.given(tripID, of: "trip")))
    }

    private static func given(_ id: String?, of noun: String) throws(SDKAuthorizationError) -> String {
        guard let id else {
            throw SDKAuthorizationError(
                code: .missingContext,
                message: "No authorization context came with the question, so the \(noun) is unknown; "
                    + "pass the context that the SDK hands out."
            )
        }
        guard !id.isEmpty else {
            throw SDKAuthorizationError(
                code: .missingID,
                message: "The authorization context names no \(noun); give the SDK the \(noun)'s id when it is set up."
            )
        }
        return id
    }

    private static func checked<Kind>(_ id: String) throws(SDKAuthorizationError) -> FleetID<Kind> {
        do {
            return try FleetID(checking: id)
        } catch {
            throw SDKAuthorizationError(
                code: .invalidID,
                message: "\(error.message) Give the SDK an id that Fleet Engine accepts.",
                cause: error
            )
        }
    }
}
