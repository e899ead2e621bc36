// swift-tools-version: 6.1
// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// The apps' code without their screens, as programs for the command line. The folders App/ belong into Xcode projects.
let package = Package(
    name: "examples",
    platforms: [.iOS(.v16), .macOS(.v15)],
    dependencies: [
        // No traits: what an app resolves.
        .package(name: "fleetpass", path: "..", traits: [])
    ],
    targets: [
        .executableTarget(
            name: "driver-app-cli",
            dependencies: [
                .product(name: "FleetDriver", package: "fleetpass"),
                .product(name: "FleetTokenClient", package: "fleetpass"),
            ],
            path: "driver-app",
            exclude: ["App", "README.md"],
            sources: ["CommandLine", "Shared"]
        ),
        .executableTarget(
            name: "consumer-app-cli",
            dependencies: [
                .product(name: "FleetConsumer", package: "fleetpass"),
                .product(name: "FleetTokenClient", package: "fleetpass"),
            ],
            path: "consumer-app",
            exclude: ["App", "README.md"],
            sources: ["CommandLine", "Shared"]
        ),
    ],
    swiftLanguageModes: [.v6]
)
