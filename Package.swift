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
        .library(name: "Receipts", targets: ["Receipts", "SignedPayloads"]),
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
                "Caching", "Cryptography", "Entitlements", "Gateway", "HTTPTransport", "JSON", "Notifications",
                "RateLimits", "Receipts", "Resilience", "Secrets", "SignedPayloads",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: house + explored),
        .target(name: "JSON", swiftSettings: house + explored),
        .target(name: "Cryptography", dependencies: ["COpenSSL"], swiftSettings: house + sanitized),
        .target(name: "Receipts", dependencies: ["COpenSSL"], swiftSettings: house + explored),
        .target(name: "SignedPayloads", dependencies: ["JSON", "Receipts"], swiftSettings: house + explored),
        .target(name: "EvidenceTexts", dependencies: ["JSON", "Receipts"], swiftSettings: served),
        .target(name: "ReceiptsFoundation", dependencies: ["Receipts"], swiftSettings: house),
        .target(name: "Caching", swiftSettings: house + sanitized),
        .target(name: "Waiting", swiftSettings: house),
        .target(name: "Resilience", swiftSettings: house),
        .target(name: "RateLimits", dependencies: ["Resilience"], swiftSettings: house),
        .target(name: "Secrets", swiftSettings: house),
        .target(
            name: "Entitlements", dependencies: ["JSON", "Receipts", "Secrets", "SignedPayloads"],
            swiftSettings: house + sanitized),
        .target(
            name: "Gateway",
            dependencies: [
                "Caching", "Entitlements", "RateLimits", "Receipts", "Resilience", "Secrets", "SignedPayloads",
                "Waiting",
            ],
            swiftSettings: house + sanitized),
        .target(
            name: "Events",
            dependencies: [
                "Cryptography", "Entitlements", "Gateway", "JSON", "Privacy", "Receipts", "SignedPayloads", "Waiting",
            ],
            swiftSettings: house + sanitized),
        .target(
            name: "Privacy", dependencies: ["Caching", "Entitlements", "Gateway", "Receipts"],
            swiftSettings: house + sanitized),
        .target(
            name: "Ownership",
            dependencies: ["Entitlements", "Events", "Gateway", "JSON", "Privacy", "Receipts"],
            swiftSettings: house + sanitized),
        .target(
            name: "Jobs",
            dependencies: ["Cryptography", "Events", "Gateway", "JSON", "Privacy", "Receipts", "Waiting"],
            swiftSettings: house + sanitized),
        .target(
            name: "Webhooks",
            dependencies: [
                "Cryptography", "Events", "Gateway", "HTTPTransport", "JSON", "Privacy", "Receipts", "Secrets",
            ],
            swiftSettings: house + sanitized),
        .target(
            name: "Notifications",
            dependencies: [
                "Caching", "Entitlements", "Events", "Gateway", "JSON", "Privacy", "Receipts", "Secrets",
                "SignedPayloads", "Waiting",
            ],
            swiftSettings: house + sanitized),
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "HTTPTransport", dependencies: ["CCurl"], swiftSettings: house + sanitized),
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .target(
            name: "Redis",
            dependencies: [
                "CHiredis", "Cryptography", "JSON", "Secrets",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: house + explored),
        .target(
            name: "PrometheusExport", dependencies: [.product(name: "CoreMetrics", package: "swift-metrics")],
            swiftSettings: house),
        .target(
            name: "Settings",
            dependencies: [
                "AppStore", "Cryptography", "Events", "Gateway", "HTTPTransport", "JSON", "Jobs", "Ownership",
                "RateLimits", "Receipts", "Redis", "Resilience", "Secrets", "Webhooks",
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: served),
        .target(
            name: "Telemetry",
            dependencies: [
                "Caching", "Events", "Gateway", "JSON", "Jobs", "Notifications", "Ownership", "Privacy",
                "PrometheusExport", "RateLimits", "Receipts", "Resilience", "Settings", "SignedPayloads", "Webhooks",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: served),
        .target(
            name: "StoreFormat",
            dependencies: ["Cryptography", "Entitlements", "Gateway", "JSON", "Receipts", "Redis", "Settings"],
            swiftSettings: served),
        .target(
            name: "RedisCustomers",
            dependencies: [
                "Cryptography", "Entitlements", "Events", "Gateway", "JSON", "Jobs", "Notifications", "Ownership",
                "Privacy", "Receipts", "Redis", "Settings", "StoreFormat", "Webhooks",
            ],
            swiftSettings: served),
        .target(
            name: "RedisStore",
            dependencies: [
                "AppStore", "Caching", "Cryptography", "Entitlements", "Events", "Gateway", "JSON", "Jobs",
                "Notifications", "Ownership", "Privacy", "PrometheusExport", "RateLimits", "Receipts", "Redis",
                "RedisCustomers", "Resilience", "Secrets", "Settings", "StoreFormat", "Telemetry", "Waiting",
                "Webhooks",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: served),
        .target(
            name: "HTTPServer",
            dependencies: [
                "AppStore", "Gateway", "JSON", "Notifications", "PrometheusExport", "RateLimits", "Receipts",
                "Settings", "Telemetry", "Waiting",
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
                "AppStore", "Caching", "Cryptography", "Entitlements", "Events", "EvidenceTexts", "Gateway",
                "HTTPServer", "JSON", "Jobs", "Notifications", "Ownership", "Privacy", "RateLimits", "Receipts",
                "Secrets", "Settings", "SignedPayloads", "Telemetry", "Waiting",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: served),
        .target(
            name: "Operations",
            dependencies: [
                "AppStore", "Cryptography", "Events", "Gateway", "HTTPServer", "HTTPTransport", "JSON", "Jobs",
                "Notifications", "Ownership", "Privacy", "PrometheusExport", "RateLimits", "Receipts", "Redis",
                "RedisCustomers", "RedisStore", "Resilience", "Settings", "SignedPayloads", "Telemetry", "Waiting",
                "Webhooks",
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
                "AppStore", "Endpoints", "Events", "Gateway", "HTTPServer", "HTTPTransport", "JSON", "Jobs",
                "Notifications", "Operations", "Ownership", "Privacy", "PrometheusExport", "RateLimits", "Receipts",
                "RedisStore", "Resilience", "Secrets", "Settings", "Telemetry", "Waiting", "Webhooks",
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
            name: "ReceiptForge", dependencies: ["COpenSSL", "JSON", "Receipts"], path: "loadtest/ReceiptForge",
            swiftSettings: house + sanitized),
        .target(name: "LoopbackPorts", path: "loadtest/LoopbackPorts", swiftSettings: house),
        .target(
            name: "AppleSimulator",
            dependencies: [
                "JSON", "LoopbackPorts", "ReceiptForge", "Receipts", "SignedPayloads",
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
                "AppleSimulator", "COpenSSL", "JSON", "LoopbackPorts", "RateLimits", "ReceiptForge", "Receipts",
                "Resilience", "SignedPayloads",
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

        .testTarget(name: "CryptographyTests", dependencies: ["Cryptography"], swiftSettings: house),
        .testTarget(
            name: "AppStoreTests",
            dependencies: [
                "AppStore", "Cryptography", "Entitlements", "Gateway", "HTTPTransport", "JSON", "Notifications",
                "RateLimits", "ReceiptForge", "Receipts", "Resilience", "Secrets", "SignedPayloads", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: house),
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: house),
        .target(name: "RealCorpus", path: "Tests/RealCorpus", swiftSettings: house),
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
            ], swiftSettings: house),
        .testTarget(
            name: "ReceiptsTests",
            dependencies: [
                "RealCorpus", "ReceiptForge", "Receipts", "ReceiptsFoundation", "SignedPayloads", "TestSupport",
            ],
            swiftSettings: house),
        .testTarget(
            name: "ResilienceTests",
            dependencies: [
                "ReceiptForge", "Resilience", "TestSupport",
            ], swiftSettings: house),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "Caching", "Entitlements", "Gateway", "RateLimits", "ReceiptForge", "Receipts", "Resilience", "Secrets",
                "SignedPayloads", "TestSupport", "Waiting",
            ],
            swiftSettings: house),
        .testTarget(
            name: "NotificationsTests",
            dependencies: [
                "Entitlements", "Events", "Gateway", "JSON", "Notifications", "RealCorpus", "ReceiptForge", "Receipts",
                "SignedPayloads", "Waiting",
            ],
            swiftSettings: house),
        .testTarget(
            name: "EventsTests",
            dependencies: [
                "Entitlements", "Events", "Gateway", "JSON", "Jobs", "Ownership", "RealCorpus", "ReceiptForge",
                "Receipts", "SignedPayloads", "TestSupport",
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: house),
        .testTarget(
            name: "JobsTests",
            dependencies: [
                "Events", "Gateway", "JSON", "Jobs", "Privacy", "ReceiptForge", "Receipts", "Resilience", "TestSupport",
            ],
            swiftSettings: house),
        .testTarget(
            name: "OwnershipTests",
            dependencies: ["Entitlements", "Events", "Gateway", "JSON", "Ownership", "Privacy", "Receipts"],
            swiftSettings: house),
        .testTarget(
            name: "WebhooksTests",
            dependencies: [
                "Cryptography", "Events", "Gateway", "JSON", "ReceiptForge", "Receipts", "Secrets", "TestSupport",
                "Webhooks",
            ],
            swiftSettings: house),
        .testTarget(
            name: "PrometheusExportTests",
            dependencies: [
                "PrometheusExport",
                .product(name: "CoreMetrics", package: "swift-metrics"),
            ],
            swiftSettings: house),
        .testTarget(
            name: "HTTPTransportTests",
            dependencies: [
                "HTTPTransport", "LoopbackPorts", "ReceiptForge", "TestSupport", "Webhooks",
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
                "AppStore", "AppleSimulator", "Caching", "Cryptography", "Endpoints", "Entitlements", "Events",
                "EvidenceTexts", "Gateway", "HTTPServer", "HTTPTransport", "JSON", "Jobs", "Notifications",
                "Operations", "Ownership", "Privacy", "PrometheusExport", "RateLimits", "RealCorpus", "RealServers",
                "ReceiptForge", "Receipts", "Redis", "RedisCustomers", "RedisStore", "Resilience", "Secrets", "Server",
                "Settings", "StoreFormat", "Telemetry", "TestSupport", "Waiting", "Webhooks",
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
                "AppStore", "Caching", "Endpoints", "Entitlements", "Events", "EvidenceTexts", "Gateway", "HTTPServer",
                "HTTPTransport", "JSON", "Jobs", "Notifications", "Ownership", "Privacy", "RateLimits", "ReceiptForge",
                "Receipts", "Redis", "RedisCustomers", "RedisStore", "Settings", "SignedPayloads", "StoreFormat",
                "Telemetry", "Waiting", "Webhooks",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/ReceiptFuzzTargets", swiftSettings: house + sanitized),
        .testTarget(
            name: "FuzzCorpusReplayTests", dependencies: ["ReceiptFuzzTargets"], swiftSettings: house),
        .testTarget(
            name: "ReceiptForgeTests", dependencies: ["COpenSSL", "ReceiptForge", "Receipts", "SignedPayloads"],
            swiftSettings: house),
        .testTarget(
            name: "AppleSimulatorTests",
            dependencies: [
                "AppleSimulator", "LoopbackPorts", "RealCorpus", "ReceiptForge", "Receipts", "SignedPayloads",
                "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: house),
        .testTarget(
            name: "LoadTestTests",
            dependencies: [
                "AppStore", "AppleSimulator", "Gateway", "JSON", "LoadTest", "RateLimits", "RealServers",
                "ReceiptForge", "Receipts", "Resilience", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Histogram", package: "hdrhistogram-swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: house),
        .target(name: "WallClock", path: "Tests/WallClock"),
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
                "Entitlements", "Events", "Gateway", "HTTPServer", "Operations", "PrometheusExport", "Receipts",
                "Server", "Settings", "Telemetry", "Webhooks",
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
            name: "ReceiptFuzzer", dependencies: ["ReceiptFuzzTargets"], path: "Tests/ReceiptFuzzer",
            exclude: ["fuzz.sh"],
            swiftSettings: house + sanitized + [.enableExperimentalFeature("Extern")],
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address"])]))
}
