// swift-tools-version: 6.2
// Part of receipt-gateway, licensed under the Apache License 2.0; see LICENSE.
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// The settings of every target. Warnings are errors; every touch of C carries the word `unsafe`.
let house: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .enableExperimentalFeature("Lifetimes"),
]

/// Set RECEIPT_FUZZING to build `receipt-fuzzer` (see Tests/ReceiptFuzzer/fuzz.sh). Its flags are unsafe, and a package
/// with unsafe flags cannot be depended on, so they are part of the package only then.
let isFuzzing = Context.environment["RECEIPT_FUZZING"] != nil
/// For everything the fuzzer runs.
let sanitized: [SwiftSetting] =
    isFuzzing
    ? [.define("RECEIPT_FUZZING"), .unsafeFlags(["-sanitize=address", "-parse-as-library", "-enable-testing"])] : []
/// For what it is to find its way through.
let explored: [SwiftSetting] = isFuzzing ? sanitized + [.unsafeFlags(["-sanitize=fuzzer"])] : []
/// For the parts of the server.
let served: [SwiftSetting] =
    // Swift 6.3's optimiser finds fault with itself here, with these flags ("Found ownership error").
    house + explored + (isFuzzing ? [.unsafeFlags(["-Onone"])] : [])

let package = Package(
    name: "receipt-gateway",
    products: [
        .library(name: "Receipts", targets: ["Receipts"]),
        // Apart, so that those who use the verifier alone link no Foundation.
        .library(name: "ReceiptsFoundation", targets: ["ReceiptsFoundation"]),
        .executable(name: "receipt-gateway", targets: ["Server"]),
        .executable(name: "receipt-loadtest", targets: ["LoadTest"]),
        .executable(name: "receipt-ceilings", targets: ["Ceilings"]),
        // Nothing links it: ClockTests loads it into a gateway by LD_PRELOAD, so it must be a file of its own.
        .library(name: "WallClock", type: .dynamic, targets: ["WallClock"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(
            url: "https://github.com/apple/swift-configuration", from: "1.4.0",
            traits: [.defaults, "YAML"]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
    ],
    targets: [
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .target(
            name: "AppStore",
            dependencies: [
                "Cryptography", "Customers", "Gateway", "HTTPTransport", "JSON", "Receipts", "Resilience",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: house + explored),
        .target(
            name: "JSON",
            swiftSettings: house + explored),
        .target(
            name: "Cryptography",
            dependencies: [
                "COpenSSL"
            ],
            swiftSettings: house + sanitized),
        .target(
            name: "Receipts",
            dependencies: [
                "COpenSSL", "JSON",
            ],
            swiftSettings: house + explored),
        .target(
            name: "ReceiptsFoundation",
            dependencies: [
                "Receipts"
            ],
            swiftSettings: house),
        .target(
            name: "Resilience",
            swiftSettings: house),
        .target(
            name: "Gateway",
            dependencies: [
                "Cryptography", "JSON", "Receipts", "Resilience",
            ],
            swiftSettings: house + sanitized),
        .target(
            name: "Customers",
            dependencies: [
                "Cryptography", "Gateway", "HTTPTransport", "JSON", "Receipts", "Resilience",
            ],
            swiftSettings: house + sanitized),
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(
            name: "HTTPTransport",
            dependencies: [
                "CCurl"
            ],
            swiftSettings: house + sanitized),
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .target(
            name: "Redis",
            dependencies: [
                "CHiredis", "Cryptography", "JSON",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: house + explored),
        .target(
            name: "Settings",
            dependencies: [
                "AppStore", "Cryptography", "Customers", "Gateway", "HTTPTransport", "JSON", "Receipts", "Redis",
                "Resilience",
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: served),
        .target(
            name: "Telemetry",
            dependencies: [
                "Customers", "Gateway", "JSON", "Receipts", "Resilience", "Settings",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: served),
        .target(
            name: "RedisStore",
            dependencies: [
                "AppStore", "Cryptography", "Customers", "Gateway", "JSON", "Receipts", "Redis", "Resilience",
                "Settings", "Telemetry",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: served),
        .target(
            name: "HTTPServer",
            dependencies: [
                "AppStore", "Customers", "Gateway", "JSON", "Receipts", "Resilience", "Settings", "Telemetry",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOExtras", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: served),
        .target(
            name: "Endpoints",
            dependencies: [
                "AppStore", "Cryptography", "Customers", "Gateway", "HTTPServer", "JSON", "Receipts", "Resilience",
                "Settings", "Telemetry",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: served),
        .target(
            name: "Operations",
            dependencies: [
                "AppStore", "Cryptography", "Customers", "Gateway", "HTTPServer", "HTTPTransport", "JSON", "Receipts",
                "Redis", "RedisStore", "Resilience", "Settings", "Telemetry",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            // Inside the program: it is shipped alone.
            resources: [.embedInCode("StatusPage/page.css"), .embedInCode("StatusPage/page.js")],
            swiftSettings: served),
        .executableTarget(
            name: "Server",
            dependencies: [
                "AppStore", "Cryptography", "Customers", "Endpoints", "Gateway", "HTTPServer", "HTTPTransport", "JSON",
                "Operations", "Receipts", "RedisStore", "Resilience", "Settings", "Telemetry",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: house),
        .target(
            name: "ReceiptForge",
            dependencies: [
                "COpenSSL", "JSON", "Receipts",
            ],
            path: "loadtest/ReceiptForge",
            swiftSettings: house + sanitized),
        .target(
            name: "LoopbackPorts",
            path: "loadtest/LoopbackPorts", swiftSettings: house),
        .target(
            name: "AppleSimulator",
            dependencies: [
                "JSON", "LoopbackPorts", "ReceiptForge", "Receipts",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Yams", package: "Yams"),
            ],
            path: "loadtest/AppleSimulator", swiftSettings: house),
        .executableTarget(
            name: "LoadTest",
            dependencies: [
                "AppleSimulator", "COpenSSL", "JSON", "LoopbackPorts", "ReceiptForge", "Receipts", "Resilience",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Histogram", package: "hdrhistogram-swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            path: "loadtest/LoadTest", resources: [.embedInCode("Report/report.css")], swiftSettings: house),
        .executableTarget(
            name: "Ceilings",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "loadtest/Ceilings", swiftSettings: house),

        .testTarget(
            name: "CryptographyTests",
            dependencies: [
                "Cryptography"
            ],
            swiftSettings: house),
        .testTarget(
            name: "AppStoreTests",
            dependencies: [
                "AppStore", "Cryptography", "Customers", "Gateway", "HTTPTransport", "JSON", "ReceiptForge", "Receipts",
                "Resilience", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: house),
        .target(
            name: "TestSupport",
            path: "Tests/TestSupport", swiftSettings: house),
        .target(
            name: "RealCorpus",
            path: "Tests/RealCorpus", swiftSettings: house),
        .target(
            name: "RealServers",
            dependencies: [
                "LoopbackPorts", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/RealServers", swiftSettings: house),
        .testTarget(
            name: "RealServersTests",
            dependencies: [
                "LoopbackPorts", "RealServers", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: house),
        .testTarget(
            name: "RedisTests",
            dependencies: [
                "LoopbackPorts", "RealServers", "ReceiptForge", "Redis", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTestUtils", package: "swift-nio"),
            ],
            swiftSettings: house),
        .testTarget(
            name: "JSONTests",
            dependencies: [
                "JSON", "TestSupport",
            ],
            swiftSettings: house),
        .testTarget(
            name: "ReceiptsTests",
            dependencies: [
                "RealCorpus", "ReceiptForge", "Receipts", "ReceiptsFoundation", "TestSupport",
            ],
            swiftSettings: house),
        .testTarget(
            name: "ResilienceTests",
            dependencies: [
                "ReceiptForge", "Resilience", "TestSupport",
            ],
            swiftSettings: house),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "Cryptography", "Gateway", "ReceiptForge", "Receipts", "Resilience", "TestSupport",
            ],
            swiftSettings: house),
        .testTarget(
            name: "NotificationsTests",
            dependencies: [
                "Customers", "Gateway", "JSON", "RealCorpus", "ReceiptForge", "Receipts", "Resilience",
            ],
            swiftSettings: house),
        .testTarget(
            name: "EventsTests",
            dependencies: [
                "Customers", "Gateway", "JSON", "RealCorpus", "ReceiptForge", "Receipts", "TestSupport",
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: house),
        .testTarget(
            name: "JobsTests",
            dependencies: [
                "Customers", "Gateway", "JSON", "ReceiptForge", "Receipts", "Resilience", "TestSupport",
            ],
            swiftSettings: house),
        .testTarget(
            name: "OwnershipTests",
            dependencies: [
                "Customers", "Gateway", "JSON", "Receipts",
            ],
            swiftSettings: house),
        .testTarget(
            name: "WebhooksTests",
            dependencies: [
                "Cryptography", "Customers", "Gateway", "JSON", "ReceiptForge", "Receipts", "TestSupport",
            ],
            swiftSettings: house),
        .testTarget(
            name: "PrometheusExportTests",
            dependencies: [
                "Telemetry",
                .product(name: "CoreMetrics", package: "swift-metrics"),
            ],
            swiftSettings: house),
        .testTarget(
            name: "HTTPTransportTests",
            dependencies: [
                "Customers", "HTTPTransport", "LoopbackPorts", "ReceiptForge", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: house),
        .testTarget(
            name: "ServerTests",
            dependencies: [
                "AppStore", "AppleSimulator", "Cryptography", "Customers", "Endpoints", "Gateway", "HTTPServer",
                "HTTPTransport", "JSON", "Operations", "RealCorpus", "RealServers", "ReceiptForge", "Receipts", "Redis",
                "RedisStore", "Resilience", "Server", "Settings", "Telemetry", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: house),
        .target(
            name: "ReceiptFuzzTargets",
            dependencies: [
                "AppStore", "Customers", "Endpoints", "Gateway", "HTTPServer", "HTTPTransport", "JSON", "ReceiptForge",
                "Receipts", "Redis", "RedisStore", "Resilience", "Settings", "Telemetry",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/ReceiptFuzzTargets", swiftSettings: house + sanitized),
        .testTarget(
            name: "FuzzCorpusReplayTests",
            dependencies: [
                "ReceiptFuzzTargets"
            ],
            swiftSettings: house),
        .testTarget(
            name: "ReceiptForgeTests",
            dependencies: [
                "COpenSSL", "ReceiptForge", "Receipts",
            ],
            swiftSettings: house),
        .testTarget(
            name: "AppleSimulatorTests",
            dependencies: [
                "AppleSimulator", "LoopbackPorts", "RealCorpus", "ReceiptForge", "Receipts", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: house),
        .testTarget(
            name: "LoadTestTests",
            dependencies: [
                "AppStore", "AppleSimulator", "Gateway", "JSON", "LoadTest", "RealServers", "ReceiptForge", "Receipts",
                "Resilience", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Histogram", package: "hdrhistogram-swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: house),
        .target(
            name: "WallClock",
            path: "Tests/WallClock"),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "AppleSimulator", "LoadTest", "LoopbackPorts", "RealCorpus", "RealServers", "ReceiptForge", "Receipts",
                "Server", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: house),
        .testTarget(
            name: "HouseRulesTests",
            dependencies: [
                "Customers", "Gateway", "HTTPServer", "Operations", "Receipts", "Server", "Settings", "Telemetry",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: house),
    ]
)

if isFuzzing {
    package.products.append(.executable(name: "receipt-fuzzer", targets: ["ReceiptFuzzer"]))
    package.targets.append(
        .executableTarget(
            name: "ReceiptFuzzer",
            dependencies: [
                "ReceiptFuzzTargets"
            ],
            path: "Tests/ReceiptFuzzer",
            exclude: ["fuzz.sh"],
            swiftSettings: house + sanitized + [.enableExperimentalFeature("Extern")],
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address"])]))
}
