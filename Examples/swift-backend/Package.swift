// swift-tools-version: 6.1
// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

// A backend takes the package with its default traits, which the app examples beside it leave out.
let package = Package(
    name: "swift-backend",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "fleetpass", path: "../.."),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
    ],
    targets: [
        .executableTarget(
            name: "swift-backend",
            dependencies: [
                .product(name: "FleetEngineAPI", package: "fleetpass"),
                .product(name: "FleetSigning", package: "fleetpass"),
                .product(name: "FleetTokens", package: "fleetpass"),
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "GRPCNIOTransportHTTP2Posix", package: "grpc-swift-nio-transport"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ]
        )
    ],
    swiftLanguageModes: [.v6]
)
