// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

/// Which version of Fleetpass this is.
package enum FleetpassVersion {
    /// The version, as `fleetpass --version` prints it; `-dev` is what leads to it, until it is released.
    package static let current = "0.1.0-dev"

    /// The version in the Prometheus text format: always 1, so that it can be joined to other numbers.
    package static let metric: String = {
        var info = MetricFamily(
            "fleetpass_build_info", .gauge, labels: ["version"], help: "The version of Fleetpass that runs.")
        info.set(1, Self.current)
        return info.text
    }()
}
