// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

@testable import struct FleetTokenClient.DeviceClockWatch

/// A phone whose date may be wrong, and that may be started anew.
final class TestPhone: Sendable {
    private struct State: Sendable {
        var date = Date(timeIntervalSince1970: Double(TestTokens.issuedAt + 300))
        var sinceBoot = Duration.seconds(50_000)
    }

    let clock = ManualClock()
    private let state = Locked(State())

    var deviceClock: DeviceClock {
        DeviceClock(date: { self.state.withLock(\.date) }, sinceBoot: { self.state.withLock(\.sinceBoot) })
    }

    /// Lets true time pass.
    func advance(by duration: Duration) {
        self.clock.advance(by: duration)
        self.setDate(ahead: duration)
        self.state.withLock { $0.sinceBoot += duration }
    }

    /// Changes the date without any time passing.
    func setDate(ahead duration: Duration) {
        self.state.withLock { $0.date += TimeInterval(duration.components.seconds) }
    }

    func startAnew() {
        self.state.withLock { $0.sinceBoot = .seconds(20) }
    }
}

@Suite(.timeLimit(.minutes(10))) struct DeviceClockTests {
    private let phone = TestPhone()
    private let endpoint: TokenEndpoint
    private let subject: TokenSubject

    init() throws {
        self.endpoint = try .fleetpass(try #require(URL(string: "https://tokens.example.com")))
        self.subject = .driver(try VehicleID(checking: "veh-3"))
    }

    /// A server that answers after so long, with a new token and the true time, or refuses.
    private func server(latency: Duration = .zero, status: Int = 200, headers: [(String, String)] = []) -> StubTransport
    {
        StubTransport { [phone, endpoint, subject] _, index in
            let serverTime = TestTokens.issuedAt + 300 + phone.clock.now.sinceStart.components.seconds
            phone.advance(by: latency)
            let token = TestTokens.token(for: subject, issuedAt: serverTime - 300, serial: index)
            var response = TestTokens.response(
                with: token, from: endpoint, for: subject, life: .seconds(3300), at: serverTime)
            response.status = status
            response.headers += headers.map { (name: $0.0, value: $0.1) }
            return .response(response)
        }
    }

    private func provider(_ server: StubTransport) throws -> FleetTokenProvider {
        try FleetTokenProvider(
            endpoint: self.endpoint, transport: server, clock: self.phone.clock, deviceClock: self.phone.deviceClock)
    }

    private func clockErrors(in events: AsyncStream<TokenEvent>, upTo count: Int) async -> [Int64] {
        var errors: [Int64] = []
        for await event in events {
            if case .clockError(let error) = event { errors.append(error.offset.components.seconds) }
            if errors.count == count { break }
        }
        return errors
    }

    @Test(arguments: [0, 40, -40, 3600, -86_400]) func `the phone's error is known to half a round trip`(
        seconds: Int
    ) async throws {
        self.phone.setDate(ahead: .seconds(seconds))
        let provider = try self.provider(self.server(latency: .seconds(4)))
        #expect(provider.deviceClockError == nil)
        _ = try await provider.token(for: self.subject)
        let error = try #require(provider.deviceClockError)
        #expect(error.uncertainty == .milliseconds(2500))
        let miss = error.offset - .seconds(seconds)
        #expect(miss <= error.uncertainty && .zero - miss <= error.uncertainty)
        #expect(error.description.contains(seconds < -10 ? "behind" : "ahead"))
    }

    @Test func `an answer without a token tells the time too, one from a cache does not`() async throws {
        self.phone.setDate(ahead: .seconds(1000))
        let refusing = try self.provider(self.server(status: 403))
        await #expect(throws: TokenClientError.self) { try await refusing.token(for: self.subject) }
        #expect(refusing.deviceClockError?.offset.components.seconds == 999)
        let cached = try self.provider(self.server(headers: [("Age", "20")]))
        _ = try await cached.token(for: self.subject)
        #expect(cached.deviceClockError == nil)
    }

    @Test func `a wrong clock is told once, and again when it is differently wrong or right`() async throws {
        let provider = try self.provider(self.server())
        let events = provider.events(bufferingNewest: 100)
        for change in [0, 30, 600, 10, -20, 0, 600, -1220, 0] {
            self.phone.setDate(ahead: .seconds(change))
            let token = try await provider.token(for: self.subject)
            provider.invalidate(token, for: self.subject)
            self.phone.advance(by: .seconds(61))
        }
        #expect(await self.clockErrors(in: events, upTo: 3) == [629, 1219, 0])
    }

    @Test func `an error is told when it is surely more than a minute, and what came late says nothing`() {
        func error(_ offset: Double, give uncertainty: Double) -> DeviceClockError {
            DeviceClockError(
                offset: .seconds(offset), uncertainty: .seconds(uncertainty), measuredAt: Date(timeIntervalSince1970: 0)
            )
        }
        var watch = DeviceClockWatch()
        #expect(watch.take(error(600, give: 60.1)) == nil && watch.latest == nil)
        #expect(watch.take(error(65, give: 5)) == nil && watch.latest == error(65, give: 5))
        #expect(watch.take(error(65.1, give: 5)) == error(65.1, give: 5))
        // Both observations may be off.
        #expect(watch.take(error(131, give: 1)) == nil)
        #expect(watch.take(error(131.2, give: 1)) == error(131.2, give: 1))
        #expect(watch.take(error(131.2, give: 1)) == nil)
        #expect(watch.take(error(600, give: 60)) == error(600, give: 60))
    }

    @Test func `the phone's date never decides about expiry`() async throws {
        let server = self.server()
        let provider = try self.provider(server)
        let token = try await provider.token(for: self.subject)
        for change in [86_400, -400_000, 7_000_000] {
            self.phone.setDate(ahead: .seconds(change))
            #expect(try await provider.token(for: self.subject) == token)
        }
        self.phone.advance(by: .seconds(3300))
        self.phone.setDate(ahead: .seconds(-3300))
        #expect(try await provider.token(for: self.subject) != token)
        #expect(server.requests.count == 2)
    }
}
