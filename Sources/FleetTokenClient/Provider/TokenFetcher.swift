// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTokens
import Foundation

/// One request to the token server and the reading of its answer.
struct TokenFetcher: Sendable {
    /// What came of a fetch.
    struct Outcome: Sendable {
        let grant: Result<TokenGrant, TokenClientError>
        /// What the answer told about the phone's clock, also when it brought no token.
        let clockError: DeviceClockError?
        /// Whether the request had all of its time and the server did not answer.
        var isTimeUp = false
    }

    let endpoint: TokenEndpoint
    let transport: any HTTPTransport
    let credentials: FleetTokenProvider.Credentials
    let proof: FleetTokenProvider.Proof?
    let time: MonotonicTime
    let deviceClock: DeviceClock

    /// Fetches a token, and tells before each step what it waits for then; the request ends shortly before the deadline.
    ///
    /// - Returns: What came of it, or `nil` when the task was cancelled before anything was sent.
    func fetch(
        _ subject: TokenSubject, until deadline: MonotonicInstant, step: (TokenCacheMachine.FetchStep) -> Void
    ) async -> Outcome? {
        var clockError: DeviceClockError?
        var end: MonotonicInstant?
        do throws(TokenClientError) {
            guard var request = try await self.request(for: subject, step: step) else { return nil }
            step(.server)
            let start = self.time.now
            request.timeout = HTTPTransportRequest.timeout(within: start.duration(to: deadline))
            end = start.advanced(by: request.timeout)
            let response = try await self.send(request)
            clockError = DeviceClockError(
                comparing: response, receivedAt: self.deviceClock.date, roundTrip: start.duration(to: self.time.now))
            return Outcome(
                grant: .success(try self.endpoint.grant(from: response, for: subject)), clockError: clockError)
        } catch {
            // A server that answers may say with its status that its own time was up.
            let isUnanswered = error.code == .timedOut && error.httpStatus == nil
            let isTimeUp = isUnanswered && end.map { $0 <= self.time.now } == true
            return Outcome(grant: .failure(error), clockError: clockError, isTimeUp: isTimeUp)
        }
    }

    /// The request with all that the app adds to it, or `nil` when the task was cancelled meanwhile.
    ///
    /// A closure of the app may take no notice of a cancellation, as when its user signs out; then it is asked for nothing
    /// more, and what it gave stays here.
    private func request(
        for subject: TokenSubject, step: (TokenCacheMachine.FetchStep) -> Void
    ) async throws(TokenClientError) -> HTTPTransportRequest? {
        var request = HTTPTransportRequest(url: try self.endpoint.url(for: subject))
        request.headers = [("Accept", "application/json"), ("Cache-Control", "no-store")]
        step(.credentials)
        do {
            request.headers += try await self.credentials()
        } catch {
            throw Self.error(
                error, of: "credentials",
                refusal: "The app's credentials closure failed, so the token server was not asked; sign in again.")
        }
        guard !Task.isCancelled else { return nil }
        guard let proof else { return request }
        let challenge = TokenRequestChallenge(method: request.method, url: request.url)
        request.headers.append((TokenRequestChallenge.nonceHeader, challenge.nonce))
        step(.proof)
        do {
            request.headers += try await proof(challenge)
        } catch {
            throw Self.error(
                error, of: "proof",
                refusal: "The app's proof closure (App Attest, DeviceCheck or the like) failed, so the token server "
                    + "was not asked; see its error for the cause.")
        }
        return Task.isCancelled ? nil : request
    }

    /// What a closure of the app failed with; that the network fails does not mean that the user is signed out.
    private static func error(_ error: any Error, of closure: String, refusal: String) -> TokenClientError {
        if let error = error as? TokenClientError { return error }
        let signIn: [URLError.Code] = [.userAuthenticationRequired, .userCancelledAuthentication]
        guard let number = Self.urlErrorNumber(in: error), !signIn.map(\.rawValue).contains(number) else {
            return TokenClientError(code: .refused, message: refusal, cause: error)
        }
        return TokenClientError(
            code: number == URLError.Code.timedOut.rawValue ? .timedOut : .unreachable,
            message: "The app's \(closure) closure got no answer over the network, so the token server was not asked.",
            cause: error
        )
    }

    /// The number of the `URLError` that an error is or holds, the outermost one's; a cancellation counts as one.
    private static func urlErrorNumber(in error: any Error) -> Int? {
        var found = [error]
        var next = 0
        // Bounded, because an error may hold itself.
        while next < min(found.count, 32) {
            let error = found[next]
            next += 1
            if error is CancellationError { return URLError.Code.cancelled.rawValue }
            let native = error as NSError
            if native.domain == NSURLErrorDomain { return native.code }
            found += [native.userInfo[NSUnderlyingErrorKey] as? any Error].compactMap(\.self) + Self.errors(in: error)
        }
        return nil
    }

    /// The errors that a Swift error holds in its properties or in the values of its case.
    private static func errors(in value: Any) -> [any Error] {
        Mirror(reflecting: value).children.flatMap { child -> [any Error] in
            if let error = child.value as? any Error { return [error] }
            let isValuesOfCase = Mirror(reflecting: child.value).displayStyle == .tuple
            return isValuesOfCase ? Self.errors(in: child.value) : []
        }
    }

    private func send(_ request: HTTPTransportRequest) async throws(TokenClientError) -> HTTPTransportResponse {
        do {
            return try await self.transport.send(request)
        } catch let error as TokenClientError {
            throw error
        } catch {
            throw TokenClientError(
                code: .unreachable, message: "The token server could not be reached.", cause: error)
        }
    }
}
