// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetDriver
import FleetTokenClient
import FleetTokens

/// Reports a vehicle for as long as the driver is on shift.
func drive(_ id: String, along fixes: some LocationSource, session: Session) async throws {
    let vehicle = try VehicleID(checking: id)
    let tokens = try FleetTokenProvider(endpoint: .fleetpass(session.tokenServer)) {
        [(name: "Authorization", value: "Bearer \(try await session.idToken())")]
    }
    let reporter = try VehicleReporter(
        provider: session.provider, vehicle: vehicle, engine: session.engine, tokens: tokens)
    await reporter.startTracking()
    try await reporter.setState(.online)
    do {
        try await reporter.run(reporting: fixes, endsTracking: true)
    } catch {
        // The end of the fixes sets the vehicle offline; a task that is cancelled, and fixes that fail, do not.
        await reporter.stopTracking()
        throw error
    }
}
