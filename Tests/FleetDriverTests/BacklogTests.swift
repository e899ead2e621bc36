// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTestSupport
import FleetTokenClient
import FleetTokens
import Foundation
import Testing

/// More fixes than one report takes.
@Suite(.timeLimit(.minutes(10))) struct BacklogTests {
    private static func fix(_ number: Int) throws -> LocationFix {
        try LocationFix(
            latitude: Self.latitude(number), longitude: -122, time: Date(timeIntervalSince1970: Double(number)))
    }

    /// The latitude that tells a fix by its number, which may be 90,000.
    private static func latitude(_ number: Int) -> Double { Double(number) / 1000 }

    @Test func `a long backlog goes in parts, oldest first and each with the newest fix`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.offline, .ok]), configuration: .init(capacity: 10_000))
        await world.reporter.startTracking()
        for number in 1...10_000 { await world.reporter.record(try Self.fix(number)) }
        var events: [VehicleUpdateEvent] = []
        repeat {
            await world.reporter.reportNow()
            events.append(try await world.event())
        } while events.last?.unsentCount != 0 && events.count < 100

        // 500 with the newest, and 499 with each repetition of it.
        let left = (0...19).map { 9500 - 499 * $0 }
        #expect(events.map(\.unsentCount) == [10_000] + left + [0])
        #expect(events.allSatisfy { $0.droppedCount == 0 })
        #expect(world.engine.requests.allSatisfy { ($0.body?.count ?? 0) < 1 << 20 })
        let sent = try world.engine.requests.dropFirst().map { try $0.latitudes }
        #expect(sent.allSatisfy { $0.last == Self.latitude(10_000) })
        #expect(sent.flatMap { Array($0.dropLast()) } == (1...9999).map(Self.latitude))
    }

    @Test func `a fix that comes meanwhile is the newest of the next part`() async throws {
        let world = try ReporterWorld(configuration: .init(capacity: 1000))
        await world.reporter.startTracking()
        for number in 1...600 { await world.reporter.record(try Self.fix(number)) }
        await world.reporter.reportNow()
        #expect(try await world.event().unsentCount == 100)
        await world.reporter.record(try Self.fix(601))
        await world.reporter.reportNow()
        #expect(try await world.event().unsentCount == 0)
        #expect(try world.engine.requests.last?.latitudes == (Array(500...599) + [601]).map(Self.latitude))
    }

    @Test func `a part that the engine refuses for good takes no other with it`() async throws {
        let world = try ReporterWorld(
            engine: StubTransport([.status(400), .ok]), configuration: .init(capacity: 1000))
        await world.reporter.startTracking()
        for number in 1...600 { await world.reporter.record(try Self.fix(number)) }
        await world.reporter.reportNow()
        let refused = try await world.event()
        #expect(refused.droppedCount == 500 && refused.unsentCount == 100)
        await world.reporter.reportNow()
        #expect(try await world.event().unsentCount == 0)
        #expect(try world.engine.requests.last?.latitudes == (500...599).map(Self.latitude))
    }

    @Test func `what a proxy refuses in the engine's place is sent again`() async throws {
        let world = try ReporterWorld(engine: StubTransport([.proxy(400), .ok]))
        await world.reporter.startTracking()
        for number in 1...3 { await world.reporter.record(try Self.fix(number)) }
        await world.reporter.reportNow()
        let refused = try await world.event()
        #expect(refused.droppedCount == 0 && refused.unsentCount == 3)
        await world.reporter.reportNow()
        #expect(try await world.event().unsentCount == 0)
        #expect(try world.engine.requests.last?.latitudes == (1...3).map(Self.latitude))
    }

    @Test(arguments: [400, 413])
    func `a proxy that takes no long reports gets shorter ones`(status: Int) async throws {
        let refusal = StubTransport.Answer.proxy(status)
        let world = try ReporterWorld(
            engine: StubTransport([refusal, refusal, refusal, .ok]), configuration: .init(capacity: 1000))
        await world.reporter.startTracking()
        for number in 1...600 { await world.reporter.record(try Self.fix(number)) }
        for _ in 1...7 {
            await world.reporter.reportNow()
            #expect(try await world.event().droppedCount == 0)
        }
        let sent = try world.engine.requests.map { try $0.latitudes }
        #expect(sent.map(\.count) == [500, 250, 125, 62, 124, 248, 169])
        #expect(Set(sent.dropFirst(3).flatMap(\.self)) == Set((1...600).map(Self.latitude)))
    }

    @Test(arguments: [401, 404, 429, 502, 503])
    func `what is not about the length of a report shortens none`(status: Int) async throws {
        let refusal = StubTransport.Answer.proxy(status)
        let world = try ReporterWorld(
            // A 401 is answered by a second attempt.
            engine: StubTransport(status == 401 ? [refusal, refusal, .ok] : [refusal, .ok]),
            configuration: .init(capacity: 1000))
        await world.reporter.startTracking()
        for number in 1...600 { await world.reporter.record(try Self.fix(number)) }
        for count in [600, 100] {
            await world.reporter.reportNow()
            let event = try await world.event()
            #expect(event.unsentCount == count && event.pastLocationCount == 499)
        }
    }

    @Test func `a proxy that takes nothing for long still gets the newest location each time`() async throws {
        let refusals = Array(repeating: StubTransport.Answer.proxy(413), count: 12)
        let world = try ReporterWorld(engine: StubTransport(refusals + [.ok]))
        await world.reporter.startTracking()
        for number in 1...3 { await world.reporter.record(try Self.fix(number)) }
        for _ in 1...15 {
            await world.reporter.reportNow()
            #expect(try await world.event().droppedCount == 0)
        }
        let sent = try world.engine.requests.suffix(4).map { try $0.latitudes }
        #expect(sent == [[3], [3], [1, 3], [2, 3]].map { $0.map(Self.latitude) })
    }

    @Test func `the newest location that arrived stays the last one of what was recorded before it`() async throws {
        let world = try ReporterWorld(
            engine: StubTransport([.status(400), .ok]), configuration: .init(capacity: 2000))
        await world.reporter.startTracking()
        for number in 1...1600 { await world.reporter.record(try Self.fix(number)) }
        for _ in 1...5 { await world.reporter.reportNow() }
        let sent = try world.engine.requests.map { try $0.latitudes }
        // The newest of all was refused; after the backlog, the one before it is repeated.
        #expect(sent.map(\.last) == [1600, 1599, 1599, 1599, 1599].map(Self.latitude))
        #expect(sent.map(\.count) == [500, 500, 500, 102, 1])
    }

    @Test func `a buffer has room for one fix at least`() async throws {
        let world = try ReporterWorld(configuration: .init(capacity: 0))
        let event = try await world.report(1, 2)
        #expect(event.droppedCount == 1 && event.unsentCount == 0)
        #expect(try world.engine.requests.map { try $0.latitudes } == [[0.2]])
    }

    @Test(arguments: [false, true])
    func `the end of a source leaves nothing of a long backlog behind`(endsTracking: Bool) async throws {
        let world = try ReporterWorld(configuration: .init(capacity: 2000))
        await world.reporter.startTracking()
        let fixes = AsyncStream<LocationFix> { source in
            for number in 1...1200 { if let fix = try? Self.fix(number) { source.yield(fix) } }
            source.finish()
        }
        try await world.reporter.run(reporting: fixes, endsTracking: endsTracking)
        let sent = try world.engine.requests.map { try $0.latitudes }
        #expect(sent.map(\.count) == [1, 500, 500, 201])
        #expect(Set(sent.flatMap(\.self)) == Set((1...1200).map(Self.latitude)))
        for _ in 1...4 { #expect(try await world.event().droppedCount == 0) }
    }

    @Test func `the end of tracking sends a long backlog until a report fails`() async throws {
        let world = try ReporterWorld(
            engine: StubTransport([.ok, .ok, .offline, .ok]), configuration: .init(capacity: 2000))
        await world.reporter.startTracking()
        for number in 1...1200 { await world.reporter.record(try Self.fix(number)) }
        await world.reporter.stopTracking()
        #expect(world.engine.requests.count == 3)
        #expect(try world.engine.requests.allSatisfy { try $0.json["vehicleState"] as? String == "OFFLINE" })
        #expect(try await world.event().unsentCount == 700)
        #expect(try await world.event().unsentCount == 201)
        let last = try await world.event()
        #expect(last.unsentCount == 0 && last.droppedCount == 201)
    }

    @Test func `a delivery vehicle sends a long backlog in parts, too`() async throws {
        let world = try DeliveryReporterWorld(configuration: .init(capacity: 2000))
        world.engine.answer(.status(400))
        await world.reporter.startTracking()
        for number in 1...1700 { await world.reporter.record(try Self.fix(number)) }
        await world.reporter.reportNow()
        #expect(try await world.event().droppedCount == 500)
        await world.reporter.reportNow()
        #expect(try await world.event().unsentCount == 700)
        await world.reporter.stopTracking()
        #expect(world.requests.count == 4)
        #expect(Set(world.engine.state.withLock(\.latitudes)) == Set((500...1699).map(Self.latitude)))
    }
}
