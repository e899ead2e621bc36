// swift-tools-version: 6.1
// Fleetpass
// Licence: see LICENSE in the project root.
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),  // SE-0335
    .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
    .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),  // SE-0461
]

/// A product that only the `Server` trait brings in, so that apps resolve no third-party package.
func server(_ name: String, _ package: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: ["Server"]))
}

// What other languages link: C functions, written in Swift. The attribute that exports them came with Swift 6.3.
var foreignProducts: [Product] = []
var foreignTargets: [Target] = []
#if compiler(>=6.3)
    foreignProducts += [
        .library(name: "FleetTokenClientC", targets: ["CFleetTokenClient", "FleetTokenClientC"]),
        // To load, for languages that look functions up by name; on Linux, Swift's runtime libraries go beside it.
        .library(name: "FleetpassTokenClient", type: .dynamic, targets: ["CFleetTokenClient", "FleetTokenClientC"]),
    ]
    foreignTargets += [
        .target(name: "CFleetTokenClient"),
        .target(
            name: "FleetTokenClientC",
            dependencies: ["CFleetTokenClient", "FleetTokenClient", "FleetTokens"],
            swiftSettings: settings
        ),
    ]
    // The package manager compiles Objective-C on Apple's platforms only; IntegrationTests/check-objective-c.sh does it here.
    #if canImport(Darwin)
        foreignProducts.append(.library(name: "FleetTokenClientObjC", targets: ["FleetTokenClientObjC"]))
        foreignTargets.append(
            .target(
                name: "FleetTokenClientObjC",
                dependencies: ["CFleetTokenClient", "FleetTokenClientC"],
                cSettings: [.headerSearchPath("Private")]
            )
        )
    #endif
#endif

// What Apple's App Store asks of libraries; elsewhere nobody reads it, and it would be a bundle to carry along.
#if canImport(Darwin)
    let privacyManifest: [Resource] = [.copy("PrivacyInfo.xcprivacy")]
#else
    let privacyManifest: [Resource] = []
#endif

