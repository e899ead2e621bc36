// swift-tools-version: 6.1
// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let package = Package(
    name: "fleetpass-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "fleetpass", path: ".."),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    ],
    targets: [
        .executableTarget(
            name: "tokens-bench",
            dependencies: [
                .product(name: "FleetSigning", package: "fleetpass"),
                .product(name: "FleetTokenClient", package: "fleetpass"),
                .product(name: "FleetTokens", package: "fleetpass"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "Crypto", package: "swift-crypto"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
