// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Decides which observations of the phone's clock are worth telling.
struct DeviceClockWatch: Sendable {
    /// An error below this hurts nobody: the engine itself tolerates ten minutes.
    static let threshold = Duration.seconds(60)

    private(set) var latest: DeviceClockError?
    private var reported: DeviceClockError?

    /// Takes in an observation.
    ///
    /// - Parameter new: What was observed.
    /// - Returns: The observation, if it is news: wrong at first, differently wrong, or right again.
    mutating func take(_ new: DeviceClockError) -> DeviceClockError? {
        // After a sleep in the midst of an exchange, an observation says nothing.
        guard new.uncertainty <= Self.threshold else { return nil }
        self.latest = new
        let known = self.reported ?? DeviceClockError(offset: .zero, uncertainty: .zero, measuredAt: new.measuredAt)
        let change = Self.size(of: new.offset - known.offset)
        guard change > Self.threshold + new.uncertainty + known.uncertainty else { return nil }
        self.reported = new
        return new
    }

    private static func size(of offset: Duration) -> Duration {
        offset < .zero ? .zero - offset : offset
    }
}