let package = Package(
    name: "fleetpass",
    platforms: [.iOS(.v16), .macOS(.v15)],
    products: [
        .library(name: "FleetTokens", targets: ["FleetTokens"]),
        .library(name: "FleetTokenClient", targets: ["FleetTokenClient"]),
        .library(name: "FleetDriver", targets: ["FleetDriver"]),
        .library(name: "FleetConsumer", targets: ["FleetConsumer"]),
        .library(name: "FleetSigning", targets: ["FleetSigning"]),
        .library(name: "FleetEngineAPI", targets: ["FleetEngineAPI"]),
        .library(name: "FleetOperation", targets: ["FleetOperation"]),
        .library(name: "FleetTokenServer", targets: ["FleetTokenServer"]),
        .library(name: "FleetEngine", targets: ["FleetEngine"]),
        .library(name: "GoogleCredentials", targets: ["GoogleCredentials"]),
        .library(name: "FleetTestSupport", targets: ["FleetTestSupport"]),
        .executable(name: "fleetpass", targets: ["fleetpass"]),
    ] + foreignProducts,
    traits: [
        .default(enabledTraits: ["Server"]),
        .trait(
            name: "Server",
            description: "Signing, the token server, the engine and the command line, with their dependencies."
        ),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
        .package(url: "https://github.com/grpc/grpc-swift-protobuf", from: "2.4.1"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: [
        // App side: no third-party packages.
        .target(name: "FleetTokens", swiftSettings: settings),
        .target(
            name: "FleetTokenClient",
            dependencies: ["FleetTokens"],
            exclude: privacyManifest.isEmpty ? ["PrivacyInfo.xcprivacy"] : [],
            resources: privacyManifest,
            swiftSettings: settings
        ),
        .target(name: "FleetDriver", dependencies: ["FleetTokenClient", "FleetTokens"], swiftSettings: settings),
        .target(name: "FleetConsumer", dependencies: ["FleetTokenClient", "FleetTokens"], swiftSettings: settings),

        // Server side.
        .target(
            name: "FleetSigning",
            dependencies: [
                "FleetTokens",
                server("Crypto", "swift-crypto"),
                server("CryptoExtras", "swift-crypto"),
                server("SwiftASN1", "swift-asn1"),
                server("X509", "swift-certificates"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "GoogleCredentials",
            dependencies: [
                "FleetSigning",
                "FleetTokens",
                server("AsyncHTTPClient", "async-http-client"),
                server("Crypto", "swift-crypto"),
                server("NIOCore", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
                server("NIOPosix", "swift-nio"),
                server("NIOSSL", "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "FleetEngineAPI",
            dependencies: [
                "FleetSigning",
                "FleetTokens",
                server("AsyncHTTPClient", "async-http-client"),
                server("GRPCCore", "grpc-swift-2"),
                server("GRPCProtobuf", "grpc-swift-protobuf"),
                server("NIOCore", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
                server("NIOSSL", "swift-nio-ssl"),
                server("SwiftProtobuf", "swift-protobuf"),
            ],
            swiftSettings: settings
        ),
        // PostgreSQL's own client library; its headers come with libpq-dev or Homebrew's libpq.
        .systemLibrary(
            name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]
        ),
        .target(
            name: "FleetPostgreSQL",
            dependencies: [
                "FleetOperation",
                "FleetTokens",
                .target(name: "CLibPQ", condition: .when(traits: ["Server"])),
                server("Logging", "swift-log"),
            ],
            swiftSettings: settings
        ),
        // How a SQLite file is opened, watched and closed, so that it keeps what it acknowledged.
        .target(
            name: "FleetSQLite",
            dependencies: ["FleetTokens", server("GRDB", "GRDB.swift"), server("GRDBSQLite", "GRDB.swift")],
            swiftSettings: settings
        ),
        // What running the token server and the engine have in common: configuration files, ports, trusted accounts,
        // withdrawn tokens, readiness, metrics, the pages' rules of tokens.
        .target(
            name: "FleetOperation",
            dependencies: [
                "FleetSigning",
                "FleetTokens",
                server("HTTPTypes", "swift-http-types"),
                server("Hummingbird", "hummingbird"),
                server("HummingbirdCore", "hummingbird"),
                server("HummingbirdHTTP2", "hummingbird"),
                server("Logging", "swift-log"),
                server("NIOCore", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
                server("NIOHTTP2", "swift-nio-http2"),
                server("NIOHTTPTypes", "swift-nio-extras"),
                server("NIOSSL", "swift-nio-ssl"),
                server("NIOTLS", "swift-nio"),
                server("ServiceLifecycle", "swift-service-lifecycle"),
                server("SwiftASN1", "swift-asn1"),
                server("X509", "swift-certificates"),
                server("Yams", "Yams"),
            ],
            resources: [.embedInCode("Web/token-rules.js")],
            swiftSettings: settings
        ),
        .target(
            name: "FleetTokenServer",
            dependencies: [
                "FleetOperation",
                "FleetPostgreSQL",
                "FleetSQLite",
                "FleetSigning",
                "FleetTokens",
                "GoogleCredentials",
                server("Crypto", "swift-crypto"),
                server("CryptoExtras", "swift-crypto"),
                server("GRDB", "GRDB.swift"),
                server("GRDBSQLite", "GRDB.swift"),
                server("HTTPTypes", "swift-http-types"),
                server("Hummingbird", "hummingbird"),
                server("Logging", "swift-log"),
                server("NIOCore", "swift-nio"),
                server("NIOSSL", "swift-nio-ssl"),
                server("ServiceLifecycle", "swift-service-lifecycle"),
                server("SwiftASN1", "swift-asn1"),
                server("X509", "swift-certificates"),
            ],
            resources: [
                .embedInCode("API/openapi.json"),
                .embedInCode("Admin/Page/admin.css"),
                .embedInCode("Admin/Page/admin.html"),
                .embedInCode("Admin/Page/admin.js"),
            ],
            swiftSettings: settings
        ),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "GzipCoding", dependencies: ["CZlib"], swiftSettings: settings),
        .target(
            name: "FleetEngine",
            dependencies: [
                "FleetEngineAPI",
                "FleetOperation",
                "FleetPostgreSQL",
                "FleetSQLite",
                "FleetSigning",
                "FleetTokens",
                "GoogleCredentials",
                "GzipCoding",
                server("GRDB", "GRDB.swift"),
                server("GRPCCore", "grpc-swift-2"),
                server("GRPCNIOTransportHTTP2Posix", "grpc-swift-nio-transport"),
                server("GRPCProtobuf", "grpc-swift-protobuf"),
                server("HTTPTypes", "swift-http-types"),
                server("Hummingbird", "hummingbird"),
                server("HummingbirdCore", "hummingbird"),
                server("Logging", "swift-log"),
                server("NIOCore", "swift-nio"),
                server("NIOHPACK", "swift-nio-http2"),
                server("NIOHTTP2", "swift-nio-http2"),
                server("NIOPosix", "swift-nio"),
                server("NIOSSL", "swift-nio-ssl"),
                server("ServiceLifecycle", "swift-service-lifecycle"),
                server("SwiftProtobuf", "swift-protobuf"),
            ],
            resources: [
                .embedInCode("GRPC/Generated/services.binpb"),
                .embedInCode("Page/Web/deviations.js"),
                .embedInCode("Page/Web/dom.js"),
                .embedInCode("Page/Web/fleet-token.js"),
                .embedInCode("Page/Web/icon.svg"),
                .embedInCode("Page/Web/inspector.js"),
                .embedInCode("Page/Web/lists.js"),
                .embedInCode("Page/Web/live.js"),
                .embedInCode("Page/Web/map.js"),
                .embedInCode("Page/Web/matrix.js"),
                .embedInCode("Page/Web/page.css"),
                .embedInCode("Page/Web/page.html"),
                .embedInCode("Page/Web/page.js"),
                .embedInCode("Page/Web/refusals.js"),
                .embedInCode("Page/Web/share-asker.js"),
                .embedInCode("Page/Web/share-map.js"),
                .embedInCode("Page/Web/share-views.js"),
                .embedInCode("Page/Web/share.css"),
                .embedInCode("Page/Web/share.html"),
                .embedInCode("Page/Web/share.js"),
                .embedInCode("Page/Web/theme.js"),
                .embedInCode("Page/Web/timeline.js"),
                .embedInCode("Page/Web/words.js"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "fleetpass",
            dependencies: [
                "FleetConsumer",
                "FleetDriver",
                "FleetEngine",
                "FleetOperation",
                "FleetPostgreSQL",
                "FleetSigning",
                "FleetTokenClient",
                "FleetTokenServer",
                "FleetTokens",
                "GoogleCredentials",
                server("ArgumentParser", "swift-argument-parser"),
                server("HTTPTypes", "swift-http-types"),
                server("Hummingbird", "hummingbird"),
                server("Logging", "swift-log"),
                server("NIOCore", "swift-nio"),
                server("ServiceLifecycle", "swift-service-lifecycle"),
                server("Subprocess", "swift-subprocess"),
                server("SystemPackage", "swift-system"),
                server("UnixSignals", "swift-service-lifecycle"),
            ],
            exclude: ["Routes/README.md"],
            resources: [
                .embedInCode("Routes/bay-area-trip-1.gpx"),
                .embedInCode("Routes/bay-area-trip-2.gpx"),
                .embedInCode("Routes/delivery-day.gpx"),
            ],
            swiftSettings: settings
        ),

        // The example has a package of its own, which is what to copy; here it is built and tested with the rest.
        .executableTarget(
            name: "swift-backend",
            dependencies: [
                "FleetEngineAPI",
                "FleetSigning",
                "FleetTokens",
                server("GRPCCore", "grpc-swift-2"),
                server("GRPCNIOTransportHTTP2Posix", "grpc-swift-nio-transport"),
                server("SwiftProtobuf", "swift-protobuf"),
            ],
            path: "Examples/swift-backend/Sources/swift-backend"
        ),

        // Tests.
        .target(
            name: "FleetTestSupport",
            dependencies: ["FleetTokenClient", "FleetTokens"],
            swiftSettings: settings
        ),
        .testTarget(name: "FleetTokensTests", dependencies: ["FleetTokens"], swiftSettings: settings),
        .testTarget(
            name: "FleetSigningTests",
            dependencies: [
                "FleetSigning", "FleetTestSupport", "FleetTokens", server("Crypto", "swift-crypto"),
                server("CryptoExtras", "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "GoogleCredentialsTests",
            dependencies: [
                "FleetSigning",
                "FleetTestSupport",
                "FleetTokens",
                "GoogleCredentials",
                server("Crypto", "swift-crypto"),
                server("CryptoExtras", "swift-crypto"),
                server("NIOCore", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
                server("NIOPosix", "swift-nio"),
                server("NIOSSL", "swift-nio-ssl"),
                server("SwiftASN1", "swift-asn1"),
                server("X509", "swift-certificates"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FleetTokenClientTests",
            dependencies: ["FleetTestSupport", "FleetTokenClient", "FleetTokens"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FleetDriverTests",
            dependencies: ["FleetDriver", "FleetTestSupport", "FleetTokenClient", "FleetTokens"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FleetConsumerTests",
            dependencies: ["FleetConsumer", "FleetTestSupport", "FleetTokenClient", "FleetTokens"],
            swiftSettings: settings
        ),
        // Fetchers as apps have them, which the Swift 6 mode would refuse.
        .testTarget(
            name: "DocumentationSampleTests",
            dependencies: ["FleetConsumer", "FleetDriver", "FleetTestSupport", "FleetTokenClient", "FleetTokens"],
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
        .testTarget(
            name: "SampleEngineTests",
            dependencies: [
                "FleetConsumer", "FleetDriver", "FleetTestSupport", "FleetTokenClient", "FleetTokens", "fleetpass",
                server("ArgumentParser", "swift-argument-parser"), server("Logging", "swift-log"),
            ],
            swiftSettings: [.swiftLanguageMode(.v5)]
        ),
        // A throw-away PostgreSQL server for tests.
        .target(
            name: "PostgreSQLTestSupport",
            dependencies: ["FleetPostgreSQL", "FleetTokens", server("Logging", "swift-log")],
            path: "Tests/PostgreSQLTestSupport",
            swiftSettings: settings
        ),
        .testTarget(
            name: "FleetPostgreSQLTests",
            dependencies: [
                "FleetPostgreSQL", "FleetTokens", "PostgreSQLTestSupport", server("Logging", "swift-log"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FleetSQLiteTests",
            dependencies: ["FleetSQLite", "FleetTokens", server("GRDB", "GRDB.swift")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FleetTokenServerTests",
            dependencies: [
                "FleetOperation",
                "FleetPostgreSQL",
                "PostgreSQLTestSupport",
                "FleetSigning",
                "FleetTestSupport",
                "FleetTokenServer",
                "FleetTokens",
                "GoogleCredentials",
                server("Crypto", "swift-crypto"),
                server("CryptoExtras", "swift-crypto"),
                server("GRDB", "GRDB.swift"),
                server("HTTPTypes", "swift-http-types"),
                server("Hummingbird", "hummingbird"),
                server("HummingbirdCore", "hummingbird"),
                server("HummingbirdTesting", "hummingbird"),
                server("Logging", "swift-log"),
                server("NIOCore", "swift-nio"),
                server("NIOEmbedded", "swift-nio"),
                server("NIOHTTP1", "swift-nio"),
                server("NIOHTTPTypes", "swift-nio-extras"),
                server("NIOPosix", "swift-nio"),
                server("NIOTLS", "swift-nio"),
                server("ServiceLifecycle", "swift-service-lifecycle"),
                server("SwiftASN1", "swift-asn1"),
                server("UnixSignals", "swift-service-lifecycle"),
                server("X509", "swift-certificates"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FleetEngineAPITests",
            dependencies: [
                "FleetEngineAPI", "FleetSigning", "FleetTestSupport", "FleetTokenClient", "FleetTokens",
                server("AsyncHTTPClient", "async-http-client"), server("NIOCore", "swift-nio"),
                server("NIOHTTP1", "swift-nio"), server("NIOSSL", "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FleetEngineTests",
            dependencies: [
                "FleetEngine",
                "FleetEngineAPI",
                "FleetOperation",
                "FleetPostgreSQL",
                "FleetSQLite",
                "FleetSigning",
                "FleetTestSupport",
                "FleetTokens",
                "GoogleCredentials",
                "GzipCoding",
                "PostgreSQLTestSupport",
                server("GRDB", "GRDB.swift"),
                server("GRPCCore", "grpc-swift-2"),
                server("GRPCNIOTransportHTTP2Posix", "grpc-swift-nio-transport"),
                server("GRPCProtobuf", "grpc-swift-protobuf"),
                server("HTTPTypes", "swift-http-types"),
                server("Hummingbird", "hummingbird"),
                server("HummingbirdTesting", "hummingbird"),
                server("Logging", "swift-log"),
                server("NIOCore", "swift-nio"),
                server("NIOEmbedded", "swift-nio"),
                server("NIOHPACK", "swift-nio-http2"),
                server("NIOHTTP2", "swift-nio-http2"),
                server("ServiceLifecycle", "swift-service-lifecycle"),
                server("SwiftProtobuf", "swift-protobuf"),
                server("UnixSignals", "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FleetpassTests",
            dependencies: [
                "FleetConsumer", "FleetPostgreSQL", "FleetSigning", "FleetTokenClient", "FleetTokenServer",
                "FleetTokens", "fleetpass",
                server("ArgumentParser", "swift-argument-parser"), server("Logging", "swift-log"),
                server("ServiceLifecycle", "swift-service-lifecycle"),
            ],
            swiftSettings: settings
        ),
    ] + foreignTargets,
    swiftLanguageModes: [.v6]
)
