// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetEngineAPI
import FleetTokens
import Foundation
import Testing

@testable import FleetEngine

/// Readers come and go, and none can hold up the others.
@Suite(.timeLimit(.minutes(5))) struct PageFeedTests {
    private static func state(_ number: Int) -> PageState {
        var state = PageState()
        state.truncated = ["\(number)"]
        return state
    }

    /// A reader whose opening is written.
    private static func following(
        _ feed: PageFeed, after lastEventID: String? = nil, at now: Date = TestClock.start
    ) throws -> PageFeed.Reader {
        let reader = try #require(try feed.join(after: lastEventID, at: now))
        try feed.follow(reader, at: now)
        return reader
    }

    private static func names(_ events: [String]) -> [String] {
        events.map { event in
            ["snapshot", "beat", "change"].first { event.contains("event: \($0)\n") } ?? event
        }
    }

    @Test func `every reader gets the state first and then each change`() async throws {
        let feed = PageFeed(run: "a")
        try feed.publish(Self.state(1), at: TestClock.start)
        let readers = try (0..<3).map { _ in try Self.following(feed) }
        try feed.publish(Self.state(2), at: TestClock.start)
        feed.close()
        for reader in readers {
            #expect(Self.names(await Array(reader.opening)) == ["snapshot", "beat"])
            #expect(Self.names(await Array(reader.events)) == ["change"])
        }
    }

    @Test func `a reader whose opening takes long is told at its end what changed meanwhile, at once`() async throws {
        let feed = PageFeed(run: "a")
        try feed.publish(Self.state(1), at: TestClock.start)
        let reader = try #require(try feed.join(after: nil, at: TestClock.start))
        for number in 2...200 {
            try feed.publish(Self.state(number), at: TestClock.start)
            if number.isMultiple(of: PageFeed.maximumWaiting) { feed.noteProgress(of: reader) }
        }
        try feed.follow(reader, at: TestClock.start)
        try feed.publish(Self.state(201), at: TestClock.start)
        // What it follows already is told once.
        try feed.follow(reader, at: TestClock.start)
        feed.close()
        let events = await Array(reader.events)
        #expect(events.map { $0.split(separator: "\n").first } == ["id: a-200", "id: a-201"])
        #expect(events.first?.contains("\"truncated\":[\"200\"]") == true)
    }

    @Test func `a reader whose opening is not read is let go`() async throws {
        let feed = PageFeed(run: "a")
        let reader = try #require(try feed.join(after: nil, at: TestClock.start))
        for number in 1...PageFeed.maximumWaiting { try feed.publish(Self.state(number), at: TestClock.start) }
        feed.noteProgress(of: reader)
        for number in 1...PageFeed.maximumWaiting { try feed.publish(Self.state(-number), at: TestClock.start) }
        try feed.publish(Self.state(0), at: TestClock.start)
        for await _ in reader.end {}
        // Its last part may have been on the way.
        try feed.follow(reader, at: TestClock.start)
        #expect(await Array(reader.events).isEmpty)
    }

    @Test func `there are so many readers and no more, until one leaves`() throws {
        let feed = PageFeed(run: "a")
        let readers = try (0..<PageFeed.maximumReaders).map { _ in
            try #require(try feed.join(after: nil, at: TestClock.start))
        }
        #expect(feed.isFull)
        #expect(try feed.join(after: nil, at: TestClock.start) == nil)
        feed.leave(try #require(readers.first))
        #expect(!feed.isFull)
        #expect(try feed.join(after: nil, at: TestClock.start) != nil)
    }

    @Test func `a reader that does not read is let go, and the others go on`() async throws {
        let feed = PageFeed(run: "a")
        let slow = try Self.following(feed)
        let quick = try Self.following(feed)
        var events = quick.events.makeAsyncIterator()
        for number in 1...(PageFeed.maximumWaiting + 1) {
            try feed.publish(Self.state(number), at: TestClock.start)
            #expect(await events.next()?.contains("event: change") == true)
        }
        // Its end is told although nobody reads its events.
        for await _ in slow.end {}
        #expect(await Array(slow.events).count == PageFeed.maximumWaiting)
        try feed.publish(Self.state(0), at: TestClock.start)
        #expect(await events.next() != nil)
    }

    @Test func `a quiet feed shows that it lives`() async throws {
        let feed = PageFeed(run: "a")
        try feed.publish(Self.state(1), at: TestClock.start)
        let reader = try Self.following(feed)
        for second in 1...25 { try feed.publish(Self.state(1), at: TestClock.start + TimeInterval(second)) }
        feed.close()
        let beats = await Array(reader.events)
        #expect(beats.count == 2)
        #expect(beats.allSatisfy { $0.hasPrefix("event: beat\ndata: {\"now\":") })
    }

    @Test func `a quiet feed shows that it lives also where the clock was set back`() async throws {
        let feed = PageFeed(run: "a")
        try feed.publish(Self.state(1), at: TestClock.start)
        let reader = try Self.following(feed)
        for second in -3600 ... -3580 { feed.beat(at: TestClock.start + TimeInterval(second)) }
        feed.close()
        let beats = await Array(reader.events)
        let times: [TimeInterval] = [-3600, -3590, -3580]
        #expect(beats == times.map { PageHistory.beat(at: TestClock.start + $0) })
    }

    @Test func `a reader that comes back where nothing happened is told the time at once`() async throws {
        let feed = PageFeed(run: "a")
        try feed.publish(Self.state(1), at: TestClock.start)
        let reader = try Self.following(feed, after: "a-1", at: TestClock.start + 7)
        feed.close()
        #expect(await Array(reader.opening) == [PageHistory.beat(at: TestClock.start + 7)])
        #expect(await Array(reader.events).isEmpty)
    }

    @Test func `a state that cannot be told holds up neither signs of life nor the next state`() async throws {
        let feed = PageFeed(run: "a")
        try feed.publish(Self.state(1), at: TestClock.start)
        let reader = try Self.following(feed)
        var vehicle = Vehicle.sample
        vehicle.lastLocation = .at(.nan, 0)
        var untold = PageState()
        untold.vehicles["veh-1"] = PageVehicle(vehicle, id: "veh-1")
        for second in 1...20 {
            let now = TestClock.start + TimeInterval(second)
            #expect(throws: EncodingError.self) { try feed.publish(untold, at: now) }
            feed.beat(at: now)
        }
        try feed.publish(Self.state(2), at: TestClock.start + 21)
        feed.close()
        #expect(Self.names(await Array(reader.events)) == ["beat", "beat", "change"])
    }

    @Test func `a closed feed ends its readers and takes no more`() async throws {
        let feed = PageFeed(run: "a")
        let reader = try Self.following(feed)
        feed.close()
        #expect(await Array(reader.events).isEmpty)
        for await _ in reader.end {}
        #expect(feed.isFull)
        #expect(try feed.join(after: nil, at: TestClock.start) == nil)
    }
}

extension Array {
    /// Everything of a sequence that ends.
    init(_ sequence: some AsyncSequence<Element, Never>) async {
        self = []
        for await element in sequence { self.append(element) }
    }
}
