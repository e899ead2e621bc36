// swift-tools-version: 6.1
// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let dependencies: [Target.Dependency] = [
    "GoogleRidesharingConsumer",
    "GoogleRidesharingDriver",
    .product(name: "FleetTestSupport", package: "fleetpass"),
    .product(name: "FleetTokenClient", package: "fleetpass"),
    .product(name: "FleetTokens", package: "fleetpass"),
]

let package = Package(
    name: "sdk-adoption",
    platforms: [.iOS(.v16), .macOS(.v15)],
    dependencies: [
        // No traits: what an app resolves.
        .package(name: "fleetpass", path: "../..", traits: [])
    ],
    targets: [
        // Stand-ins for the closed SDKs, with the few types that the adoption sources touch.
        .target(name: "GoogleRidesharingConsumer"),
        .target(name: "GoogleRidesharingDriver"),
        // The adoption sources are links into Integrations/, compiled in both language modes that apps use.
        .testTarget(name: "AdoptionTests", dependencies: dependencies),
        .testTarget(
            name: "AdoptionSwift5Tests", dependencies: dependencies, swiftSettings: [.swiftLanguageMode(.v5)]),
    ],
    swiftLanguageModes: [.v6]
)
