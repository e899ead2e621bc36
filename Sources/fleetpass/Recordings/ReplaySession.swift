// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngine
import FleetTokenClient
import FleetTokenServer
import FleetTokens
import Foundation

/// One run of a recording against an engine.
struct ReplaySession {
    let engine: EngineEndpoint
    let provider: ProviderID
    let issuer: TokenIssuer
    let transport: any HTTPTransport

    /// Sends the calls in the order in which they took effect.
    ///
    /// - Parameters:
    ///   - recording: The calls.
    ///   - compares: Whether fields are compared.
    ///   - report: Gets what came of it, also of the calls before one that could not be sent.
    /// - Throws: ``CommandFailure`` that names the call, when the engine cannot be reached.
    func run(_ recording: CallRecording, comparing compares: Bool, into report: inout ReplayReport) async throws {
        let recording = recording.inOrderOfWork
        let presumed = recording.presumed(for: self.provider)
        var differences = ResponseDifferences(tolerance: nil)
        var times = ReplayTimes()
        var pages = ReplayPages()
        var filled = 0
        defer {
            Self.show("")
            if filled > 0 {
                let creations = filled == 1 ? "1 creation" : "\(filled) creations"
                Console.say("fleetpass: filled in the least that \(creations) of the recording lacked.")
            }
            report.differences = compares ? ReplayReport.Difference.list(differences) : nil
        }
        for (index, call) in recording.calls.enumerated() {
            if index > 0, index.isMultiple(of: 100) { Self.show("\(index) of \(recording.calls.count) calls") }
            times.add(call, at: Date())
            let place = "call \(index + 1) of \(recording.calls.count)"
            for call in presumed[index] ?? [] { try await self.presume(call.timed(by: times), before: place) }
            // With a server's token it would be carried out.
            guard !call.isDenied else {
                report.denied += 1
                continue
            }
            guard let replayed = call.replayed(for: self.provider, pages: pages) else {
                report.leftOut += 1
                continue
            }
            let answer = try await self.send(replayed.timed(by: times), at: place)
            report.sent += 1
            if replayed.isFilled { filled += 1 }
            let isDone = answer.status == 200 && call.mayBeAnswered(by: answer.body)
            let isAlike = call.endsAlike(httpStatus: answer.status, word: answer.fault?.status)
            if isAlike, isDone || call.isRefused {
                guard isDone, pages.hasPage(of: call) else { continue }
                if compares { try differences.compare(call, with: answer.body) }
                pages.add(call, answer: answer.body)
            } else {
                report.otherwise.append(
                    .init(
                        number: index + 1, call: call.name, recorded: call.status, status: answer.status,
                        message: isDone ? nil : answer.refusal))
            }
        }
    }

    /// Shows on a terminal how far the replay is.
    private static func show(_ progress: String) {
        if Console.isTerminal { Console.replace(progress) }
    }

    private func presume(_ call: ReplayedCall, before place: String) async throws {
        let answer = try await self.send(call, at: place)
        // What an earlier run left is as good.
        guard ![200, 409].contains(answer.status) else { return }
        Self.show("")
        Console.say(
            "fleetpass: what the recording presumes was refused with \(answer.status): \(answer.refusal.shown())")
    }

    private func send(_ call: ReplayedCall, at place: String) async throws -> HTTPTransportResponse {
        do {
            let type: TokenType =
                call.isBatch ? .batchTaskCreation(.any) : call.isDelivery ? .deliveryServer : .server
            let token = try await self.issuer.issue(type).token
            return try await self.transport.send(
                HTTPTransportRequest(
                    method: call.verb, url: self.engine.url(call.path, action: call.action, query: call.query),
                    headers: [
                        (name: "Authorization", value: token.authorizationHeader),
                        (name: "Content-Type", value: "application/json"),
                    ],
                    body: call.body))
        } catch let error as CommandFailure {
            throw error
        } catch let error as TokenServerError {
            throw CommandFailure(status: .configuration, message: error.message)
        } catch {
            throw CommandFailure(
                status: .unreachable, message: "stopped at \(place), as the engine does not answer: \(error)")
        }
    }
}

extension HTTPTransportResponse {
    /// An error of the API.
    fileprivate struct Fault: Decodable {
        /// The status word.
        let status: String
        let message: String
    }

    /// The error of the API, if the answer is one.
    fileprivate var fault: Fault? {
        struct Envelope: Decodable {
            let error: Fault
        }
        return (try? JSONDecoder().decode(Envelope.self, from: self.body))?.error
    }

    /// The status word and the message of an error of the API.
    fileprivate var refusal: String {
        self.fault.map { "\($0.status): \($0.message)" } ?? "an answer that is not the API's"
    }
}

/// What a replay came to.
struct ReplayReport: Encodable {
    /// A call that did not end as it was recorded.
    struct Otherwise: Encodable {
        let number: Int
        let call: String
        let recorded: String
        let status: Int
        let message: String?
    }

    /// A kind of difference between answers.
    struct Difference: Encodable {
        let call: String
        let difference: String
        let field: String
        let count: Int

        static func list(_ differences: ResponseDifferences) -> [Self] {
            differences.counts.map { Self(call: $0.call, difference: $0.difference, field: $0.field, count: $1) }
                .sorted { ($0.call, $0.field, $0.difference) < ($1.call, $1.field, $1.difference) }
        }
    }

    /// How many calls were sent.
    var sent = 0
    /// How many were not sent, as the recording does not tell what they are about.
    var leftOut = 0
    /// How many were not sent, as they were refused for their tokens.
    var denied = 0
    var otherwise: [Otherwise] = []
    /// Absent where nothing was compared.
    var differences: [Difference]?

    var text: String {
        let ended = self.otherwise.map { one in
            "call \(one.number) \(one.call): recorded \(one.recorded), now \(one.status)"
                + (one.message.map { " \($0)" } ?? "")
        }
        let fields = (self.differences ?? []).map { one in
            "\(String(one.count).leftPadded(to: 6))  \(one.call): \(one.difference) \(one.field)"
        }
        let closing =
            "sent=\(self.sent) otherwise=\(self.otherwise.count) left_out=\(self.leftOut) denied=\(self.denied)"
            + (self.differences.map { " differences=\($0.count)" } ?? "")
        return (ended + fields + [closing]).map { $0.shown() }.joined(separator: "\n")
    }
}

extension String {
    fileprivate func leftPadded(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - self.count)) + self
    }
}
