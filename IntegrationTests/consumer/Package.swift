// swift-tools-version: 6.1
// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "consumer",
    platforms: [.iOS(.v16), .macOS(.v15)],
    dependencies: [
        // No traits: what an app resolves.
        .package(name: "fleetpass", path: "../..", traits: [])
    ],
    targets: [
        .executableTarget(
            name: "consumer",
            dependencies: [
                .product(name: "FleetConsumer", package: "fleetpass"),
                .product(name: "FleetDriver", package: "fleetpass"),
                .product(name: "FleetTokenClient", package: "fleetpass"),
                .product(name: "FleetTokens", package: "fleetpass"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
