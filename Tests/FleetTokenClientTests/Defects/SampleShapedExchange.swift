// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation

/// One request of a ``SampleShapedFetcher`` and the reading of its answer.
struct SampleShapedExchange: Sendable {
    /// What an answer holds.
    struct Loaded: Sendable {
        let token: String?
        /// In seconds; `nil` when the answer says nothing and nobody minds.
        let life: Double?
    }

    let surroundings: FetcherSurroundings
    let flaws: Set<Flaw>

    func result(for context: FetcherContext, over transport: any HTTPTransport) async -> Result<Loaded, any Error> {
        let (results, sink) = AsyncStream.makeStream(of: Result<Loaded, any Error>.self)
        let deadline = self.surroundings.clock.now.advanced(by: .seconds(8))
        let load = Task {
            do {
                sink.yield(.success(try await self.loaded(for: context, over: transport)))
            } catch {
                sink.yield(.failure(error))
            }
        }
        let alarm = Task {
            guard !self.has(.noDeadline),
                (try? await self.surroundings.clock.sleep(until: deadline, tolerance: nil)) != nil
            else {
                return
            }
            sink.yield(.failure(TokenClientError(code: .timedOut, message: "The server is silent.")))
        }
        let first = await results.first { _ in true }
        load.cancel()
        alarm.cancel()
        return first ?? .failure(CancellationError())
    }

    private func has(_ flaw: Flaw) -> Bool { self.flaws.contains(flaw) }

    private func loaded(for context: FetcherContext, over transport: any HTTPTransport) async throws -> Loaded {
        let request = try self.request(for: context)
        let response: HTTPTransportResponse
        do {
            response = try await transport.send(request)
        } catch  where self.has(.networkErrorHidden) {
            throw Self.invalid("data is missing")
        }
        guard response.status == 200 || self.has(.statusIgnored) else {
            throw TokenClientError(code: .refused, message: "A status.", httpStatus: response.status)
        }
        guard let answer = (try? JSONValue(parsing: response.body))?.object else {
            if self.has(.bodyTakenForAnObject) { self.surroundings.crash("the body is not an object") }
            throw Self.invalid("not an object")
        }
        let format = self.format
        guard let token = answer[format.tokenKey]?.string else {
            guard self.has(.tokenTakenForAString) else { throw Self.invalid("no token") }
            return Loaded(token: answer[format.tokenKey].map { "\($0)" }, life: nil)
        }
        let claims = try self.claims(of: token, for: context)
        let stated = try format.expiry.flatMap { try self.life($0, in: answer, of: response) }
        guard let stated else { return Loaded(token: token, life: nil) }
        let life = claims.map { min(stated, Double($0.expiresAt - $0.issuedAt)) } ?? stated
        guard life > 0 || self.has(.tokenNotRead) else {
            throw TokenClientError(code: .expired, message: "The token is over.")
        }
        return Loaded(token: token, life: life)
    }

    private static func invalid(_ message: String) -> TokenClientError {
        TokenClientError(code: .invalidAnswer, message: message)
    }
}

// MARK: - Parts

extension SampleShapedExchange {
    private var kind: String {
        switch self.surroundings.service {
        case .driver: "driver"
        case .consumer: "consumer"
        case .deliveryDriver: "delivery_driver"
        }
    }

    private var format: TokenAnswerFormat {
        switch self.surroundings.contract {
        case .onDemand: .onDemand
        case .scheduled: .scheduled
        case .fleetpass:
            TokenAnswerFormat(
                tokenKey: self.surroundings.service == .deliveryDriver ? "token" : "jwt",
                expiry: TokenAnswerFormat.Expiry(key: "expires_in", unit: .seconds, reference: .answer))
        }
    }

    private func request(for context: FetcherContext) throws -> HTTPTransportRequest {
        var text = self.surroundings.address + "/token"
        if let id = context.id, !self.has(.requestWithoutID) {
            text += "/\(self.kind)/" + (self.has(.idNotEscaped) ? id : PercentCoding.encode(id))
            if let task = context.taskID { text += "?task=" + PercentCoding.encode(task) }
        }
        guard let url = URL(string: text) else {
            throw TokenClientError(code: .invalidConfiguration, message: "There is no such address.")
        }
        let timeout: Duration = self.has(.sixtySecondTimeout) ? .seconds(60) : .seconds(8)
        var request = HTTPTransportRequest(url: url, timeout: timeout)
        if !self.has(.noCredentials) { request.headers += self.surroundings.credentials }
        if !self.has(.answersMayBeCached) { request.headers.append((name: "Cache-Control", value: "no-store")) }
        return request
    }

    private func claims(of token: String, for context: FetcherContext) throws -> TokenClaims? {
        guard !self.has(.tokenNotRead) else { return nil }
        let subject = try TokenSubject(context, service: self.surroundings.service)
        guard let claims = FetcherWorld.claims(of: token),
            claims.authorization == (try subject.tokenType.claims)
        else { throw TokenClientError(code: .wrongToken, message: "The token is somebody else's.") }
        return claims
    }

    private func life(
        _ expiry: TokenAnswerFormat.Expiry, in answer: JSONObject, of response: HTTPTransportResponse
    ) throws -> Double? {
        let number: Int64? =
            switch answer[expiry.key] {
            case .integer(let number): number
            case .string(let text) where !self.has(.stringExpiryRefused): Int64(text)
            default: nil
            }
        guard let number else {
            if self.has(.missingExpiryIgnored) { return nil }
            throw Self.invalid("no expiry")
        }
        let isMilliseconds = expiry.unit == .milliseconds && !self.has(.millisecondsTakenAsSeconds)
        var life = Double(number) / (isMilliseconds ? 1000 : 1)
        let isAbsolute =
            (expiry.reference == .unixEpoch || self.has(.expiryTakenAsAbsolute)) && !self.has(.expiryTakenAsRelative)
        if isAbsolute {
            let serverDate = response.header("Date").flatMap(HTTPDate.unixSeconds).map(Double.init)
            life -= self.has(.phoneDateTrusted) ? self.surroundings.phoneDate() : serverDate ?? 0
        }
        return self.has(.lifeThousandfold) ? life * 1000 : life
    }
}
