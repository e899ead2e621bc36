// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetSigning
import FleetTokens
import Foundation

extension CredentialContext {
    /// Sends a request, reads the answer, and tries again what may succeed later.
    ///
    /// - Parameters:
    ///   - service: What errors call the other side.
    ///   - ingredient: What `make` waits for, whose program may take its time beside the policy's limit; the service is
    ///     not blamed for it.
    ///   - policy: How often; the context's unless told otherwise.
    ///   - statuses: Further statuses that are answers and not errors.
    ///   - hedging: Sends a slow first attempt a second time; nothing is hedged once an attempt has failed.
    ///   - renew: Called when the credential is answered with 401, the first time only; says whether the next attempt
    ///     has another one.
    ///   - make: Makes each attempt's request, with a fresh credential where it has one.
    ///   - read: Reads an answer with a status of 200 to 299, or an accepted one.
    /// - Returns: What was read.
    /// - Throws: ``CredentialError``; `CancellationError`.
    func exchange<Answer: Sendable>(
        with service: String, using ingredient: Ingredient? = nil, policy: RetryPolicy? = nil,
        accepting statuses: Set<Int> = [], hedging: Hedging? = nil,
        renewing renew: @escaping @Sendable () -> Bool = { false },
        _ make: @escaping @Sendable () async throws -> UpstreamRequest,
        read: @escaping @Sendable (UpstreamResponse) throws -> Answer
    ) async throws -> Answer {
        let policy = policy ?? self.retries
        let limit = policy.limit + (ingredient?.program?.limit ?? .zero)
        let isMade = Locked(false)
        let timeout: @Sendable () -> CredentialError = {
            let missing = isMade.withLock { $0 } ? nil : ingredient
            let problem = missing.map { "\($0.fullName) was not there" } ?? "\(service) did not answer"
            return CredentialError(code: .timedOut, message: "\(problem) within \(limit).")
        }
        return try await self.time.withLimit(limit - policy.spent, orThrow: timeout()) {
            let start = self.time.uptime - policy.spent
            var failures = 0
            var mayRenew = true
            while true {
                do {
                    isMade.withLock { $0 = false }
                    let request = try await make()
                    isMade.withLock { $0 = true }
                    let attempt: @Sendable () async throws -> Answer = {
                        try read(try await self.attempt(service, request, accepting: statuses))
                    }
                    guard failures == 0, let hedging else { return try await attempt() }
                    return try await hedging.calls.run(mayHedge: hedging.mayHedge, attempt)
                } catch let error as CredentialError where error.status == 401 && mayRenew && renew() {
                    mayRenew = false
                } catch let error as CredentialError where error.isTransient && error.code != .quotaExhausted {
                    failures += 1
                    let pause = policy.pause(
                        afterFailures: failures, retryAfter: error.retryAfter, random: self.random())
                    let passed = self.time.uptime - start
                    guard failures < policy.attempts, passed + pause < limit else { throw error }
                    try await self.time.sleep(for: pause)
                }
            }
        }
    }

    private func attempt(
        _ service: String, _ request: UpstreamRequest, accepting statuses: Set<Int>
    ) async throws -> UpstreamResponse {
        let response: UpstreamResponse
        do {
            response = try await self.transport.send(self.redirected(request))
        } catch {
            if Task.isCancelled || error is CancellationError { throw CancellationError() }
            let failure = error as? UpstreamError ?? UpstreamError(.unreachable)
            let code: CredentialError.Code =
                switch failure.code {
                case .unreachable: .unavailable
                case .timedOut: .timedOut
                case .answerTooLong: .invalidAnswer
                }
            throw CredentialError(code: code, message: "\(service) \(failure).", cause: error)
        }
        guard !(200...299).contains(response.status), !statuses.contains(response.status) else { return response }
        let isTransient =
            [408, 429].contains(response.status) || response.status >= 500
            || Self.asksForAnotherTry(response.body)
        let reasons = Self.reasons(in: response.body)
        throw CredentialError(
            code: isTransient ? .unavailable : .refused,
            message: "\(service) answered \(response.status)"
                + (reasons.isEmpty ? "." : " (\(reasons.joined(separator: ", ")))."),
            retryAfter: HTTPSeconds.retryAfter(in: response.headers, now: Int64(self.time.date.timeIntervalSince1970))
                .map { min($0, .seconds(86_400)) },
            status: response.status,
            reason: reasons.last
        )
    }

    /// The request, sent elsewhere where its host has an override.
    private func redirected(_ request: UpstreamRequest) -> UpstreamRequest {
        guard let host = HostRules.host(of: request.url), let origin = self.hostOverrides[host],
            let end = request.url.firstRange(of: "://")?.upperBound
        else { return request }
        var request = request
        let path = request.url[end...].drop { $0 != "/" && $0 != "?" }
        request.url = origin + path
        return request
    }

    /// Whether an OAuth answer names a failure that passes, which some servers send with a status that says otherwise.
    private static func asksForAnotherTry(_ body: [UInt8]) -> Bool {
        let members = (try? JSONValue(parsing: body))?.object
        return ["error", "error_description"].contains { member in
            members?[member]?.string.map { Self.passingFailures.contains($0) } ?? false
        }
    }

    private static let passingFailures: Set = ["internal_failure", "server_error", "temporarily_unavailable"]

    /// The bounded words with which OAuth and Google's services name an error, the more exact one last; other text may
    /// hold anything.
    private static func reasons(in body: [UInt8]) -> [String] {
        guard let error = (try? JSONValue(parsing: body))?.object?["error"] else { return [] }
        let details = error.object?["details"]?.array ?? []
        let words =
            [error.string ?? error.object?["status"]?.string] + details.prefix(8).map { $0.object?["reason"]?.string }
        return words.compactMap(\.self).filter { word in
            word.utf8.count <= 64
                && word.utf8.allSatisfy {
                    $0 == UInt8(ascii: "_") || Unicode.Scalar($0).properties.isAlphabetic && $0 < 0x80
                }
        }
    }
}
