// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import FleetConsumer
import FleetDriver
import FleetTokenClient
import FleetTokens
import Foundation

guard let server = URL(string: "https://tokens.example.com"),
    let engine = URL(string: "https://fleetengine.googleapis.com")
else {
    fatalError("A constant is no URL.")
}

// One line of each product, as an app would write it; nothing is sent.
let provider = try ProviderID(checking: "demo-fleet")
let tokens = try FleetTokenProvider(endpoint: .fleetpass(server))
let reporter = try VehicleReporter(
    provider: provider, vehicle: VehicleID(checking: "veh-3"), engine: engine, tokens: tokens)
let model = try TripModel(provider: provider, trip: TripID(checking: "trip-7"), engine: engine, tokens: tokens)
print("consumer: \(reporter.vehicle) \(model.trip)")
