// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Why a call to the engine failed: before it was sent, on the way, or by the engine's own answer.
public struct EngineFailure: Error, Sendable, CustomStringConvertible {
    /// Where a call can fail.
    public enum Stage: String, Sendable {
        /// No usable token could be had; nothing was sent.
        case token
        /// The engine could not be reached, or did not answer in time.
        case connection
        /// The engine answered with an error, with something that is not an answer, or with what leaves nothing to be done:
        /// a stop whose change was kept is not on its list any more.
        case engine
    }

    /// Where the call failed.
    public var stage: Stage
    /// The canonical code, from the error body's `status` word, else from the HTTP status.
    public var code: RPCCode
    /// The engine's own word for its refusal, such as `TOKEN_EXPIRED`, where it gave one.
    public var reason: String?
    /// What failed, without secrets.
    public var message: String
    /// The HTTP status, where there was an answer.
    public var httpStatus: Int?
    /// How long the engine, or the token server, asked to wait, where it did; an hour at most.
    ///
    /// A vehicle's reporter goes on with its locations at its interval all the same.
    public var retryAfter: Duration?
    /// The error underneath, if any.
    public var cause: (any Error)?
    /// Whether the engine itself said so, in its own form: something before it, such as a proxy while the engine is away,
    /// may answer in its place, and knows nothing of what was sent.
    package var isEnginesOwn = false
    /// Code, reason and message on one line.
    public var description: String {
        "\(self.code.rawValue)\(self.reason.map { " (\($0))" } ?? ""): \(self.message)"
    }

    /// Makes a failure.
    public init(
        stage: Stage,
        code: RPCCode,
        reason: String? = nil,
        message: String,
        httpStatus: Int? = nil,
        retryAfter: Duration? = nil,
        cause: (any Error)? = nil
    ) {
        self.stage = stage
        self.code = code
        self.reason = reason
        self.message = message
        self.httpStatus = httpStatus
        self.retryAfter = retryAfter
        self.cause = cause
    }
}

// MARK: - From other errors

extension EngineFailure {
    /// Wraps what a token provider or a transport threw.
    package init(stage: Stage, _ error: any Error) {
        let known = error as? TokenClientError
        let told = stage == .token || known != nil ? SDKAuthorizationError(error) : nil
        let native = error as NSError
        let isTimeOut = native.domain == NSURLErrorDomain && native.code == URLError.Code.timedOut.rawValue
        self.init(
            stage: stage,
            code: isTimeOut ? .deadlineExceeded : told?.code.ofCall ?? .unavailable,
            message: told?.message ?? "The engine could not be reached.",
            retryAfter: known?.retryAfter.map(Self.bounded),
            cause: error
        )
    }

    /// Cuts a wait that somebody asked for down to an hour.
    static func bounded(_ pause: Duration) -> Duration {
        min(max(pause, .zero), .seconds(3_600))
    }

    /// Says that the time of a call was over at some stage.
    package static func timeIsUp(_ stage: Stage) -> Self {
        let waited = stage == .token ? "a token" : "the engine's answer"
        return Self(
            stage: stage,
            code: .deadlineExceeded,
            message: "The time for the call was over while it waited for \(waited)."
        )
    }
}

extension SDKAuthorizationError.Code {
    /// The code of a call for which no token could be had; only where a later call may get one, it is one that passes.
    fileprivate var ofCall: RPCCode {
        switch self {
        case .invalidConfiguration, .insecureURL, .missingContext, .missingID, .unexpectedTask: .failedPrecondition
        case .unreachable, .lifeUnavailable, .storeFailed, .cancelled, .providerFailed: .unavailable
        case .timedOut: .deadlineExceeded
        case .refused, .wrongToken, .expired: .unauthenticated
        case .rateLimited, .excessiveRefresh: .resourceExhausted
        case .invalidAnswer: .internalError
        case .invalidID: .invalidArgument
        }
    }
}
