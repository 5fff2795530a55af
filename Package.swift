// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0

import PackageDescription

/// The settings of every target. Warnings are errors; every touch of C carries the word `unsafe`.
let commonSettings: [SwiftSetting] = [
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

/// The settings of code that the fuzzer runs: with AddressSanitizer.
let fuzzedSettings: [SwiftSetting] =
    commonSettings
    + (isFuzzing
        ? [.define("RECEIPT_FUZZING"), .unsafeFlags(["-sanitize=address", "-parse-as-library", "-enable-testing"])]
        : [])

/// The settings of code whose branches guide the fuzzer: with coverage.
let coverageSettings: [SwiftSetting] = fuzzedSettings + (isFuzzing ? [.unsafeFlags(["-sanitize=fuzzer"])] : [])

/// The settings of the server's parts. Swift 6.3's optimiser fails on them with coverage ("Found ownership error").
let serverSettings: [SwiftSetting] = coverageSettings + (isFuzzing ? [.unsafeFlags(["-Onone"])] : [])

let package = Package(
    name: "receipt-gateway",
    products: [
        .library(name: "Receipts", targets: ["Receipts"]),
        // Apart, so that those who use the verifier alone link no Foundation.
        .library(name: "ReceiptsFoundation", targets: ["ReceiptsFoundation"]),
        .executable(name: "receipt-gateway", targets: ["Server"]),
        .executable(name: "receipt-loadtest", targets: ["LoadTest"]),
        // Nothing links it: ClockTests loads it into a gateway by LD_PRELOAD, so it must be a file of its own.
        .library(name: "WallClock", type: .dynamic, targets: ["WallClock"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
    ],
    targets: [
        .systemLibrary(name: "CIntrinsics"),
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .target(
            name: "AppStore",
            dependencies: [
                "Cryptography", "Customers", "Gateway", "HTTPClient", "JSON", "Receipts", "Resilience",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: coverageSettings),
        .target(
            name: "JSON",
            swiftSettings: coverageSettings),
        .target(
            name: "Cryptography",
            dependencies: [
                "CIntrinsics", "COpenSSL",
            ],
            swiftSettings: fuzzedSettings),
        .target(
            name: "Receipts",
            dependencies: [
                "CIntrinsics", "COpenSSL", "JSON",
            ],
            swiftSettings: coverageSettings),
        .target(
            name: "ReceiptsFoundation",
            dependencies: [
                "Receipts"
            ],
            swiftSettings: commonSettings),
        .target(
            name: "Resilience",
            swiftSettings: commonSettings),
        .target(
            name: "Gateway",
            dependencies: [
                "Cryptography", "JSON", "Receipts", "Resilience",
            ],
            swiftSettings: fuzzedSettings),
        .target(
            name: "Customers",
            dependencies: [
                "Cryptography", "Gateway", "HTTPClient", "JSON", "Receipts", "Resilience",
            ],
            swiftSettings: fuzzedSettings),
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(
            name: "HTTPClient",
            dependencies: [
                "CCurl"
            ],
            swiftSettings: fuzzedSettings),
        .systemLibrary(name: "CHiredis", providers: [.apt(["libhiredis-dev"])]),
        .target(
            name: "Redis",
            dependencies: [
                "CHiredis", "Cryptography", "JSON",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: coverageSettings),
        .target(
            name: "Settings",
            dependencies: [
                "AppStore", "Clients", "Cryptography", "Customers", "Gateway", "HTTPClient", "HTTPServer", "Receipts",
                "RedisStore", "Resilience", "Telemetry",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: serverSettings),
        .target(
            name: "Clients",
            dependencies: [
                "AppStore", "Cryptography", "Customers", "Gateway", "JSON", "Receipts", "Resilience",
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: serverSettings),
        .target(
            name: "Telemetry",
            dependencies: [
                "AppStore", "Clients", "Customers", "Gateway", "HTTPClient", "JSON", "Receipts", "Resilience",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: serverSettings),
        .target(
            name: "RedisStore",
            dependencies: [
                "AppStore", "Clients", "Cryptography", "Customers", "Gateway", "JSON", "Receipts", "Redis",
                "Resilience", "Telemetry",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: serverSettings),
        .target(
            name: "HTTPServer",
            dependencies: [
                "Clients", "JSON", "Receipts", "Resilience", "Telemetry",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOExtras", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: serverSettings),
        .target(
            name: "API",
            dependencies: [
                "AppStore", "Clients", "Cryptography", "Customers", "Gateway", "HTTPServer", "JSON", "Receipts",
                "Resilience", "Telemetry",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            swiftSettings: serverSettings),
        .target(
            name: "Operations",
            dependencies: [
                "Clients", "Cryptography", "Customers", "Gateway", "HTTPServer", "JSON", "Receipts", "Redis",
                "RedisStore", "Resilience", "Settings", "Telemetry",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            // Inside the program: it is shipped alone.
            resources: [.embedInCode("StatusPage/page.css"), .embedInCode("StatusPage/page.js")],
            swiftSettings: serverSettings),
        .executableTarget(
            name: "Server",
            dependencies: [
                "API", "AppStore", "Clients", "Cryptography", "Customers", "Gateway", "HTTPClient", "HTTPServer",
                "JSON", "Operations", "Receipts", "Redis", "RedisStore", "Resilience", "Settings", "Telemetry",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: commonSettings),
        .target(
            name: "ReceiptForge",
            dependencies: [
                "COpenSSL", "JSON", "Receipts",
            ],
            path: "loadtest/ReceiptForge",
            swiftSettings: fuzzedSettings),
        .target(
            name: "LoopbackPorts",
            path: "loadtest/LoopbackPorts", swiftSettings: commonSettings),
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
            path: "loadtest/AppleSimulator", swiftSettings: commonSettings),
        .executableTarget(
            name: "LoadTest",
            dependencies: [
                "AppleSimulator", "COpenSSL", "JSON", "LoopbackPorts", "ReceiptForge", "Receipts",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Histogram", package: "hdrhistogram-swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            path: "loadtest/LoadTest",
            resources: [
                .embedInCode("Report/report.html"), .embedInCode("Report/report.css"), .embedInCode("Report/plots.js"),
                .embedInCode("Report/report.js"),
            ],
            swiftSettings: commonSettings),

        .testTarget(
            name: "CryptographyTests",
            dependencies: [
                "Cryptography"
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "AppStoreTests",
            dependencies: [
                "AppStore", "Cryptography", "Customers", "Gateway", "HTTPClient", "JSON", "ReceiptForge", "Receipts",
                "Resilience", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: commonSettings),
        .target(
            name: "TestSupport",
            path: "Tests/TestSupport", swiftSettings: commonSettings),
        .target(
            name: "RealCorpus",
            path: "Tests/RealCorpus", swiftSettings: commonSettings),
        .target(
            name: "RealServers",
            dependencies: [
                "LoopbackPorts", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/RealServers", swiftSettings: commonSettings),
        .testTarget(
            name: "RealServersTests",
            dependencies: [
                "LoopbackPorts", "RealServers", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "RedisTests",
            dependencies: [
                "LoopbackPorts", "RealServers", "ReceiptForge", "Redis", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTestUtils", package: "swift-nio"),
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "JSONTests",
            dependencies: [
                "JSON", "TestSupport",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "ReceiptsTests",
            dependencies: [
                "CIntrinsics", "JSON", "RealCorpus", "ReceiptForge", "Receipts", "ReceiptsFoundation", "TestSupport",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "ResilienceTests",
            dependencies: [
                "ReceiptForge", "Resilience", "TestSupport",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "Cryptography", "Gateway", "ReceiptForge", "Receipts", "Resilience", "TestSupport",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "NotificationsTests",
            dependencies: [
                "Customers", "Gateway", "JSON", "RealCorpus", "ReceiptForge", "Receipts", "Resilience",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "EventsTests",
            dependencies: [
                "Customers", "Gateway", "JSON", "RealCorpus", "ReceiptForge", "Receipts", "TestSupport",
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "JobsTests",
            dependencies: [
                "Customers", "Gateway", "ReceiptForge", "Receipts", "Resilience", "TestSupport",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "OwnershipTests",
            dependencies: [
                "Customers", "Gateway", "Receipts",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "WebhooksTests",
            dependencies: [
                "Cryptography", "Customers", "Gateway", "JSON", "ReceiptForge", "Receipts", "TestSupport",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "PrometheusExportTests",
            dependencies: [
                "Telemetry",
                .product(name: "CoreMetrics", package: "swift-metrics"),
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "HTTPClientTests",
            dependencies: [
                "Customers", "HTTPClient", "LoopbackPorts", "ReceiptForge", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHPACK", package: "swift-nio-http2"),
                .product(name: "NIOHTTP2", package: "swift-nio-http2"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
            ],
            swiftSettings: commonSettings),
        .target(
            name: "ServerTestSupport",
            dependencies: [
                "API", "AppStore", "Clients", "Cryptography", "Customers", "Gateway", "HTTPServer", "Operations",
                "RealServers", "ReceiptForge", "Receipts", "Redis", "RedisStore", "Resilience", "Server", "Settings",
                "Telemetry", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "Tests/ServerTestSupport", swiftSettings: commonSettings),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: [
                "API", "AppleSimulator", "Clients", "Cryptography", "Customers", "Gateway", "HTTPServer", "JSON",
                "Operations", "RealServers", "ReceiptForge", "Receipts", "Redis", "RedisStore", "Resilience", "Server",
                "ServerTestSupport", "Settings", "Telemetry", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "OperationsTests",
            dependencies: [
                "API", "AppStore", "AppleSimulator", "Clients", "Cryptography", "Customers", "Gateway", "HTTPClient",
                "HTTPServer", "JSON", "Operations", "RealServers", "ReceiptForge", "Receipts", "Redis", "RedisStore",
                "Resilience", "Server", "ServerTestSupport", "Settings", "Telemetry", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "VerificationTests",
            dependencies: [
                "API", "AppStore", "Clients", "Cryptography", "Customers", "Gateway", "HTTPServer", "JSON",
                "Operations", "RealCorpus", "RealServers", "ReceiptForge", "Receipts", "Redis", "RedisStore",
                "Resilience", "Server", "ServerTestSupport", "Settings", "Telemetry", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "CustomersTests",
            dependencies: [
                "API", "AppStore", "Clients", "Cryptography", "Customers", "Gateway", "HTTPServer", "JSON",
                "RealCorpus", "RealServers", "ReceiptForge", "Receipts", "Redis", "RedisStore",
                "Resilience", "Server", "ServerTestSupport", "Settings", "Telemetry", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "RedisStoreTests",
            dependencies: [
                "AppStore", "Clients", "Cryptography", "Customers", "Gateway", "HTTPServer", "JSON", "Operations",
                "RealServers", "ReceiptForge", "Receipts", "Redis", "RedisStore", "Resilience", "Server",
                "ServerTestSupport", "Settings", "Telemetry", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: commonSettings),
        .target(
            name: "ReceiptFuzzTargets",
            dependencies: [
                "API", "AppStore", "Clients", "Cryptography", "Customers", "Gateway", "HTTPClient", "HTTPServer",
                "JSON", "ReceiptForge", "Receipts", "Redis", "RedisStore", "Resilience", "Telemetry",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/ReceiptFuzzTargets", swiftSettings: fuzzedSettings),
        .testTarget(
            name: "FuzzCorpusReplayTests",
            dependencies: [
                "ReceiptFuzzTargets"
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "ReceiptForgeTests",
            dependencies: [
                "COpenSSL", "ReceiptForge", "Receipts",
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "AppleSimulatorTests",
            dependencies: [
                "AppleSimulator", "LoopbackPorts", "RealCorpus", "ReceiptForge", "Receipts", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "LoadTestTests",
            dependencies: [
                "AppleSimulator", "JSON", "LoadTest", "RealServers", "ReceiptForge", "Receipts", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Histogram", package: "hdrhistogram-swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: commonSettings),
        .target(
            name: "WallClock",
            path: "Tests/WallClock"),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "AppleSimulator", "Cryptography", "LoadTest", "LoopbackPorts", "RealCorpus", "RealServers",
                "ReceiptForge", "Receipts", "Server", "TestSupport",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: commonSettings),
        .testTarget(
            name: "HouseRulesTests",
            dependencies: [
                "AppStore", "Customers", "Gateway", "HTTPServer", "Operations", "Receipts", "Server", "Settings",
                "Telemetry",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: commonSettings),
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
            swiftSettings: fuzzedSettings + [.enableExperimentalFeature("Extern")],
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address"])]))
}
