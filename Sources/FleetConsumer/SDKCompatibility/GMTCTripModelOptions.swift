// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// How a trip is watched, in the shape of Google's Consumer SDK.
public class GMTCTripModelOptions: NSObject {
    fileprivate var interval: TimeInterval = 0

    /// The seconds between two questions, 1 to 60; 0 is the default pace of ``TripModelConfiguration``.
    public var autoRefreshTimeInterval: TimeInterval { self.interval }

    /// The configuration that this means.
    var configuration: TripModelConfiguration {
        guard self.interval > 0 else { return TripModelConfiguration() }
        return TripModelConfiguration(pollingInterval: .seconds(min(self.interval, 60)))
    }
}

/// How a trip is watched, to be changed, in the shape of Google's Consumer SDK.
public final class GMTCMutableTripModelOptions: GMTCTripModelOptions {
    /// The seconds between two questions, 1 to 60; 0 is the default pace of ``TripModelConfiguration``.
    public override var autoRefreshTimeInterval: TimeInterval {
        get { self.interval }
        set { self.interval = newValue }
    }
}
