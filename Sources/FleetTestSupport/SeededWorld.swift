// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// A small world in which one seed decides everything: what happens, when, and in which order.
///
/// Events lie in the future until ``next()`` brings them up, and time passes only then. A test hands each event to the
/// code under test and lays the consequences into the future again: latency, failures, cancellations, switches of
/// vehicle. ``skip(_:)`` is a device that sleeps: time passes, and what fell due meanwhile comes late.
///
/// ```swift
/// var world = SeededWorld<Event>(seed: 7)
/// world.schedule(.report, after: world.random.duration(in: .zero ... .seconds(10)))
/// while let event = world.next(), world.now < .seconds(86_400) { … }
/// ```
public struct SeededWorld<Event: Sendable>: Sendable {
    private struct Scheduled: Sendable {
        let due: Duration
        let number: UInt64
        let event: Event

        func comesBefore(_ other: Self) -> Bool {
            (self.due, self.number) < (other.due, other.number)
        }
    }

    /// The seed, to be printed with every failure.
    public let seed: UInt64
    /// The time since the world began.
    public private(set) var now = Duration.zero
    /// The source of everything that is left to chance.
    public var random: SeededGenerator
    private var heap: [Scheduled] = []
    private var lastNumber: UInt64 = 0

    /// Begins a world.
    ///
    /// - Parameter seed: What everything follows from.
    public init(seed: UInt64) {
        self.seed = seed
        self.random = SeededGenerator(seed: seed)
    }

    /// Lays an event into the future; events for the same moment come in the order in which they were laid.
    ///
    /// - Parameters:
    ///   - event: What will happen.
    ///   - delay: How long from now.
    public mutating func schedule(_ event: Event, after delay: Duration) {
        self.lastNumber += 1
        self.heap.append(Scheduled(due: self.now + max(delay, .zero), number: self.lastNumber, event: event))
        var child = self.heap.count - 1
        while child > 0, self.heap[child].comesBefore(self.heap[(child - 1) / 2]) {
            self.heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// When the next event falls due, or `nil` when nothing more will ever happen.
    public var nextDue: Duration? { self.heap.first?.due }

    /// Lets time pass up to the next event.
    ///
    /// - Returns: The event, or `nil` when nothing more will ever happen.
    public mutating func next() -> Event? {
        guard let first = self.heap.first else { return nil }
        self.heap.swapAt(0, self.heap.count - 1)
        self.heap.removeLast()
        var parent = 0
        while true {
            let children = [2 * parent + 1, 2 * parent + 2].filter { $0 < self.heap.count }
            guard let child = children.min(by: { self.heap[$0].comesBefore(self.heap[$1]) }),
                self.heap[child].comesBefore(self.heap[parent])
            else { break }
            self.heap.swapAt(parent, child)
            parent = child
        }
        self.now = max(self.now, first.due)
        return first.event
    }

    /// Lets time pass without any event, as while a device sleeps; what fell due comes after it.
    ///
    /// - Parameter duration: How long.
    public mutating func skip(_ duration: Duration) {
        self.now += max(duration, .zero)
    }
}
