// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokenClient
import Foundation
import Testing

@Suite struct EngineFailureTests {
    @Test func `every code has the number that gRPC gives it`() {
        #expect(RPCCode.allCases.map(\.number) == Array(1...16))
        #expect(RPCCode(rawValue: "UNAUTHENTICATED")?.number == 16)
        #expect(RPCCode(rawValue: "PERMISSION_DENIED")?.number == 7)
    }

    @Test(
        arguments: [
            (400, RPCCode.invalidArgument), (401, .unauthenticated), (403, .permissionDenied), (404, .notFound),
            (409, .aborted), (429, .resourceExhausted), (500, .internalError), (501, .unimplemented),
            (502, .unavailable), (503, .unavailable), (504, .deadlineExceeded), (302, .unknown), (418, .unknown),
        ]
    )
    func `an HTTP status stands for a code`(status: Int, code: RPCCode) {
        #expect(EngineFailure(refusal: HTTPTransportResponse(status: status)).code == code)
    }

    @Test(arguments: [
        (#"{"error":{"status":"NOT_FOUND"}}"#, true), (#"{"error":{"message":"No."}}"#, false),
        (#"{"error":{"status":"GONE_FISHING"}}"#, false), ("<h1>No backend</h1>", false), ("", false),
    ])
    func `a refusal is the engine's own where it names one of its codes`(body: String, isOwn: Bool) {
        let response = HTTPTransportResponse(status: 400, body: Data(body.utf8))
        #expect(EngineFailure(refusal: response).isEnginesOwn == isOwn)
    }

    @Test func `an error body is not believed at any length`() {
        let long = String(repeating: "x", count: 10_000)
        let body = #"{"error":{"status":"NOT_FOUND","message":"\#(long)","details":[{"reason":"\#(long)"}]}}"#
        let failure = EngineFailure(refusal: HTTPTransportResponse(status: 500, body: Data(body.utf8)))
        #expect(failure.code == .notFound)
        #expect(failure.message.count == 500 && failure.reason?.count == 500)
        let huge = Data((body + String(repeating: " ", count: 64 * 1024)).utf8)
        #expect(EngineFailure(refusal: HTTPTransportResponse(status: 500, body: huge)).code == .internalError)
    }

    @Test(arguments: [
        ("7", 7), ("999999999999", 3_600), ("99999999999999999999", 3_600), ("Thu, 01 Jan 2026 00:06:40 GMT", 100),
        ("Thu, 01 Jan 2026 02:00:00 GMT", 3_600), ("Wed, 31 Dec 2025 00:00:00 GMT", 0), ("-3", nil), ("soon", nil),
        ("1.5", nil),
    ])
    func `the wait that the engine asks for is read as seconds and as a date, and bounded`(
        text: String, seconds: Int?
    ) {
        let headers = [("date", "Thu, 01 Jan 2026 00:05:00 GMT"), ("retry-after", text)]
        let response = HTTPTransportResponse(status: 503, headers: headers)
        #expect(EngineFailure(refusal: response).retryAfter == seconds.map { .seconds($0) })
    }

    @Test func `a date to wait for is ignored where the engine does not tell its own`() {
        let headers = [("retry-after", "Thu, 01 Jan 2026 00:06:40 GMT")]
        #expect(EngineFailure(refusal: HTTPTransportResponse(status: 503, headers: headers)).retryAfter == nil)
    }

    @Test(arguments: [(7, 7), (-3, 0), (Int64.max, 3_600)])
    func `the wait that a token provider asks for is bounded`(asked: Int64, seconds: Int) {
        let error = TokenClientError(code: .rateLimited, message: "Wait.", retryAfter: .seconds(asked))
        #expect(EngineFailure(stage: .token, error).retryAfter == .seconds(seconds))
    }

    @Test(
        arguments: [
            (TokenClientError.Code.unreachable, RPCCode.unavailable), (.timedOut, .deadlineExceeded),
            (.refused, .unauthenticated), (.wrongToken, .unauthenticated), (.expired, .unauthenticated),
            (.rateLimited, .resourceExhausted), (.invalidAnswer, .internalError),
            (.invalidConfiguration, .failedPrecondition), (.insecureURL, .failedPrecondition),
            (.excessiveRefresh, .resourceExhausted),
        ]
    )
    func `an error of the token client has a code too`(error: TokenClientError.Code, code: RPCCode) {
        let failure = EngineFailure(stage: .token, TokenClientError(code: error, message: "Why."))
        #expect(failure.code == code && failure.message == "Why." && failure.stage == .token)
    }

    @Test(
        arguments: [
            (SDKAuthorizationError.Code.missingContext, RPCCode.failedPrecondition), (.missingID, .failedPrecondition),
            (.invalidID, .invalidArgument), (.unexpectedTask, .failedPrecondition), (.cancelled, .unavailable),
            (.refused, .unauthenticated), (.timedOut, .deadlineExceeded), (.providerFailed, .unavailable),
            (.invalidConfiguration, .failedPrecondition), (.lifeUnavailable, .unavailable),
        ]
    )
    func `an authorization's error has a code too, also as an NSError`(
        error: SDKAuthorizationError.Code, code: RPCCode
    ) {
        let cause = SDKAuthorizationError(code: error, message: "Why.")
        for failure in [EngineFailure(stage: .token, cause), EngineFailure(stage: .token, cause.nsError)] {
            #expect(failure.code == code && failure.message == "Why." && failure.stage == .token)
        }
        #expect((EngineFailure(stage: .token, cause.nsError).cause as NSError?)?.code == error.rawValue)
    }

    @Test func `an error of an app's own keeps its words, and passes`() {
        struct Worded: LocalizedError {
            let errorDescription: String?
        }
        struct Wordless: Error {}
        let native = NSError(domain: "app", code: 3, userInfo: [NSLocalizedDescriptionKey: "No session."])
        let errors: [(any Error, String)] = [
            (Worded(errorDescription: "The session is over."), "The session is over."), (native, "No session."),
            (Worded(errorDescription: ""), "The token provider failed"), (Wordless(), "The token provider failed"),
        ]
        for (error, words) in errors {
            let failure = EngineFailure(stage: .token, error)
            #expect(failure.code == .unavailable && failure.message.hasPrefix(words))
        }
        #expect(EngineFailure(stage: .connection, native).message == "The engine could not be reached.")
    }

    @Test(arguments: [EngineFailure.Stage.token, .connection])
    func `a time limit that was over below has the code for it`(stage: EngineFailure.Stage) {
        let native = NSError(domain: NSURLErrorDomain, code: URLError.Code.timedOut.rawValue)
        for error: any Error in [URLError(.timedOut), native] {
            #expect(EngineFailure(stage: stage, error).code == .deadlineExceeded)
        }
        #expect(EngineFailure(stage: stage, URLError(.notConnectedToInternet)).code == .unavailable)
    }
}
