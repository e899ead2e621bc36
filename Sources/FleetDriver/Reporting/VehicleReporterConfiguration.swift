// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How a vehicle reporter works; every setting has a safe default.
public struct VehicleReporterConfiguration: Sendable {
    /// The shortest and the longest time between two reports.
    public static let reportingIntervals: ClosedRange<Duration> = .seconds(5) ... .seconds(60)

    /// The time between two reports; values outside ``reportingIntervals`` become the nearest bound.
    public var reportingInterval: Duration {
        didSet { self.reportingInterval = Self.clamped(self.reportingInterval) }
    }
    /// The longest time for one report, tokens and a second attempt included; at most 4/5 of the interval is used.
    public var timeLimit: Duration
    /// How many unsent fixes are kept while the engine cannot be reached, at least one; the oldest go first.
    ///
    /// One report takes 500 of them at most: the newest and the oldest ones. The others go with the reports after it.
    public var capacity: Int
    /// What measures the locations.
    public var sensor: LocationSensor
    /// How many events wait for a slow reader, at least one; the newest are kept.
    public var eventCapacity: Int

    /// Makes a configuration.
    public init(
        reportingInterval: Duration = .seconds(10),
        timeLimit: Duration = .seconds(8),
        capacity: Int = 360,
        sensor: LocationSensor = .gps,
        eventCapacity: Int = 64
    ) {
        self.reportingInterval = Self.clamped(reportingInterval)
        self.timeLimit = timeLimit
        self.capacity = capacity
        self.sensor = sensor
        self.eventCapacity = eventCapacity
    }

    /// The time that one report really gets, always shorter than the interval.
    var effectiveTimeLimit: Duration { min(self.timeLimit, self.reportingInterval * 4 / 5) }

    private static func clamped(_ interval: Duration) -> Duration {
        min(max(interval, self.reportingIntervals.lowerBound), self.reportingIntervals.upperBound)
    }
}
